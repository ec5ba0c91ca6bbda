// SPDX-License-Identifier: BSD-3-Clause
//
// ACCESS_REG: a register's layout follows the command's header at once (mlx5_core_access_reg).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/result.hpp"
#include "pmd/command_channel.hpp"
#include "prm/enums.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

/// The register as the answer has it. For a READ `data` names the port.
template <class Register>
[[nodiscard]] Result<prm::Buffer<Register>> access_register(CommandChannel& commands,
                                                            prm::AccessRegisterOpMod how,
                                                            prm::RegisterId id,
                                                            const prm::Buffer<Register>& data) {
  prm::Buffer<prm::access_register_in> in;
  in.set<"opcode", prm::Opcode::ACCESS_REG>()
      .template put<"op_mod">(prm::number(how))
      .template put<"register_id">(prm::number(id));
  std::array<std::byte, prm::access_register_in::bytes + Register::bytes> message{};
  std::copy_n(in.all().data(), in.all().size(), message.data());
  std::copy_n(data.all().data(), data.all().size(), message.data() + in.all().size());
  std::array<std::byte, prm::access_register_out::bytes + Register::bytes> answer{};
  PORTCULLIS_TRY(
      commands.execute(message, answer, SlotClass::Common, commands.default_deadline_ns()));
  prm::Buffer<Register> found;
  std::copy_n(answer.data() + prm::access_register_out::bytes, found.all().size(),
              found.all().data());
  return found;
}

/// Writes the register as `data` has it.
template <class Register>
[[nodiscard]] Result<void> write_register(CommandChannel& commands, prm::RegisterId id,
                                          const prm::Buffer<Register>& data) {
  PORTCULLIS_TRY(access_register(commands, prm::AccessRegisterOpMod::WRITE, id, data));
  return {};
}

}  // namespace portcullis::pmd
