// SPDX-License-Identifier: BSD-3-Clause
#include "lease/step_table.hpp"

#include "base/host_patience.hpp"
#include "pmd/fence_commands.hpp"
#include "pmd/inline_command.hpp"
#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::lease {
namespace {

using pmd::CommandChannel;
using pmd::SlotClass;
using pmd::Ticket;

Result<Ticket> error_qp(CommandChannel& channel, const FenceTarget& target, SlotClass slot_class) {
  return pmd::error_qp_command(target.qpn).submit(channel, slot_class);
}
Result<Ticket> destroy_mkey(CommandChannel& channel, const FenceTarget& target,
                            SlotClass slot_class) {
  return pmd::destroy_mkey_command(target.mkey_index).submit(channel, slot_class);
}
Result<Ticket> destroy_tenant_key(CommandChannel& channel, const FenceTarget& target,
                                  SlotClass slot_class) {
  return pmd::destroy_mkey_command(target.tenant_mkey_index).submit(channel, slot_class);
}
Result<Ticket> reset_qp(CommandChannel& channel, const FenceTarget& target, SlotClass slot_class) {
  return pmd::reset_qp_command(target.qpn).submit(channel, slot_class);
}
Result<Ticket> destroy_qp(CommandChannel& channel, const FenceTarget& target,
                          SlotClass slot_class) {
  return pmd::destroy_qp_command(target.qpn).submit(channel, slot_class);
}
Result<Ticket> dealloc_pd(CommandChannel& channel, const FenceTarget& target,
                          SlotClass slot_class) {
  return pmd::dealloc_pd_command(target.pdn).submit(channel, slot_class);
}

/// The peer may neither write, read nor do atomics any more; of DMA under way it promises nothing.
/// The device refuses when the QP is not in RTS.
Result<Ticket> clear_rights(CommandChannel& channel, const FenceTarget& target,
                            SlotClass slot_class) {
  using prm::QpOptPar;
  static_assert(prm::rts2rts_qp_out::bytes == pmd::InlineCommand::kBytes);
  prm::Buffer<prm::rts2rts_qp_in> in;
  // st, pm_state and pd stand in every transition that mlx5_ib sends (__mlx5_ib_modify_qp); rwe,
  // rre and rae stay 0, and the mask says that they are meant.
  in.set<"opcode", prm::number(prm::Opcode::RTS2RTS_QP)>()
      .put<"qpn">(target.qpn)
      .set<"opt_param_mask", QpOptPar::RRE | QpOptPar::RAE | QpOptPar::RWE>()
      .set<"qpc.st", prm::number(prm::QpServiceType::RC)>()
      .set<"qpc.pm_state", prm::number(prm::QpPathMigration::MIGRATED)>()
      .put<"qpc.pd">(target.pdn);
  if (in.overflow() != nullptr) return pmd::too_wide("rts2rts_qp_in", in.overflow());
  return channel.submit(in.all(), prm::rts2rts_qp_out::bytes, slot_class);
}

Result<void> install_drop(const StepAct& how) {
  return how.port->steering->install(how.target->drop_target(), how.until_ns);
}
Result<void> remove_drop(const StepAct& how) {
  return how.port->steering->remove(how.target->drop_target(), how.until_ns);
}
Result<void> free_key(const StepAct& how) {
  return how.port->umr->free_key(how.target->key, how.until_ns);
}
/// A key that is not dead keeps naming these addresses, so nothing may move in there.
Result<void> unmap_region(const StepAct& how) {
  const HostPatience bounded(how.until_ns);
  return how.is_key_dead ? how.target->region->unmap() : how.target->region->retire();
}
Result<void> bus_master_off(const StepAct& how) {
  const HostPatience bounded(how.until_ns);
  return how.port->device->function->set_bus_master(false);
}
Result<void> reset_function(const StepAct& how) { return how.port->device->function->reset(); }

constexpr StepRow kRows[] = {
    {.step = Step::ErrorQp,
     .name = "2ERR_QP",
     .subject = Subject::Qp,
     .way = Way::Command,
     .submit = error_qp},
    {.step = Step::DestroyMkey,
     .name = "DESTROY_MKEY",
     .subject = Subject::Key,
     .way = Way::Command,
     .proves = Proof::Mkey,
     .makes_qp_refuse = true,
     .submit = destroy_mkey},
    {.step = Step::InstallDrop,
     .name = "SET_FLOW_TABLE_ENTRY",
     .way = Way::Steering,
     .best_effort = BestEffort::Always,
     .act = install_drop},
    {.step = Step::RemoveDrop,
     .name = "DELETE_FLOW_TABLE_ENTRY",
     .subject = Subject::Entry,
     .way = Way::Steering,
     .gives_back = true,
     .act = remove_drop},
    {.step = Step::ResetQp,
     .name = "2RST_QP",
     .subject = Subject::Qp,
     .way = Way::Command,
     .gives_back = true,
     .submit = reset_qp},
    {.step = Step::DestroyQp,
     .name = "DESTROY_QP",
     .subject = Subject::Qp,
     .way = Way::Command,
     .gives_back = true,
     .submit = destroy_qp},
    {.step = Step::DeallocPd,
     .name = "DEALLOC_PD",
     .subject = Subject::Pd,
     .way = Way::Command,
     .is_shared = true,
     .gives_back = true,
     .submit = dealloc_pd},
    {.step = Step::UnmapRegion,
     .name = "unmap",
     .subject = Subject::Region,
     .proves = Proof::Unmap,
     .gives_back = true,
     .act = unmap_region},
    {.step = Step::ClearRights,
     .name = "RTS2RTS_QP",
     .subject = Subject::Qp,
     .way = Way::Command,
     .best_effort = BestEffort::Always,
     .makes_qp_refuse = true,
     .submit = clear_rights},
    {.step = Step::BusMasterOff,
     .name = "bus master off",
     .proves = Proof::Function,
     .is_of_function = true,
     .act = bus_master_off},
    {.step = Step::ResetFunction,
     .name = "function reset",
     .is_of_function = true,
     .act = reset_function},
    {.step = Step::FreeKey,
     .name = "UMR",
     .subject = Subject::Key,
     .way = Way::Umr,
     .proves = Proof::Umr,
     .best_effort = BestEffort::Always,
     .makes_qp_refuse = true,
     .act = free_key},
    {.step = Step::DestroyTenantKey,
     .name = "DESTROY_MKEY of the tenant",
     .subject = Subject::TenantKey,
     .way = Way::Command,
     .proves = Proof::TenantMkey,
     .best_effort = BestEffort::WhereSwept,
     .is_shared = true,
     .makes_qp_refuse = true,
     .submit = destroy_tenant_key},
};
constexpr StepTable kTable = step_table(kRows);

template <class Holds>
constexpr StepMask steps_where(Holds holds) {
  StepMask mask = 0;
  for (const StepRow& row : kTable)
    if (holds(row)) mask = static_cast<StepMask>(mask | bit(row.step));
  return mask;
}

}  // namespace

std::span<const StepRow> step_rows() noexcept { return kTable; }

const StepRow& row(Step step) noexcept { return kTable[static_cast<std::size_t>(step)]; }

StepMask steps_on(Subject subject) noexcept {
  return steps_where([subject](const StepRow& row) { return row.subject == subject; });
}

StepMask best_effort_steps(bool is_swept_later) noexcept {
  static constexpr StepMask kAlways =
      steps_where([](const StepRow& row) { return row.best_effort == BestEffort::Always; });
  static constexpr StepMask kWhereSwept =
      steps_where([](const StepRow& row) { return row.best_effort != BestEffort::Never; });
  return is_swept_later ? kWhereSwept : kAlways;
}

}  // namespace portcullis::lease
