// SPDX-License-Identifier: BSD-3-Clause
//
// Where errors leave the front door. A text names the value that was refused, and a value may hold
// anything: a line feed would begin a second line, a NUL end the text for C, an escape change the
// colours of whose terminal it is. Whatever quotes a text, a file or a name passes here.
#pragma once

#include <portcullis/result.hpp>

#include <utility>

#include "base/json.hpp"

namespace portcullis {

/// The same; its error's text is one line.
template <class T>
[[nodiscard]] Result<T> in_one_line(Result<T> result) {
  if (!result) result.error().text = one_line(std::move(result.error().text));
  return result;
}

}  // namespace portcullis
