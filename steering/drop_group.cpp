// SPDX-License-Identifier: BSD-3-Clause
#include "steering/drop_group.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/cells.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/command_tail.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"

namespace portcullis::steering {
namespace {

static_assert(prm::set_fte_in::bytes + prm::dest_format_struct::bytes - prm::kCmdInlineBytes <=
                  2 * prm::kCmdDataBlockBytes,
              "an entry is at most two mailbox blocks");

std::uint32_t log_size_of(std::uint32_t entries) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(std::max(entries, 1U) - 1));
}

}  // namespace

Result<DropGroup> DropGroup::create(const pmd::Context& context, const Options& options) {
  PORTCULLIS_TRY_ASSIGN(DropGroup group, create_apart(context, options));
  PORTCULLIS_TRY(group.make_root());
  return group;
}

Result<DropGroup> DropGroup::create_apart(const pmd::Context& context, const Options& options,
                                          std::optional<std::uint64_t> deadline_ns) {
  PORTCULLIS_TRY_ASSIGN(FlowTable table,
                        FlowTable::create(context, options.domain,
                                          {.log_size = log_size_of(options.entries)}, deadline_ns));
  prm::Buffer<prm::fte_match_param> mask;
  const std::uint32_t enable = put_mask(options.shape, mask.view());
  auto group = FlowGroup::create(context, table, {0, std::max(options.entries, 1U) - 1}, enable,
                                 mask.view(), deadline_ns);
  if (group)
    return DropGroup(context, options.shape, std::move(table), *std::move(group), options.entries);
  // A device that let the deadline pass is asked no more; nothing leads to the table.
  if (group.error().code == Errc::Timeout || !table.destroy(deadline_ns)) table.give_up();
  return forward_error(std::move(group));
}

DropGroup::DropGroup(const pmd::Context& context, Shape shape, FlowTable table, FlowGroup group,
                     std::uint32_t entries)
    : context_(&context),
      shape_(shape),
      table_(std::move(table)),
      group_(std::move(group)),
      state_(entries, State::Empty) {
  template_.put<"opcode">(prm::Opcode::SET_FLOW_TABLE_ENTRY);
  template_.put<"table_type">(table_.domain()).put<"table_id">(table_.id());
  template_.put<"flow_context.group_id">(group_.id());
}

DropGroup::~DropGroup() {
  if (!given_up_) (void)destroy();
}

Result<void> DropGroup::check_index(std::uint32_t index) const {
  if (index < state_.size()) return {};
  return fail(Errc::OutOfResources, "steering: entry " + std::to_string(index) +
                                        "; the group holds 0 to " +
                                        std::to_string(state_.size() - 1));
}

Result<void> DropGroup::send(const DropTarget& target, const Fate& fate, prm::SetFteOpMod op_mod,
                             std::uint64_t deadline_ns) {
  const bool forwards = fate.action == prm::FlowAction::FWD_DEST;
  std::uint32_t changed = 1U << prm::number(prm::ModifyFte::ACTION);
  if (forwards) changed |= 1U << prm::number(prm::ModifyFte::DESTINATION_LIST);
  const auto value = MatchView::at(template_.bytes<"flow_context.match_value">());
  PORTCULLIS_TRY(put_value(shape_, target, value));
  template_.put<"op_mod">(op_mod).put<"flow_index">(target.slot);
  template_.put<"modify_enable_mask">(op_mod == prm::SetFteOpMod::MODIFY ? changed : 0U);
  template_.put<"flow_context.action">(fate.action);
  template_.put<"flow_context.destination_list_size">(forwards ? 1U : 0U);
  state_[target.slot] = State::Doubtful;
  PORTCULLIS_TRY(run_set(fate, deadline_ns));
  state_[target.slot] = State::Set;
  return {};
}

Result<void> DropGroup::run_set(const Fate& fate, std::uint64_t deadline_ns) {
  pmd::CommandChannel& commands = *context_->commands;
  if (fate.action != prm::FlowAction::FWD_DEST) {
    PORTCULLIS_TRY(
        pmd::run<prm::set_fte_out>(commands, template_, deadline_ns, pmd::SlotClass::Fence));
    return {};
  }
  prm::Buffer<prm::dest_format_struct> to;
  to.put<"destination_type">(prm::FlowDestination::TIR).put<"destination_id">(fate.tirn);
  if (to.overflow() != nullptr)
    return fail(Errc::InvalidArgument,
                "steering: TIR number " + std::to_string(fate.tirn) + " is wider than 24 bits");
  std::uint64_t raw;
  static_assert(sizeof raw == prm::dest_format_struct::bytes);
  std::memcpy(&raw, to.all().data(), sizeof raw);
  PORTCULLIS_TRY(pmd::run_with_tail<prm::set_fte_out>(
      commands, template_, std::array{cells::be64(raw)}, deadline_ns, pmd::SlotClass::Fence));
  return {};
}

Result<void> DropGroup::set(const DropTarget& target, prm::FlowAction action,
                            std::uint64_t deadline_ns, std::uint32_t tirn) {
  PORTCULLIS_TRY(check_index(target.slot));
  if (state_[target.slot] == State::Set)
    return fail(Errc::Busy, "steering: entry " + std::to_string(target.slot) + " is occupied");
  return send(target, {action, tirn}, prm::SetFteOpMod::SET, deadline_ns);
}

Result<void> DropGroup::modify(const DropTarget& target, prm::FlowAction action,
                               std::uint64_t deadline_ns, std::uint32_t tirn) {
  PORTCULLIS_TRY(check_index(target.slot));
  return send(target, {action, tirn}, prm::SetFteOpMod::MODIFY, deadline_ns);
}

Result<void> DropGroup::remove(std::uint32_t index, std::uint64_t deadline_ns) {
  PORTCULLIS_TRY(check_index(index));
  if (state_[index] == State::Empty) return {};
  prm::Buffer<prm::delete_fte_in> in;
  in.put<"opcode">(prm::Opcode::DELETE_FLOW_TABLE_ENTRY).put<"table_type">(table_.domain());
  in.put<"table_id">(table_.id()).put<"flow_index">(index);
  const auto done =
      pmd::run<prm::delete_fte_out>(*context_->commands, in, deadline_ns, pmd::SlotClass::Fence);
  if (!done) {
    // Whether a doubtful entry was ever there only the device knows, or who made it for us: not
    // there is as good as gone.
    const auto& answer = done.error().command;
    const bool is_not_there = answer
                                  ? answer->status == prm::number(prm::CommandStatus::BAD_RES_ERR)
                                  : done.error().code == Errc::NotFound;
    if (state_[index] != State::Doubtful || !is_not_there) return tl::unexpected(done.error());
  }
  state_[index] = State::Empty;
  return {};
}

Result<void> DropGroup::destroy(std::optional<std::uint64_t> deadline_ns) {
  const pmd::UndoScope undoing(*context_->commands, !deadline_ns);
  Result<void> first;
  const auto try_to = [&first](const auto& undo) {
    if (!first && first.error().code != Errc::CommandFailed) return;
    const Result<void> done = undo();
    if (first && !done) first = done;
  };
  for (std::uint32_t index = 0; index < state_.size(); ++index)
    if (state_[index] != State::Empty)
      try_to([&] {
        return remove(index, deadline_ns.value_or(context_->commands->default_deadline_ns()));
      });
  try_to([&] { return group_.destroy(deadline_ns); });
  try_to([&] { return table_.destroy(deadline_ns); });
  given_up_ = !first;
  if (given_up_) {
    group_.give_up();
    table_.give_up();
  }
  return first;
}

}  // namespace portcullis::steering
