// SPDX-License-Identifier: BSD-3-Clause
//
// The objects of flow steering, and what a command on them is refused for.
#include "model/steering/flow_tables.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "model/steering/icm_addresses.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::FlowTableType;

enum Refusal : std::uint32_t {
  kNoSuchTable = 0x600001,
  kNoSuchGroup,
  kNoSuchEntry,
  kNoSuchCounter,
  kNoSuchDestination,
  kNoSuchQp,
  kDomain,
  kTableSize,
  kLevel,
  kMiss,
  kInUse,
  kNoIds,
  kCriteria,
  kRange,
  kIndex,
  kOccupied,
  kAction,
  kLists,
  kValue,
  kModifyMask,
  kUnsupported,
  kUnderlay,
  kRefusedDomain,
  kNoSuchContext,
  kContextType,
};

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// A match parameter's two supported sections; nothing when another says something.
std::optional<FlowKey> read_key(std::span<const std::byte, prm::fte_match_param::bytes> param) {
  if (!all_zero(param.subspan<FlowKey::kBytes>())) return std::nullopt;
  FlowKey key;
  std::ranges::copy(param.first<FlowKey::kBytes>(), key.bytes.begin());
  return key;
}

constexpr std::size_t kLongestList =
    FlowTables::kMaxDestinations * prm::dest_format_struct::bytes + prm::flow_counter_list::bytes;
constexpr std::size_t kLastNameBytes = 4;

constexpr std::uint32_t bit(prm::ModifyFte field) noexcept { return 1U << prm::number(field); }

}  // namespace

/// An InfiniBand port has no frames for NIC_TX, and Linux gives it no root without a queue pair
/// (mlx5_cmd_update_root_ft of mlx5/core/fs_cmd.c).
bool FlowTables::is_domain(FlowTableType type) const noexcept {
  return type == FlowTableType::NIC_RX || type == FlowTableType::RDMA_RX ||
         type == FlowTableType::RDMA_TX ||
         (type == FlowTableType::NIC_TX && deps_.port_type == PortType::Ethernet);
}

/// Of a type that is a domain.
std::optional<std::uint32_t>& FlowTables::root_of(FlowTableType type) noexcept {
  if (type == FlowTableType::NIC_TX) return send_root_;
  if (type == FlowTableType::RDMA_TX) return rdma_send_root_;
  return type == FlowTableType::NIC_RX ? nic_root_ : rdma_root_;
}

FlowTables::Table* FlowTables::find(FlowTableType type, std::uint32_t id) noexcept {
  const auto found = tables_.find(id);
  return found == tables_.end() || found->second.type != type ? nullptr : &found->second;
}

const FlowTables::Table* FlowTables::find(FlowTableType type, std::uint32_t id) const noexcept {
  const auto found = tables_.find(id);
  return found == tables_.end() || found->second.type != type ? nullptr : &found->second;
}

Verdict FlowTables::check_miss(FlowTableType type, std::uint32_t level,
                               prm::ConstView<prm::flow_table_context> context) const {
  const prm::FlowTableMiss miss{static_cast<std::uint8_t>(context.get<"table_miss_action">())};
  if (miss == prm::FlowTableMiss::FWD) {
    const Table* const next = find(type, context.get<"table_miss_id">());
    if (next == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
    // Only ever upwards, so that no frame goes in circles.
    if (next->level <= level) return refuse(CommandStatus::BAD_PARAM_ERR, kLevel);
    return {};
  }
  const bool known = miss == prm::FlowTableMiss::DEF ||
                     (miss == prm::FlowTableMiss::SWITCH_DOMAIN && type == FlowTableType::RDMA_RX);
  return known ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kMiss);
}

Verdict FlowTables::create_table(FlowTableType type,
                                 prm::ConstView<prm::flow_table_context> context, std::uint32_t& id,
                                 std::uint32_t uid) {
  if (!is_domain(type)) return refuse(CommandStatus::BAD_PARAM_ERR, kDomain);
  if (type == FlowTableType::RDMA_RX && deps_.behaviours->rdma_rx_refused)
    return refuse(CommandStatus::BAD_PARAM_ERR, kRefusedDomain);
  const std::uint32_t level = context.get<"level">();
  if (context.get<"log_size">() > kLogMaxTableSize)
    return refuse(CommandStatus::BAD_PARAM_ERR, kTableSize);
  const bool tunnels = context.get<"reformat_en">() != 0 || context.get<"decap_en">() != 0;
  // No capability is asked for a termination table of NIC_RX: dr_action_create_sampler_term_tbl of
  // rdma-core's dr_action.c makes one for each sampler.
  const bool may_end = type == FlowTableType::NIC_RX && changes_of(type) != 0;
  if ((tunnels && changes_of(type) == 0) || (context.get<"termination_table">() != 0 && !may_end))
    return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
  if (const Verdict bad = check_programs(type, context, uid); !bad.ok()) return bad;
  if (const Verdict verdict = check_miss(type, level, context); !verdict.ok()) return verdict;
  if (type == FlowTableType::RDMA_RX && deps_.behaviours->rdma_rx_silent_null) {
    id = 0;  // success, and nothing was made
    return {};
  }
  const auto fresh = table_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  Table table;
  table.type = type;
  table.level = level;
  table.size = 1U << context.get<"log_size">();
  table.miss = prm::FlowTableMiss{static_cast<std::uint8_t>(context.get<"table_miss_action">())};
  table.miss_id = context.get<"table_miss_id">();
  table.may_reformat = context.get<"reformat_en">() != 0;
  table.may_decap = context.get<"decap_en">() != 0;
  table.only_ends = context.get<"termination_table">() != 0;
  table.is_programs = context.get<"sw_owner">() != 0;
  table.entry_at = table.is_programs ? context.get<"sw_owner_icm_root_0">() : 0;
  table.uid = uid;
  tables_.emplace(id, std::move(table));
  return {};
}

Verdict FlowTables::modify_table(FlowTableType type, std::uint32_t id,
                                 prm::ConstView<prm::flow_table_context> context) {
  Table* const table = find(type, id);
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (const Verdict verdict = check_miss(type, table->level, context); !verdict.ok())
    return verdict;
  table->miss = prm::FlowTableMiss{static_cast<std::uint8_t>(context.get<"table_miss_action">())};
  table->miss_id = context.get<"table_miss_id">();
  return {};
}

Verdict FlowTables::query_table(FlowTableType type, std::uint32_t id,
                                prm::View<prm::flow_table_context> context) const {
  const Table* const table = find(type, id);
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  static_cast<void>(context.try_set<"reformat_en">(table->may_reformat ? 1 : 0));
  static_cast<void>(context.try_set<"decap_en">(table->may_decap ? 1 : 0));
  static_cast<void>(context.try_set<"table_miss_action">(prm::number(table->miss)));
  static_cast<void>(context.try_set<"level">(table->level));
  static_cast<void>(
      context.try_set<"log_size">(static_cast<unsigned>(std::countr_zero(table->size))));
  static_cast<void>(context.try_set<"table_miss_id">(table->miss_id));
  static_cast<void>(context.try_set<"termination_table">(table->only_ends ? 1 : 0));
  static_cast<void>(context.try_set<"sw_owner">(table->is_programs ? 1 : 0));
  // Of what is sent rdma-core takes the other one (dr_devx_query_flow_table of dr_devx.c).
  const std::uint64_t at =
      table->is_programs ? table->entry_at : icm::address_of(icm::kTablesAt, id);
  context.put<"sw_owner_icm_root_0">(at);
  context.put<"sw_owner_icm_root_1">(at);
  return {};
}

bool FlowTables::is_target(std::uint32_t id) const noexcept {
  if (std::ranges::any_of(samplers_, [id](const auto& named) {
        return named.second.sampled == id || named.second.next == id;
      }))
    return true;
  return std::ranges::any_of(tables_, [id](const auto& named) {
    const Table& table = named.second;
    if (table.miss == prm::FlowTableMiss::FWD && table.miss_id == id) return true;
    return std::ranges::any_of(table.entries, [id](const auto& indexed) {
      return std::ranges::any_of(indexed.second.destinations, [id](const Destination& to) {
        return to.type == prm::FlowDestination::FLOW_TABLE && to.id == id;
      });
    });
  });
}

Verdict FlowTables::destroy_table(FlowTableType type, std::uint32_t id) {
  const Table* const table = find(type, id);
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (!table->groups.empty() || is_target(id))
    return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  // A root may go: without a next table Linux destroys it and sends no SET_FLOW_TABLE_ROOT
  // (update_root_ft_destroy of mlx5/core/fs_core.c).
  if (auto& root = root_of(type); root == id) root.reset();
  std::erase_if(underlay_roots_, [id](const auto& root) { return root.second.table == id; });
  tables_.erase(id);
  table_ids_.give_back(id);
  learn_engaged();
  return {};
}

Verdict FlowTables::check_mask(FlowKey mask) const noexcept {
  if (!mask.is_within(supported_fields())) return refuse(CommandStatus::BAD_PARAM_ERR, kCriteria);
  if (mask.asks_for_opcode() && deps_.behaviours->no_bth_opcode)
    return refuse(CommandStatus::BAD_PARAM_ERR, kCriteria);
  return {};
}

Verdict FlowTables::create_group(prm::ConstView<prm::create_flow_group_in> in, std::uint32_t& id) {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  Table* const table = find(type, in.get<"table_id">());
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (table->is_programs || in.get<"group_type">() != 0 || in.get<"match_definer_id">() != 0 ||
      in.get<"source_eswitch_owner_vhca_id_valid">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
  Group group{in.get<"start_flow_index">(),
              in.get<"end_flow_index">(),
              in.get<"match_criteria_enable">(),
              {}};
  if (group.end < group.start) return refuse(CommandStatus::BAD_PARAM_ERR, kRange);
  if (group.end >= table->size) return refuse(CommandStatus::IX_ERR, kRange);
  if (std::ranges::any_of(table->groups, [&group](const auto& named) {
        return named.second.start <= group.end && group.start <= named.second.end;
      }))
    return refuse(CommandStatus::BAD_PARAM_ERR, kRange);

  constexpr std::uint32_t kSections = prm::number(prm::MatchCriteria::OUTER_HEADERS) |
                                      prm::number(prm::MatchCriteria::MISC_PARAMETERS);
  const std::uint32_t enabled = group.sections;
  const auto mask = read_key(in.bytes<"match_criteria">());
  if ((enabled & ~kSections) != 0 || !mask) return refuse(CommandStatus::BAD_PARAM_ERR, kCriteria);
  const auto misc = std::span(mask->bytes).subspan<prm::fte_match_set_lyr_2_4::bytes>();
  const auto outer = std::span(mask->bytes).first<prm::fte_match_set_lyr_2_4::bytes>();
  const bool silent =
      ((enabled & prm::number(prm::MatchCriteria::OUTER_HEADERS)) == 0 && !all_zero(outer)) ||
      ((enabled & prm::number(prm::MatchCriteria::MISC_PARAMETERS)) == 0 && !all_zero(misc));
  if (silent) return refuse(CommandStatus::BAD_PARAM_ERR, kCriteria);
  if (const Verdict verdict = check_mask(*mask); !verdict.ok()) return verdict;

  const auto fresh = group_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  group.mask = *mask;
  table->groups.emplace(id, group);
  return {};
}

Verdict FlowTables::query_group(prm::ConstView<prm::query_flow_group_in> in,
                                prm::View<prm::query_flow_group_out> out) const {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  const Table* const table = find(type, in.get<"table_id">());
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  const auto found = table->groups.find(in.get<"group_id">());
  if (found == table->groups.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchGroup);
  const Group& group = found->second;
  out.put<"start_flow_index">(group.start);
  out.put<"end_flow_index">(group.end);
  static_cast<void>(out.try_set<"match_criteria_enable">(group.sections));
  std::ranges::copy(group.mask.bytes, out.bytes<"match_criteria">().begin());
  return {};
}

Verdict FlowTables::destroy_group(prm::ConstView<prm::destroy_flow_group_in> in) {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  Table* const table = find(type, in.get<"table_id">());
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  const std::uint32_t id = in.get<"group_id">();
  if (!table->groups.contains(id)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchGroup);
  if (std::ranges::any_of(table->entries,
                          [id](const auto& indexed) { return indexed.second.group == id; }))
    return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  table->groups.erase(id);
  group_ids_.give_back(id);
  return {};
}

Verdict FlowTables::read_destinations(const Table& table, std::uint32_t count,
                                      std::span<const std::byte> list, Entry& entry) const {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto to = prm::ConstView<prm::dest_format_struct>::at(
        list, std::size_t{i} * prm::dest_format_struct::bytes);
    const Destination destination{
        prm::FlowDestination{static_cast<std::uint8_t>(to.get<"destination_type">())},
        to.get<"destination_id">()};
    if (destination.type == prm::FlowDestination::FLOW_TABLE) {
      const Table* const next = find(table.type, destination.id);
      if (next == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDestination);
      if (next->level <= table.level || table.only_ends)
        return refuse(CommandStatus::BAD_PARAM_ERR, kLevel);
    } else if (destination.type == prm::FlowDestination::TIR) {
      if (table.type != FlowTableType::NIC_RX || deps_.has_tir == nullptr ||
          !deps_.has_tir(deps_.context, destination.id))
        return refuse(CommandStatus::BAD_RES_ERR, kNoSuchDestination);
    } else {
      return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
    }
    entry.destinations.push_back(destination);
  }
  return {};
}

Verdict FlowTables::read_counters(std::uint32_t count, std::span<const std::byte> list,
                                  Entry& entry) const {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto counter = prm::ConstView<prm::flow_counter_list>::at(
        list, std::size_t{i} * prm::flow_counter_list::bytes);
    const std::uint32_t id = counter.get<"flow_counter_id">();
    if (!counters.has(id)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCounter);
    entry.counters.push_back(id);
  }
  return {};
}

std::uint32_t FlowTables::changes_of(FlowTableType type) const noexcept {
  using prm::FlowAction;
  if (deps_.port_type != PortType::Ethernet) return 0;
  constexpr std::uint32_t kBoth =
      prm::number(FlowAction::PACKET_REFORMAT) | prm::number(FlowAction::MOD_HDR);
  // Of tags, in "NIC mode", DPDK's guide of mlx5 (Limitations): none is pushed on what comes, none
  // is popped from what is sent.
  if (type == FlowTableType::NIC_RX)
    return kBoth | prm::number(FlowAction::DECAP) | prm::number(FlowAction::VLAN_POP);
  return type == FlowTableType::NIC_TX ? kBoth | prm::number(FlowAction::VLAN_PUSH) : 0;
}

/// A table says when it is made whether its entries have to do with tunnels (reformat_en,
/// decap_en), and mlx5_ib says so wherever it can (_get_prio of mlx5_ib/fs.c). Whether a card
/// refuses such an entry elsewhere is not published; the model does not.
Verdict FlowTables::read_changes(const Table& table, prm::ConstView<prm::flow_context> context,
                                 Entry& entry) const {
  using prm::FlowAction;
  entry.modify_header = context.get<"modify_header_id">();
  entry.reformat = context.get<"packet_reformat_id">();
  entry.pushed_tag = prm::detail::load_dword(context.bytes<"push_vlan">().data());
  if (entry.has(FlowAction::MOD_HDR)) {
    const HeaderChanges* const changes = headers.changes(entry.modify_header);
    if (changes == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchContext);
    if (changes->type != table.type) return refuse(CommandStatus::BAD_PARAM_ERR, kContextType);
  }
  if (entry.has(FlowAction::PACKET_REFORMAT)) {
    const PacketReformat* const reformat = headers.reformat(entry.reformat);
    if (reformat == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchContext);
    // mlx5_ib_flow_action_packet_reformat_valid of mlx5_ib/fs.c.
    if (is_wrap(reformat->type) != (table.type == FlowTableType::NIC_TX))
      return refuse(CommandStatus::BAD_PARAM_ERR, kContextType);
  }
  return {};
}

bool FlowTables::names(prm::FlowAction action, std::uint32_t Entry::*member,
                       std::uint32_t id) const noexcept {
  return std::ranges::any_of(tables_, [&](const auto& named) {
    return std::ranges::any_of(named.second.entries, [&](const auto& indexed) {
      return indexed.second.has(action) && indexed.second.*member == id;
    });
  });
}

Verdict FlowTables::free_changes(std::uint32_t id) {
  if (headers.changes(id) == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchContext);
  if (names(prm::FlowAction::MOD_HDR, &Entry::modify_header, id))
    return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  headers.free_changes(id);
  return {};
}

Verdict FlowTables::free_reformat(std::uint32_t id) {
  if (headers.reformat(id) == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchContext);
  if (names(prm::FlowAction::PACKET_REFORMAT, &Entry::reformat, id))
    return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  headers.free_reformat(id);
  return {};
}

Verdict FlowTables::read_entry(const Table& table, prm::ConstView<prm::flow_context> context,
                               std::span<const std::byte> list, Entry& entry) const {
  using prm::FlowAction;
  constexpr std::uint32_t kVerdicts = prm::number(FlowAction::ALLOW) |
                                      prm::number(FlowAction::DROP) |
                                      prm::number(FlowAction::FWD_DEST);
  const std::uint32_t action = context.get<"action">();
  const std::uint32_t verdict = action & kVerdicts;
  const bool one = verdict != 0 && (verdict & (verdict - 1)) == 0;
  const std::uint32_t known = kVerdicts | prm::number(FlowAction::COUNT) | changes_of(table.type);
  if (!one || (action & ~known) != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kAction);
  if (context.get<"extended_destination">() != 0 || context.get<"encrypt_decrypt_type">() != 0 ||
      context.get<"encrypt_decrypt_obj_id">() != 0 || !all_zero(context.bytes<"push_vlan_2">()) ||
      !all_zero(context.bytes<"execute_aso">()))
    return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
  const std::uint32_t destinations = context.get<"destination_list_size">();
  const std::uint32_t counted = context.get<"flow_counter_list_size">();
  const bool forwards = verdict == prm::number(FlowAction::FWD_DEST);
  const bool counts = (action & prm::number(FlowAction::COUNT)) != 0;
  if ((destinations != 0) != forwards || (counted != 0) != counts ||
      destinations > kMaxDestinations || counted > 1)
    return refuse(CommandStatus::BAD_PARAM_ERR, kLists);
  const std::size_t listed = std::size_t{destinations} * prm::dest_format_struct::bytes;
  const std::size_t needed = listed + std::size_t{counted} * prm::flow_counter_list::bytes;
  // The dword that names the last entry will do (Snabb's connectx.lua sends no more of it).
  if (list.size() + kLastNameBytes < needed) return refuse(CommandStatus::BAD_INP_LEN_ERR, kLists);
  std::array<std::byte, kLongestList> whole{};
  std::ranges::copy(list.first(std::min(list.size(), needed)), whole.begin());
  list = std::span(whole).first(needed);
  const auto value = read_key(context.bytes<"match_value">());
  if (!value) return refuse(CommandStatus::BAD_PARAM_ERR, kValue);

  entry.action = static_cast<std::uint16_t>(action);
  entry.flow_tag = context.get<"flow_tag">();
  entry.value = *value;
  if (const Verdict bad = read_changes(table, context, entry); !bad.ok()) return bad;
  if (const Verdict bad = read_destinations(table, destinations, list, entry); !bad.ok())
    return bad;
  return read_counters(counted, list.subspan(listed), entry);
}

Verdict FlowTables::set_entry(prm::ConstView<prm::set_fte_in> in, std::span<const std::byte> list) {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  Table* const table = find(type, in.get<"table_id">());
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (in.get<"ignore_flow_level">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
  const std::uint32_t index = in.get<"flow_index">();
  if (index >= table->size) return refuse(CommandStatus::IX_ERR, kIndex);
  const auto context = prm::ConstView<prm::flow_context>::at(in.bytes<"flow_context">());
  const auto group = table->groups.find(context.get<"group_id">());
  if (group == table->groups.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchGroup);
  if (index < group->second.start || index > group->second.end)
    return refuse(CommandStatus::BAD_PARAM_ERR, kIndex);
  Entry entry;
  entry.group = group->first;
  if (const Verdict bad = read_entry(*table, context, list, entry); !bad.ok()) return bad;
  if (!entry.value.is_within(group->second.mask))
    return refuse(CommandStatus::BAD_PARAM_ERR, kValue);
  const bool modify = in.get<"op_mod">() == prm::number(prm::SetFteOpMod::MODIFY);
  if (modify) return modify_entry(*table, index, in.get<"modify_enable_mask">(), std::move(entry));
  if (in.get<"op_mod">() != prm::number(prm::SetFteOpMod::SET) ||
      in.get<"modify_enable_mask">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  if (table->entries.contains(index) && deps_.behaviours->no_occupied_index)
    return refuse(CommandStatus::LIM_ERR, kOccupied);
  table->entries.insert_or_assign(index, std::move(entry));
  return {};
}

Verdict FlowTables::modify_entry(Table& table, std::uint32_t index, std::uint32_t mask,
                                 Entry&& wanted) {
  using prm::ModifyFte;
  constexpr std::uint32_t kKnown = bit(ModifyFte::ACTION) | bit(ModifyFte::FLOW_TAG) |
                                   bit(ModifyFte::DESTINATION_LIST) | bit(ModifyFte::FLOW_COUNTERS);
  const auto found = table.entries.find(index);
  if (found == table.entries.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEntry);
  Entry& entry = found->second;
  if ((mask & ~kKnown) != 0 || wanted.group != entry.group || !(wanted.value == entry.value))
    return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  if ((mask & bit(ModifyFte::ACTION)) != 0) {
    entry.action = wanted.action;
    entry.modify_header = wanted.modify_header;
    entry.reformat = wanted.reformat;
    entry.pushed_tag = wanted.pushed_tag;
  }
  if ((mask & bit(ModifyFte::FLOW_TAG)) != 0) entry.flow_tag = wanted.flow_tag;
  if ((mask & bit(ModifyFte::DESTINATION_LIST)) != 0)
    entry.destinations = std::move(wanted.destinations);
  if ((mask & bit(ModifyFte::FLOW_COUNTERS)) != 0) entry.counters = std::move(wanted.counters);
  return {};
}

Verdict FlowTables::query_entry(prm::ConstView<prm::query_fte_in> in,
                                prm::View<prm::flow_context> context,
                                std::span<std::byte> list) const {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  const Table* const table = find(type, in.get<"table_id">());
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  const auto found = table->entries.find(in.get<"flow_index">());
  if (found == table->entries.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEntry);
  const Entry& entry = found->second;
  context.put<"group_id">(entry.group);
  static_cast<void>(context.try_set<"flow_tag">(entry.flow_tag));
  context.put<"action">(entry.action);
  context.put<"modify_header_id">(entry.modify_header);
  context.put<"packet_reformat_id">(entry.reformat);
  prm::detail::store_dword(context.bytes<"push_vlan">().data(), entry.pushed_tag);
  static_cast<void>(context.try_set<"destination_list_size">(entry.destinations.size()));
  static_cast<void>(context.try_set<"flow_counter_list_size">(entry.counters.size()));
  std::ranges::copy(entry.value.bytes, context.bytes<"match_value">().begin());
  const auto next = [&list](std::size_t bytes) {
    const auto head = list.first(std::min(bytes, list.size()));
    list = list.subspan(head.size());
    return head;
  };
  for (const Destination& to : entry.destinations) {
    prm::Buffer<prm::dest_format_struct> raw;
    raw.put<"destination_type">(to.type).put<"destination_id">(to.id);
    const auto room = next(prm::dest_format_struct::bytes);
    std::copy_n(raw.all().begin(), room.size(), room.begin());
  }
  for (const std::uint32_t id : entry.counters) {
    prm::Buffer<prm::flow_counter_list> raw;
    raw.put<"flow_counter_id">(id);
    const auto room = next(prm::flow_counter_list::bytes);
    std::copy_n(raw.all().begin(), room.size(), room.begin());
  }
  return {};
}

Verdict FlowTables::delete_entry(prm::ConstView<prm::delete_fte_in> in) {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  Table* const table = find(type, in.get<"table_id">());
  if (table == nullptr) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (in.get<"flow_index">() >= table->size) return refuse(CommandStatus::IX_ERR, kIndex);
  if (table->entries.erase(in.get<"flow_index">()) == 0)
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchEntry);
  return {};
}

Verdict FlowTables::set_root(prm::ConstView<prm::set_flow_table_root_in> in) {
  const FlowTableType type{static_cast<std::uint8_t>(in.get<"table_type">())};
  const bool disconnect = in.get<"op_mod">() == prm::number(prm::FlowTableRootOpMod::DISCONNECT);
  const std::uint32_t id = in.get<"table_id">();
  if (!is_domain(type)) return refuse(CommandStatus::BAD_PARAM_ERR, kDomain);
  if (in.get<"table_of_other_vport">() != 0 || in.get<"table_vport_number">() != 0 ||
      in.get<"table_eswitch_owner_vhca_id_valid">() != 0 ||
      in.get<"table_eswitch_owner_vhca_id">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
  if (!disconnect && find(type, id) == nullptr)
    return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (in.get<"underlay_qpn">() != prm::kNoUnderlayQpn) {
    if (type != FlowTableType::NIC_RX) return refuse(CommandStatus::BAD_PARAM_ERR, kUnderlay);
    return set_underlay_root(in.get<"underlay_qpn">(), id, disconnect);
  }
  // Linux asks for reset_root_to_default first, which is not offered
  // (mlx5_fs_cmd_set_tx_flow_table_root of mlx5/core/fs_cmd.c).
  if (disconnect && type == FlowTableType::NIC_TX)
    return refuse(CommandStatus::BAD_PARAM_ERR, kUnsupported);
  auto& root = root_of(type);
  if (disconnect)
    root.reset();
  else
    root = id;
  learn_engaged();
  return {};
}

/// Linux sends it for IPoIB, that is on an InfiniBand port alone (mlx5_cmd_update_root_ft); what an
/// Ethernet port makes of it is not known, and the model refuses.
Verdict FlowTables::set_underlay_root(std::uint32_t qpn, std::uint32_t table, bool disconnect) {
  if (deps_.port_type != PortType::InfiniBand)
    return refuse(CommandStatus::BAD_PARAM_ERR, kUnderlay);
  if (disconnect) {
    if (underlay_roots_.erase(qpn) == 0) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
  } else {
    if (!deps_.has_qp(deps_.context, qpn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchQp);
    underlay_roots_[qpn] = {table, !deps_.is_hot(deps_.context, qpn)};
  }
  learn_engaged();
  return {};
}

void FlowTables::learn_engaged() noexcept {
  engaged_ = nic_root_.has_value() || rdma_root_.has_value() || !underlay_roots_.empty();
}

bool FlowTables::uses_tir(std::uint32_t tirn) const noexcept {
  return std::ranges::any_of(tables_, [tirn](const auto& named) {
    return std::ranges::any_of(named.second.entries, [tirn](const auto& indexed) {
      return std::ranges::any_of(indexed.second.destinations, [tirn](const Destination& to) {
        return to.type == prm::FlowDestination::TIR && to.id == tirn;
      });
    });
  });
}

void FlowTables::clear() {
  tables_.clear();
  underlay_roots_.clear();
  nic_root_.reset();
  rdma_root_.reset();
  rdma_send_root_.reset();
  send_root_.reset();
  samplers_.clear();
  sampler_ids_.clear();
  table_ids_.clear();
  group_ids_.clear();
  counters.clear();
  headers.clear();
  engaged_ = false;
}

std::size_t FlowTables::groups() const noexcept {
  std::size_t count = 0;
  for (const auto& [id, table] : tables_) count += table.groups.size();
  return count;
}

std::size_t FlowTables::entries() const noexcept {
  std::size_t count = 0;
  for (const auto& [id, table] : tables_) count += table.entries.size();
  return count;
}

}  // namespace portcullis::model
