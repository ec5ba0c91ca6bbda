// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/infiniband_port.hpp"

#include <algorithm>

#include "prm/opcodes.hpp"
#include "prm/view.hpp"
#include "prm/vport_commands.hpp"

namespace portcullis::pmd {

Result<InfinibandPort> query_infiniband_port(CommandChannel& commands) {
  constexpr std::uint32_t kActive = 4;  // IB_PORT_ACTIVE of include/rdma/ib_verbs.h
  prm::Buffer<prm::query_hca_vport_context_in> in;
  in.put<"opcode">(prm::Opcode::QUERY_HCA_VPORT_CONTEXT);
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_hca_vport_context_out>(commands, in));
  return InfinibandPort{static_cast<std::uint16_t>(out.get<"hca_vport_context.lid">()),
                        out.get<"hca_vport_context.vport_state">() == kActive};
}

Result<InfinibandPort> wait_for_subnet(const Device& device, CommandChannel& commands,
                                       std::uint64_t until_ns) {
  constexpr std::uint64_t kBetweenLooksNs = 10 * kNsPerMs;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const InfinibandPort port, query_infiniband_port(commands));
    if (port.is_active && port.lid != 0) return port;
    const std::uint64_t now_ns = device.clock.now_ns();
    if (now_ns >= until_ns)
      return fail(Errc::Timeout,
                  "the InfiniBand port is not active: no subnet manager has given it a LID");
    (void)wait_until(device, std::min(until_ns, now_ns + kBetweenLooksNs), [] { return false; });
  }
}

}  // namespace portcullis::pmd
