// SPDX-License-Identifier: BSD-3-Clause
//
// What a packet of a reliable connection asks for, and whether another asks for the same: a packet
// that is sent again has the opcode, the headers and the bytes of the first one. A bit that asks
// for an answer, a mark of congestion, a path, a checksum may differ, and none of them is looked
// at.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/transport/opcode.hpp"
#include "tools/failover_check/packet.hpp"

namespace portcullis::tools::failover_check {

/// As model::opcode_info, and FLUSH and ATOMIC WRITE, which the model has none of; both are
/// answered by a packet of their own, as an atomic is.
[[nodiscard]] const model::OpcodeInfo& info_of(std::uint8_t opcode) noexcept;

inline constexpr std::uint8_t kFlush = 0x1c, kAtomicWrite = 0x1d;  // ib_pack.h

/// Of verbs.h. Which SEND or WRITE it is, the last packet tells.
[[nodiscard]] std::string_view verb_of(std::uint8_t opcode) noexcept;

/// A RETH.
struct RemoteBytes {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0, length = 0;
};
/// Nothing where the opcode has none. All headers of the opcode are captured.
[[nodiscard]] std::optional<RemoteBytes> remote_bytes(const Packet& packet) noexcept;

/// Without headers, padding and ICRC.
[[nodiscard]] std::uint64_t payload_bytes(const Packet& packet) noexcept;

/// Whether one may be the other, sent again; of bytes that were not captured that is taken for so.
[[nodiscard]] bool is_same_request(const Packet& one, const Packet& other) noexcept;

/// What was sent on a connection, by its place; places grow.
class SentPackets {
 public:
  void add(std::uint64_t place, const Packet& packet) { all_.push_back({place, packet}); }
  /// Nothing where no packet was seen.
  [[nodiscard]] const Packet* find(std::uint64_t place) const noexcept;

 private:
  struct Sent {
    std::uint64_t place = 0;
    Packet packet;
  };
  std::vector<Sent> all_;
};

}  // namespace portcullis::tools::failover_check
