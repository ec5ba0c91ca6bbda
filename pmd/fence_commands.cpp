// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/fence_commands.hpp"

#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::pmd {

InlineCommand error_qp_command(prm::QpNumber qpn) noexcept {
  prm::Buffer<prm::qp_2err_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QP_2ERR)>().put<"qpn">(qpn);
  return InlineCommand(in);
}

InlineCommand destroy_mkey_command(prm::MkeyIndex index) noexcept {
  prm::Buffer<prm::destroy_mkey_in> in;
  in.set<"opcode", prm::number(prm::Opcode::DESTROY_MKEY)>().put<"mkey_index">(index);
  return InlineCommand(in);
}

InlineCommand reset_qp_command(prm::QpNumber qpn) noexcept {
  prm::Buffer<prm::qp_2rst_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QP_2RST)>().put<"qpn">(qpn);
  return InlineCommand(in);
}

InlineCommand destroy_qp_command(prm::QpNumber qpn) noexcept {
  prm::Buffer<prm::destroy_qp_in> in;
  in.set<"opcode", prm::number(prm::Opcode::DESTROY_QP)>().put<"qpn">(qpn);
  return InlineCommand(in);
}

InlineCommand dealloc_pd_command(prm::PdNumber pdn) noexcept {
  prm::Buffer<prm::dealloc_pd_in> in;
  in.set<"opcode", prm::number(prm::Opcode::DEALLOC_PD)>().put<"pd">(pdn);
  return InlineCommand(in);
}

}  // namespace portcullis::pmd
