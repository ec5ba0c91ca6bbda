// SPDX-License-Identifier: BSD-3-Clause
//
// The invariant CRC of a RoCEv2 packet: CRC-32 over eight bytes of ones in place of the LRH, the
// IP, UDP and BTH headers with every field a router may change replaced by ones, and the rest up to
// the ICRC itself; stored least significant byte first. Rules: rxe_icrc_hdr of
// drivers/infiniband/sw/rxe/rxe_icrc.c.
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

}  // namespace portcullis::model
