// SPDX-License-Identifier: BSD-3-Clause
//
// Initial packets with any frames in them: their keys come of the packet itself (RFC 9001, 5.2), so
// whoever reaches the port can make them, and none of it is behind a certificate. Written from the
// RFC on GnuTLS, beside ngtcp2 and not with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace portcullis::fuzz {

using Octets = std::vector<std::uint8_t>;

struct Initial {
  Octets dcid;
  Octets scid;
  Octets token;
  std::uint16_t packet_number = 0;
  Octets frames;
  std::size_t least_bytes = 0;  // of the datagram, by PADDING
};

/// The datagram.
[[nodiscard]] Octets protect(const Initial& initial);

/// What a Retry brings.
struct Retry {
  Octets scid;
  Octets token;
};
/// Empty members where it is none.
[[nodiscard]] Retry read_retry(std::span<const std::uint8_t> packet);

}  // namespace portcullis::fuzz
