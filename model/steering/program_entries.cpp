// SPDX-License-Identifier: BSD-3-Clause
//
// A frame's way through entries that a program wrote (prm/steering_entries.hpp). An entry compares
// sixteen bytes of a frame. On a miss its miss address is next, on a hit what it says is done and
// the next table is looked into, where the frame's tag by the next lookup type says at which entry.
//
// Nothing of an entry is believed. An address leads to memory of the program that the table is of,
// to an object of firmware, or nowhere; a frame that is led nowhere, or that meets an entry which
// makes no sense, is dropped, and deps_.tell hears of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "model/ethernet/frame_facts.hpp"
#include "model/steering/flow_tables.hpp"
#include "model/steering/header_rewrite.hpp"
#include "model/steering/icm_addresses.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/headers.hpp"
#include "prm/steering_entries.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::SteType;

enum Refusal : std::uint32_t {
  kNotOffered = 0x640001,
  kNotItsMemory,
  kBadAddress,
  kBadRatio,
  kNoSuchTable,
  kLevel,
  kNoIds,
  kNoSuchSampler,
};

constexpr std::uint32_t kFlowTagMask = 0xffffff;
/// cmd_hca_cap.vhca_id, which drivers write above addresses ("gvmi").
constexpr std::uint32_t kFunction = 0;
constexpr std::string_view kElsewhere = "it leads to another function";
constexpr unsigned kLogAddressUnit = 5;  // of where the next table is
constexpr unsigned kLogEntryBytes = 6;
/// The entry is as it should be, and the frame is not for it.
constexpr std::string_view kLost = "the frame has not what it takes off";

}  // namespace

/// An entry as it stands in memory.
struct FlowTables::ProgramEntry {
  std::uint64_t at = 0;
  std::array<std::byte, prm::kSteBytes> raw{};

  /// What all types have in the same place.
  [[nodiscard]] prm::ConstView<prm::ste_rx_steering_mult> common() const {
    return prm::ConstView<prm::ste_rx_steering_mult>::at(raw);
  }
  [[nodiscard]] prm::ConstView<prm::ste_sx_transmit> sent() const {
    return prm::ConstView<prm::ste_sx_transmit>::at(raw);
  }
  [[nodiscard]] prm::ConstView<prm::ste_modify_packet> rewriting() const {
    return prm::ConstView<prm::ste_modify_packet>::at(raw);
  }
  [[nodiscard]] SteType type() const {
    return SteType{static_cast<std::uint8_t>(common().get<"entry_type">())};
  }
  [[nodiscard]] std::span<const std::byte> tag() const {
    return std::span(raw).subspan<prm::kSteTagAt, prm::kSteTagBytes>();
  }
  [[nodiscard]] std::span<const std::byte> mask() const {
    return std::span(raw).subspan<prm::kSteMaskAt, prm::kSteTagBytes>();
  }
  [[nodiscard]] bool compares() const {
    return std::ranges::any_of(mask(), [](std::byte b) { return b != std::byte{0}; });
  }
  [[nodiscard]] bool matches(const SteTag& packet) const {
    for (std::size_t i = 0; i < packet.size(); ++i)
      if ((packet[i] & mask()[i]) != tag()[i]) return false;
    return true;
  }
  [[nodiscard]] std::uint32_t counter() const {
    const auto c = common();
    return static_cast<std::uint32_t>(c.get<"counter_trigger_23_16">() << 16 |
                                      c.get<"counter_trigger_15_0">());
  }
  [[nodiscard]] std::uint64_t miss_address() const {
    const auto c = common();
    return std::uint64_t{c.get<"miss_address_39_32">()} << 32 |
           std::uint64_t{c.get<"miss_address_31_6">()} << kLogEntryBytes;
  }
  /// Address and size of the next table, or-ed.
  [[nodiscard]] std::uint64_t next_index() const {
    const auto c = common();
    return std::uint64_t{c.get<"next_table_base_39_32_size">()} << 27 |
           c.get<"next_table_base_31_5_size">();
  }
  /// No driver asks for any of it.
  [[nodiscard]] bool asks_for_more() const {
    const auto c = common();
    return c.get<"linear_hash_enable">() != 0 || c.get<"match_polarity">() != 0 ||
           c.get<"mask_mode">() != 0;
  }
};

Verdict FlowTables::check_programs(prm::FlowTableType type,
                                   prm::ConstView<prm::flow_table_context> context,
                                   std::uint32_t uid) const {
  if (context.get<"sw_owner">() == 0) return {};
  const bool is_offered = deps_.icm != nullptr && deps_.port_type == PortType::Ethernet &&
                          type != prm::FlowTableType::RDMA_RX;
  if (!is_offered) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint64_t at = context.get<"sw_owner_icm_root_0">();
  if (at % prm::kSteBytes != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadAddress);
  const auto owner = deps_.icm->owner_of(at, prm::kSteBytes);
  return owner == uid ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kNotItsMemory);
}

FlowTables::Stop FlowTables::dropped(std::uint64_t at, std::string_view why) const {
  if (deps_.tell != nullptr)
    deps_.tell(deps_.context, fmt::format("steering drops a frame at {:#x}: {}", at, why));
  return {Stop::Kind::Drop};
}

FlowTables::Stop FlowTables::stop_at(std::uint64_t address, const ProgramEntry& from,
                                     const Journey& journey) const {
  using Kind = Stop::Kind;
  const bool is_sent = journey.domain == prm::FlowTableType::NIC_TX;
  if (const auto owner = deps_.icm->owner_of(address, prm::kSteBytes)) {
    if (*owner == journey.uid) return {Kind::Entry, address};
    return dropped(from.at, "it leads to another program's memory");
  }
  if (address == (is_sent ? icm::kTxDrop : icm::kRxDrop)) return {Kind::Drop};
  if (is_sent && address == icm::kTxAllow) return {Kind::Pass};
  std::uint32_t id = 0;
  if (!is_sent && icm::is_in(icm::kTirsAt, address, id) && deps_.has_tir(deps_.context, id))
    return {Kind::Tir, id};
  if (icm::is_in(icm::kTablesAt, address, id) && find(journey.domain, id) != nullptr)
    return {Kind::Table, id};
  if (!is_sent && icm::is_in(icm::kSamplersAt, address, id) && samplers_.contains(id))
    return {Kind::Sampler, id};
  return dropped(from.at, fmt::format("it leads to {:#x}, where nothing is", address));
}

/// Where a frame that `entry` has is next.
FlowTables::Stop FlowTables::after(const ProgramEntry& entry, const Steered& frame,
                                   const Journey& journey) const {
  const std::uint64_t index = entry.next_index();
  if (entry.common().get<"next_table_base_63_48">() != kFunction)
    return dropped(entry.at, kElsewhere);
  if (index == 0) return dropped(entry.at, "it has no next table");
  const std::uint64_t entries = index & ~(index - 1);
  const std::uint64_t base = (index - entries) << kLogAddressUnit;
  if (entries == 1) return stop_at(base, entry, journey);
  const auto next = entry.common().get<"next_lu_type">();
  const auto tag = lookup_tag(prm::SteLookup{static_cast<std::uint8_t>(next)},
                              {frame.bytes, frame.registers, frame.from});
  if (!tag) return dropped(entry.at, "its next lookup type is not offered");
  const std::uint64_t place =
      hash_index(*tag, static_cast<std::uint16_t>(entry.common().get<"byte_mask">()),
                 static_cast<std::uint32_t>(entries));
  return stop_at(base + (place << kLogEntryBytes), entry, journey);
}

FlowTables::Stop FlowTables::through_entry(std::uint64_t at, Steered& frame, Journey& journey) {
  ProgramEntry entry{at};
  journey.by_program = true;
  if (!deps_.icm->read(at, entry.raw)) return dropped(at, "its memory is gone");
  const bool is_sent = journey.domain == prm::FlowTableType::NIC_TX;
  if (entry.type() != SteType::MODIFY_PKT && entry.type() != (is_sent ? SteType::TX : SteType::RX))
    return dropped(at, "it has a type that is not offered here");
  if (entry.asks_for_more()) return dropped(at, "it asks for a way to compare that is not offered");
  SteTag tag{};
  if (entry.compares()) {
    const auto lookup = entry.common().get<"entry_sub_type">();
    const auto seen = lookup_tag(prm::SteLookup{static_cast<std::uint8_t>(lookup)},
                                 {frame.bytes, frame.registers, frame.from});
    if (!seen) return dropped(at, "its lookup type is not offered");
    tag = *seen;
  }
  if (!entry.matches(tag)) {
    if (entry.common().get<"miss_address_63_48">() != kFunction) return dropped(at, kElsewhere);
    return stop_at(entry.miss_address(), entry, journey);
  }
  if (const std::string_view problem = act(entry, frame, journey); !problem.empty())
    return problem == kLost ? Stop{Stop::Kind::Drop} : dropped(at, problem);
  return after(entry, frame, journey);
}

/// What stands against it; empty: it is done.
std::string_view FlowTables::act(const ProgramEntry& entry, Steered& frame, Journey& journey) {
  if (const std::uint32_t counter = entry.counter(); counter != 0)
    counters.count(counter, frame.bytes.size());
  if (entry.type() == SteType::TX) return act_on_sent(entry, frame);
  if (journey.domain == prm::FlowTableType::NIC_RX) {
    if (const std::string_view problem = act_on_received(entry, frame); !problem.empty())
      return problem;
  }
  return entry.type() == SteType::MODIFY_PKT ? rewrite(entry, frame, journey) : std::string_view{};
}

std::string_view FlowTables::act_on_sent(const ProgramEntry& entry, Steered& frame) const {
  using prm::SteActionType;
  const auto action = entry.sent().get<"action_type">();
  const std::uint32_t data = entry.sent().get<"encap_pointer_vlan_data">();
  if (action == 0) return {};
  if (action == prm::number(SteActionType::PUSH_VLAN)) {
    if (frame.bytes.size() < kEthernetBytes) return "the frame has no addresses";
    become(frame, push_tag(frame.bytes, data));
    return {};
  }
  const bool takes_packet = action == prm::number(SteActionType::ENCAP_L3);
  if (!takes_packet && action != prm::number(SteActionType::ENCAP))
    return "its action is not offered";
  const PacketReformat* const reformat = headers.reformat(data);
  if (reformat == nullptr || !is_wrap(reformat->type) ||
      (reformat->type == prm::ReformatType::L2_TO_L3_TUNNEL) != takes_packet)
    return "there is no such header to put around a frame";
  become(frame, wrap(frame.bytes, reformat->header,
                     takes_packet ? TunnelLoad::NetworkPacket : TunnelLoad::WholeFrame));
  return {};
}

namespace {

/// An Ethernet header for rewrite actions to fill: of nobody, with a tag or without.
FrameBuffer blank_header(std::uint16_t ethertype, bool has_tag) {
  FrameBuffer header(kEthernetBytes + (has_tag ? kVlanTagBytes : 0));
  if (has_tag) store_be16(&header[2 * kMacBytes], kEthertypeVlan);
  store_be16(&header[header.size() - 2], ethertype);
  return header;
}

}  // namespace

/// Tunnels come off and tags. That a frame which is in no tunnel is lost where the entry says
/// fail_on_error, and left otherwise, is a hypothesis, as is that one without a tag is left.
std::string_view FlowTables::act_on_received(const ProgramEntry& entry, Steered& frame) const {
  using prm::SteTunnelAction;
  const auto c = entry.common();
  if (entry.type() == SteType::RX && (c.get<"qp_list_pointer">() & prm::kSteEnableFlowTag) != 0)
    frame.flow_tag = frame.program_tag = c.get<"qp_list_pointer">() & kFlowTagMask;
  std::optional<FrameBuffer> changed;
  switch (SteTunnelAction{static_cast<std::uint8_t>(c.get<"tunneling_action">())}) {
    case SteTunnelAction::NONE:
    case SteTunnelAction::ENABLE:
      return {};
    case SteTunnelAction::POP_VLAN:
      if (changed = pop_tag(frame.bytes); changed) become(frame, std::move(*changed));
      return {};
    case SteTunnelAction::DECAP:
      changed = unwrap_frame(frame.bytes);
      break;
    case SteTunnelAction::L3_DECAP:
      if (const auto inside = find_inside(frame.bytes))
        changed = unwrap_packet(
            frame.bytes, blank_header(inside->ethertype, c.get<"action_description">() != 0));
      break;
    default:
      return "what it takes off a frame is not offered";
  }
  if (changed)
    become(frame, std::move(*changed));
  else if (c.get<"fail_on_error">() != 0)
    return kLost;
  return {};
}

std::string_view FlowTables::rewrite(const ProgramEntry& entry, Steered& frame,
                                     Journey& journey) const {
  const std::uint32_t count = entry.rewriting().get<"number_of_re_write_actions">();
  const std::uint64_t at =
      SwIcm::kActionsAt +
      std::uint64_t{entry.rewriting().get<"header_re_write_actions_pointer">()} *
          prm::kSteRewriteUnit;
  if (count == 0) return {};
  if (count >= journey.steps_left) return "its actions on headers are too many";
  journey.steps_left -= count;
  std::vector<std::byte> list(std::size_t{count} * kRewriteBytes);
  if (deps_.icm->owner_of(at, list.size()) != journey.uid || !deps_.icm->read(at, list))
    return "its actions on headers are not in the program's memory";
  FrameBuffer bytes(frame.bytes.begin(), frame.bytes.end());
  const bool is_done = rewrite_headers(bytes, frame.registers, list);
  become(frame, std::move(bytes));
  return is_done ? std::string_view{} : "an action on headers is not offered";
}

// ---- samplers ----

/// Of what comes alone: the only other domain of an entry that samples is FDB
/// (mlx5dv_dr_action_create_flow_sampler of rdma-core's dr_action.c).
Verdict FlowTables::create_sampler(prm::ConstView<prm::sampler_obj> context, std::uint32_t& id) {
  const prm::FlowTableType type{static_cast<std::uint8_t>(context.get<"table_type">())};
  if (deps_.icm == nullptr || type != prm::FlowTableType::NIC_RX)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  Sampler sampler;
  sampler.ratio = context.get<"sample_ratio">();
  sampler.sampled = context.get<"sample_table_id">();
  sampler.next = context.get<"default_table_id">();
  if (sampler.ratio == 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadRatio);
  const Table* const sampled = find(type, sampler.sampled);
  const Table* const next = find(type, sampler.next);
  if (sampled == nullptr || next == nullptr)
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  const std::uint32_t level = context.get<"level">();
  if (context.get<"ignore_flow_level">() == 0 && (sampled->level <= level || next->level <= level))
    return refuse(CommandStatus::BAD_PARAM_ERR, kLevel);
  const auto fresh = sampler_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  std::ranges::copy(context.all(), sampler.context.all().begin());
  sampler.context.put<"sw_steering_icm_address_rx">(icm::address_of(icm::kSamplersAt, id));
  samplers_.emplace(id, sampler);
  return {};
}

Verdict FlowTables::query_sampler(std::uint32_t id, prm::View<prm::sampler_obj> context) const {
  const auto found = samplers_.find(id);
  if (found == samplers_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSampler);
  std::ranges::copy(found->second.context.all(), context.all().begin());
  return {};
}

Verdict FlowTables::destroy_sampler(std::uint32_t id) {
  if (samplers_.erase(id) == 0) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSampler);
  sampler_ids_.give_back(id);
  return {};
}

/// A card may take frames by chance. Here it is each frame whose turn it is.
FlowTables::Stop FlowTables::through_sampler(std::uint32_t id, const Steered& frame,
                                             Journey& journey) {
  Sampler& sampler = samplers_.at(id);
  const Stop next{Stop::Kind::Table, sampler.next};
  if (++sampler.seen < sampler.ratio) return next;
  sampler.seen = 0;
  copy_to({Stop::Kind::Table, sampler.sampled}, frame, journey);
  return next;
}

}  // namespace portcullis::model
