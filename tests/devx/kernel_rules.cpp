// SPDX-License-Identifier: BSD-3-Clause
#include "tests/devx/kernel_rules.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/cells.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/command_tail.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::testing {
namespace {

constexpr std::uint32_t kLogSize = 8;
constexpr std::uint32_t kGroupSize = 32;

/// check_valid_spec of mlx5/core/fs_core.c.
bool is_within(const devx::Match& match) {
  return std::ranges::equal(match.value, match.mask, [](std::byte value, std::byte mask) {
    return (value & ~mask) == std::byte{0};
  });
}

}  // namespace

Result<void> KernelRules::start() {
  if (table_) return {};
  PORTCULLIS_TRY_ASSIGN(auto table,
                        steering::FlowTable::create(*context_, prm::FlowTableType::RDMA_RX,
                                                    {.log_size = kLogSize, .level = kLevel}));
  PORTCULLIS_TRY(table.make_root());
  table_.emplace(std::move(table));
  ++tables_made_;
  return {};
}

Result<KernelRules::Group*> KernelRules::group_for(const devx::Match& match) {
  const auto same = std::ranges::find_if(groups_, [&match](const Group& group) {
    return group.criteria == match.criteria && std::ranges::equal(group.mask, match.mask);
  });
  if (same != groups_.end()) return &*same;
  const auto first = static_cast<std::uint32_t>(groups_.size()) * kGroupSize;
  PORTCULLIS_TRY_ASSIGN(
      auto made, steering::FlowGroup::create(*context_, *table_, {first, first + kGroupSize - 1},
                                             match.criteria,
                                             prm::ConstView<prm::fte_match_param>::at(match.mask)));
  groups_.push_back({.criteria = match.criteria,
                     .mask = {match.mask.begin(), match.mask.end()},
                     .first = first,
                     .group = std::move(made)});
  return &groups_.back();
}

Result<void> KernelRules::set(const Group& group, std::uint32_t index, const devx::Match& match,
                              std::uint32_t table_id) const {
  prm::Buffer<prm::set_fte_in> in;
  in.put<"opcode">(prm::Opcode::SET_FLOW_TABLE_ENTRY);
  in.put<"table_type">(prm::FlowTableType::RDMA_RX).put<"table_id">(table_->id());
  in.put<"flow_index">(index).put<"flow_context.group_id">(group.group.id());
  in.put<"flow_context.action">(prm::FlowAction::FWD_DEST);
  in.put<"flow_context.destination_list_size">(1U);
  std::ranges::copy(match.value, in.bytes<"flow_context.match_value">().begin());
  prm::Buffer<prm::dest_format_struct> to;
  to.put<"destination_type">(prm::FlowDestination::FLOW_TABLE).put<"destination_id">(table_id);
  std::uint64_t raw;
  static_assert(sizeof raw == prm::dest_format_struct::bytes);
  std::memcpy(&raw, to.all().data(), sizeof raw);
  PORTCULLIS_TRY(
      pmd::run_with_tail<prm::set_fte_out>(*context_->commands, in, std::vector{cells::be64(raw)}));
  return {};
}

int KernelRules::add(const devx::Match& match, std::uint32_t table_id, std::uint32_t& rule) {
  if (!is_within(match)) return EINVAL;
  if (!start()) return EINVAL;
  const auto group = group_for(match);
  std::uint32_t index = group ? (*group)->first : 0;
  while (used_.contains(index)) ++index;
  if (!group || !set(**group, index, match, table_id)) return EINVAL;
  used_.insert(index);
  rule = index;
  return 0;
}

void KernelRules::remove(std::uint32_t rule) {
  prm::Buffer<prm::delete_fte_in> in;
  in.put<"opcode">(prm::Opcode::DELETE_FLOW_TABLE_ENTRY);
  in.put<"table_type">(prm::FlowTableType::RDMA_RX).put<"table_id">(table_->id());
  in.put<"flow_index">(rule);
  static_cast<void>(pmd::run<prm::delete_fte_out>(*context_->commands, in));
  used_.erase(rule);
  if (!used_.empty()) return;
  groups_.clear();
  table_.reset();
}

}  // namespace portcullis::testing
