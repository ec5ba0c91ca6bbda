// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/port_mac.hpp"

#include "pmd/command_channel.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"

namespace portcullis::pmd {

Result<Mac> port_mac(const Context& context) {
  constexpr Mac kLocal{{0x02, 0x00, 0x00, 0x00, 0x00, 0x01}};
  prm::Buffer<prm::query_nic_vport_context_in> in;
  in.put<"opcode">(static_cast<std::uint64_t>(prm::Opcode::QUERY_NIC_VPORT_CONTEXT));
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run<prm::query_nic_vport_context_out>(*context.commands, in));
  std::uint64_t number =
      std::uint64_t{out.get<"nic_vport_context.permanent_address.mac_addr_47_32">()} << 32 |
      out.get<"nic_vport_context.permanent_address.mac_addr_31_0">();
  if (number == 0) return kLocal;
  Mac mac;
  for (std::size_t i = mac.octets.size(); i-- > 0; number >>= 8)
    mac.octets[i] = static_cast<std::uint8_t>(number);
  return mac;
}

}  // namespace portcullis::pmd
