// SPDX-License-Identifier: BSD-3-Clause
//
// As much XML as graphs need: elements, attributes, text and where they stand. No DTD is read, no
// entity but those that XML has itself. Internal to pfc/import.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace portcullis::pfc::import {

struct XmlElement {
  std::size_t line = 0;
  std::string name;  // without a namespace's prefix
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  // all of it that stands directly inside, without blanks around it
  std::vector<XmlElement> children;

  /// nullptr when there is none of that name.
  [[nodiscard]] const std::string* attribute(std::string_view key) const;
};

/// The outermost element. Malformed, as "FILE:LINE: what"; deeper than 100 is refused.
[[nodiscard]] Result<XmlElement> parse_xml(std::string_view text, std::string_view file);

}  // namespace portcullis::pfc::import
