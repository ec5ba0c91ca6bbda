// SPDX-License-Identifier: BSD-3-Clause
//
// What entries that a program writes compare (prm/steering_entries.hpp): sixteen bytes of a packet
// by the lookup type, and where in a hash table a packet with such a tag is looked for.
//
//   offered      headers of the link, the network and the transport, outer ones and those in a
//                tunnel; GRE; a first MPLS label; registers; who sent it
//   not offered  what flexible parsers take out of a packet: flex_parser_protocols is 0, and
//                rdma-core asks for none of it then (dr_matcher_supp_* of dr_matcher.c)
//
// That _O and _D see the same once a tunnel has been taken off is a hypothesis: drivers ask for one
// or the other by direction alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "prm/steering_entries.hpp"

namespace portcullis::model {

/// Of a packet, from table to table: entries write them and compare them.
struct SteeringRegisters {
  std::uint32_t a = 0;  // of what is sent: what its WQE says (flow_table_metadata)
  std::uint32_t b = 0;  // of what comes: what its completion will say
  std::array<std::uint32_t, 8> c{};
};

/// Who sent a packet.
struct PacketSource {
  bool is_own = false;    // it came by the function's own loopback
  std::uint32_t sqn = 0;  // of what is sent
};

struct LookedAt {
  std::span<const std::byte> frame;
  SteeringRegisters registers;
  PacketSource from;
};

using SteTag = std::array<std::byte, prm::kSteTagBytes>;

/// Nothing: no such lookup type is offered.
[[nodiscard]] std::optional<SteTag> lookup_tag(prm::SteLookup lookup, const LookedAt& packet);

/// Where `tag` is looked for among `entries`, a power of two. Bit 15 of `byte_mask` is for the
/// first byte (dr_ste_calc_hash_index of dr_ste.c).
[[nodiscard]] std::uint32_t hash_index(const SteTag& tag, std::uint16_t byte_mask,
                                       std::uint32_t entries);

}  // namespace portcullis::model
