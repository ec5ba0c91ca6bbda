// SPDX-License-Identifier: BSD-3-Clause
#include "trace/profile_builder.hpp"

#include <utility>

#include "prm/enums.hpp"
#include "prm/hca_commands.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"

namespace portcullis::trace {
namespace {

using prm::CommandStatus;
using prm::Opcode;

/// What is refused for itself. The other statuses speak of objects, of room or of the order of
/// things, and the same command may be taken another time.
bool is_for_what_was_asked(std::uint8_t status) {
  return status == prm::number(CommandStatus::BAD_OP_ERR) ||
         status == prm::number(CommandStatus::BAD_PARAM_ERR);
}

bool needs_memory(Opcode opcode) {
  return opcode == Opcode::CREATE_MKEY || opcode == Opcode::CREATE_CQ ||
         opcode == Opcode::CREATE_QP;
}

}  // namespace

void ProfileBuilder::add(const TraceCommand& command) {
  if (command.answer != TraceAnswer::Given || command.delivery_status != 0) return;
  const auto status = command.status();
  if (!status) return;
  OfOne& one = kinds_[kind_of(command.in.bytes)];
  if (*status == 0) {
    one.is_answered = true;
    note_answered(command);
    return;
  }
  if (command.opcode() == Opcode::SET_FLOW_TABLE_ENTRY &&
      *status == prm::number(CommandStatus::LIM_ERR))
    ++entries_in_the_way_;
  if (one.status != 0) return;
  one.status = *status;
  one.syndrome = command.syndrome().value_or(0);
}

void ProfileBuilder::note_answered(const TraceCommand& command) {
  const Opcode opcode = command.opcode();
  // Nobody waits for pages that are given: that answer is read when the driver looks next, seconds
  // later perhaps, and says nothing of the device.
  if (command.time_ns && opcode != Opcode::MANAGE_PAGES)
    times_[prm::number(opcode)].record(*command.time_ns);
  if (opcode == Opcode::INIT_HCA) is_initialised_ = true;
  if (opcode == Opcode::TEARDOWN_HCA || opcode == Opcode::ENABLE_HCA) is_initialised_ = false;
  if (is_initialised_ && needs_memory(opcode)) ++objects_made_;
  if (is_initialised_ && opcode == Opcode::MANAGE_PAGES &&
      command.op_mod() == prm::number(prm::ManagePagesOpMod::ALLOCATION_SUCCESS))
    ++pages_given_;
  if (opcode != Opcode::QUERY_HCA_CAP || command.out.bytes.size() < prm::query_hca_cap_out::bytes)
    return;
  // The first answer: later ones may say what was set.
  const auto page =
      prm::ConstView<prm::query_hca_cap_out>::at(command.out.bytes).bytes<"capability">();
  pages_.try_emplace(command.op_mod(), page.begin(), page.end());
}

DeviceProfile ProfileBuilder::profile() const {
  DeviceProfile profile;
  for (const auto& [opcode, answered] : times_)
    if (CommandTimes times = times_from(opcode, answered); !times.times.empty())
      profile.commands.push_back(std::move(times));
  for (const auto& [op_mod, page] : pages_) profile.capabilities.push_back({op_mod, page});
  for (const auto& [kind, one] : kinds_)
    if (!one.is_answered && is_for_what_was_asked(one.status))
      profile.refusals.push_back({kind, one.status, one.syndrome});
  return profile;
}

}  // namespace portcullis::trace
