// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/port.hpp"

#include <algorithm>

#include "pmd/access_register.hpp"
#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"
#include "prm/port_registers.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

std::string describe(PortState state) {
  return std::string("admin ") + (state.admin_up ? "up" : "down") + ", link " +
         (state.link_up ? "up" : "down");
}

Result<void> set_port_up(CommandChannel& commands) {
  prm::Buffer<prm::paos_reg> data;
  data.set<"local_port", 1u>();
  data.set<"admin_status", prm::PortStatus::UP>();
  data.set<"ase", 1u>();
  return write_register(commands, prm::RegisterId::PAOS, data);
}

Result<PortState> query_port_state(CommandChannel& commands) {
  prm::Buffer<prm::query_vport_state_in> in;
  in.set<"opcode", prm::Opcode::QUERY_VPORT_STATE>();
  in.set<"op_mod", prm::VportStateOpMod::VNIC_VPORT>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_vport_state_out>(commands, in));
  constexpr std::uint32_t kAdminDown = 0;  // MLX5_VPORT_ADMIN_STATE_DOWN; UP 1 and AUTO 2 are up
  return PortState{out.get<"admin_state">() != kAdminDown,
                   out.get<"state">() == prm::number(prm::VportState::UP)};
}

Result<PortState> wait_for_link(const Device& device, CommandChannel& commands,
                                std::uint64_t until_ns) {
  constexpr std::uint64_t kBetweenLooksNs = kNsPerMs;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const PortState state, query_port_state(commands));
    const std::uint64_t now_ns = device.clock.now_ns();
    if (state.link_up || now_ns >= until_ns) return state;
    const std::uint64_t look_ns = std::min(until_ns, now_ns + kBetweenLooksNs);
    (void)wait_until(device, look_ns, [] { return false; });
  }
}

}  // namespace portcullis::pmd
