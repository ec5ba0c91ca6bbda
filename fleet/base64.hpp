// SPDX-License-Identifier: BSD-3-Clause
//
// Base64 as etcd's JSON gateway has keys and values: the plain alphabet of RFC 4648, with padding.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace portcullis::fleet {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Malformed for what to_base64() never writes: another alphabet, no padding, bits left over.
[[nodiscard]] Result<std::string> from_base64(std::string_view text);

}  // namespace portcullis::fleet
