// SPDX-License-Identifier: BSD-3-Clause
#include "lease/clear_rights.hpp"

#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::lease {

Result<void> clear_rights(pmd::CommandChannel& channel, std::uint32_t qpn, std::uint32_t pdn,
                          std::uint64_t deadline_ns) {
  using prm::QpOptPar;
  prm::Buffer<prm::rts2rts_qp_in> in;
  // st, pm_state and pd stand in every transition that mlx5_ib sends (__mlx5_ib_modify_qp); rwe,
  // rre and rae stay 0, and the mask says that they are meant.
  in.set<"opcode", prm::number(prm::Opcode::RTS2RTS_QP)>()
      .put<"qpn">(qpn)
      .set<"opt_param_mask", QpOptPar::RRE | QpOptPar::RAE | QpOptPar::RWE>()
      .set<"qpc.st", prm::number(prm::QpServiceType::RC)>()
      .set<"qpc.pm_state", prm::number(prm::QpPathMigration::MIGRATED)>()
      .put<"qpc.pd">(pdn);
  const auto out = pmd::run<prm::rts2rts_qp_out>(channel, in, deadline_ns, pmd::SlotClass::Fence);
  if (!out) return tl::unexpected<Error>(out.error());
  return {};
}

}  // namespace portcullis::lease
