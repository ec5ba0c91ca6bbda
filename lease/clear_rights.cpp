// SPDX-License-Identifier: BSD-3-Clause
#include "lease/clear_rights.hpp"

#include <string>

#include "pmd/inline_command.hpp"
#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::lease {

Result<pmd::Ticket> submit_clear_rights(pmd::CommandChannel& channel, std::uint32_t qpn,
                                        std::uint32_t pdn, pmd::SlotClass slot_class) {
  using prm::QpOptPar;
  static_assert(prm::rts2rts_qp_out::bytes == pmd::InlineCommand::kBytes);
  prm::Buffer<prm::rts2rts_qp_in> in;
  // st, pm_state and pd stand in every transition that mlx5_ib sends (__mlx5_ib_modify_qp); rwe,
  // rre and rae stay 0, and the mask says that they are meant.
  in.set<"opcode", prm::number(prm::Opcode::RTS2RTS_QP)>()
      .put<"qpn">(qpn)
      .set<"opt_param_mask", QpOptPar::RRE | QpOptPar::RAE | QpOptPar::RWE>()
      .set<"qpc.st", prm::number(prm::QpServiceType::RC)>()
      .set<"qpc.pm_state", prm::number(prm::QpPathMigration::MIGRATED)>()
      .put<"qpc.pd">(pdn);
  if (in.overflow() != nullptr)
    return fail(Errc::InvalidArgument, std::string("rts2rts_qp_in.") + in.overflow() +
                                           ": the value is wider than the field");
  return channel.submit(in.all(), prm::rts2rts_qp_out::bytes, slot_class);
}

}  // namespace portcullis::lease
