// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/l2_table.hpp"

#include <utility>

#include "pmd/command_channel.hpp"
#include "pmd/inline_command.hpp"
#include "prm/ethernet_port_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {
namespace {

Result<void> delete_entry(CommandChannel& channel, std::uint32_t index, std::uint64_t deadline_ns) {
  prm::Buffer<prm::delete_l2_table_entry_in> in;
  in.put<"opcode">(prm::Opcode::DELETE_L2_TABLE_ENTRY).put<"table_index">(index);
  PORTCULLIS_TRY(run<prm::delete_l2_table_entry_out>(channel, in, deadline_ns));
  return {};
}

}  // namespace

Result<std::optional<L2TableEntry>> L2TableEntry::create(const Context& context,
                                                         std::uint32_t index, const Mac& mac) {
  if (context.caps.eswitch_manager == 0 || context.caps.log_max_l2_table == 0) return std::nullopt;
  prm::Buffer<prm::set_l2_table_entry_in> in;
  in.put<"opcode">(prm::Opcode::SET_L2_TABLE_ENTRY).put<"table_index">(index);
  in.put<"mac_address.mac_addr_47_32">(mac.number() >> 32);
  in.put<"mac_address.mac_addr_31_0">(mac.number() & 0xffffffff);
  PORTCULLIS_TRY(run<prm::set_l2_table_entry_out>(*context.commands, in));
  return L2TableEntry(ObjectHandle(*context.commands, index, delete_entry));
}

}  // namespace portcullis::pmd
