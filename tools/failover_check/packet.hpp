// SPDX-License-Identifier: BSD-3-Clause
//
// From a frame of a capture to the RoCEv2 packet of a reliable connection in it: link layer, VLAN
// tags, IPv4 or IPv6, UDP. Lengths in the headers are claims; what was captured bounds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace portcullis::tools::failover_check {

using Bytes = std::span<const std::byte>;

/// A frame as its file has it.
struct CapturedFrame {
  std::uint64_t number = 0;     // from 1, as Wireshark counts them
  std::uint32_t link_type = 0;  // LINKTYPE_ of the registry
  Bytes bytes;
  std::uint64_t wire_bytes = 0;  // of the whole frame
};

/// From the BTH on.
struct Packet {
  Bytes transport;               // as far as it was captured, with all of the BTH
  std::uint64_t wire_bytes = 0;  // of the whole packet, with the ICRC
};

/// A packet of a reliable connection, and between whom it goes.
struct Seen {
  std::string from, to;  // addresses, as bytes
  std::uint8_t opcode = 0;
  std::uint32_t qpn = 0, psn = 0;
  Packet packet;
};

/// Neither for frames that are something else.
struct Look {
  std::optional<Seen> seen;
  bool is_cut_short = false;  // so little of it was captured that it may be one
};
[[nodiscard]] Look look_at(const CapturedFrame& frame);

[[nodiscard]] bool is_link_type_read(std::uint32_t link_type) noexcept;
/// "Ethernet (1), ..": what is accepted.
[[nodiscard]] const char* link_types_read() noexcept;

/// Big-endian, over all of `bytes`.
[[nodiscard]] std::uint64_t big(Bytes bytes) noexcept;

}  // namespace portcullis::tools::failover_check
