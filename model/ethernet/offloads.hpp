// SPDX-License-Identifier: BSD-3-Clause
//
// What a send queue does to a frame that its driver left unfinished: checksums, and the headers of
// the segments of a large send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace portcullis::model {

/// Sums what cs_flags of mlx5_wqe_eth_seg asks for, as far as the frame has such headers. What
/// stands in a checksum's place, drivers leave the pseudo header's sum there, does not count.
void fill_checksums(std::span<std::byte> frame, std::uint8_t cs_flags) noexcept;

/// The lengths of the network header, and of UDP behind it, say what `frame` has; IPv4's
/// identification goes up by `number`. False: there is no network header.
bool put_lengths(std::span<std::byte> frame, std::uint32_t number) noexcept;

/// Which part of a large send a frame carries.
struct Segment {
  std::uint32_t number = 0;
  std::uint32_t offset = 0;  // of its payload in the whole
  bool is_last = false;
};
/// Makes `frame`, whose first `header_bytes` are the headers of the whole, that segment: lengths,
/// IPv4 identification, TCP sequence number and flags. Checksums are still to be filled in. False:
/// the headers are not those of TCP or UDP, or end elsewhere.
[[nodiscard]] bool make_segment(std::span<std::byte> frame, std::size_t header_bytes,
                                const Segment& segment) noexcept;

}  // namespace portcullis::model
