// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/command_channel.hpp"

namespace portcullis::pmd {

tl::unexpected<Error> too_wide(std::string_view layout, std::string_view field) {
  std::string text(layout);
  text.append(".").append(field).append(": the value is wider than the field");
  return fail(Errc::InvalidArgument, std::move(text));
}

}  // namespace portcullis::pmd
