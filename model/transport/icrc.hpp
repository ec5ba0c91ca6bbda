// SPDX-License-Identifier: BSD-3-Clause
//
// The invariant CRC of a RoCEv2 packet: CRC-32 over eight bytes of ones in place of the LRH, the
// IP, UDP and BTH headers with every field a router may change replaced by ones, and the rest up to
// the ICRC itself; stored least significant byte first. Rules: rxe_icrc_hdr of
// drivers/infiniband/sw/rxe/rxe_icrc.c.
//
// On InfiniBand the LRH is there: without a GRH all of it counts but VL, with one none of it, and
// traffic class, flow label and hop limit of the GRH are ones (InfiniBand Network Architecture,
// Shanley, chapter 25, "Invariant CRC"). Behind the ICRC stands the variant CRC over every byte
// before it: CRC-16 of x^16 + x^12 + x^3 + x + 1 (0x100b), least significant bit first, begun with
// ones and inverted at the end, as the capture cards of Endace have it (dagcrc_infiniband_vcrc16_r
// of dagcrc.c: 0xd008, the same polynomial reflected).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace portcullis::model {

/// `packet` starts at the IP header and ends before the ICRC; `ip_bytes` is that header's length,
/// 20 for IPv4, 40 for IPv6. It holds at least the IP, UDP and BTH headers: whoever built or
/// decoded it has checked.
[[nodiscard]] std::uint32_t compute_icrc(std::span<const std::byte> packet,
                                         std::size_t ip_bytes) noexcept;

/// `packet` starts at the LRH and ends before the ICRC; it holds the headers that `has_grh` says
/// and a BTH.
[[nodiscard]] std::uint32_t compute_infiniband_icrc(std::span<const std::byte> packet,
                                                    bool has_grh) noexcept;

/// Of everything from the LRH to the end of the ICRC; stored least significant byte first.
[[nodiscard]] std::uint16_t compute_vcrc(std::span<const std::byte> packet) noexcept;

}  // namespace portcullis::model
