// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/function_commands.hpp"

#include <cstddef>
#include <string>

#include "pmd/access_register.hpp"
#include "prm/enums.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {

using prm::Opcode;

Result<void> enable_hca(CommandChannel& commands) {
  prm::Buffer<prm::enable_hca_in> in;
  in.set<"opcode", Opcode::ENABLE_HCA>();
  PORTCULLIS_TRY(run<prm::enable_hca_out>(commands, in));
  return {};
}

Result<void> negotiate_issi(CommandChannel& commands) {
  prm::Buffer<prm::query_issi_in> query;
  query.set<"opcode", Opcode::QUERY_ISSI>();
  PORTCULLIS_TRY_ASSIGN(const auto offered, run<prm::query_issi_out>(commands, query));
  const std::uint32_t supported = offered.get<"supported_issi_dw0">();
  if ((supported >> prm::kIssi & 1) == 0)
    return fail(Errc::Unsupported, "the device supports ISSI mask " + std::to_string(supported) +
                                       "; ISSI " + std::to_string(prm::kIssi) + " is needed");
  prm::Buffer<prm::set_issi_in> set;
  set.set<"opcode", Opcode::SET_ISSI>().set<"current_issi", prm::kIssi>();
  PORTCULLIS_TRY(run<prm::set_issi_out>(commands, set));
  return {};
}

Result<void> set_host_endianness(CommandChannel& commands) {
  prm::Buffer<prm::register_host_endianness> data;
  data.set<"he", prm::kHostLittleEndian>();
  return write_register(commands, prm::RegisterId::HOST_ENDIANNESS, data);
}

Result<void> init_hca(CommandChannel& commands) {
  prm::Buffer<prm::init_hca_in> in;
  in.set<"opcode", Opcode::INIT_HCA>();
  PORTCULLIS_TRY(run<prm::init_hca_out>(commands, in));
  return {};
}

Result<std::string> read_board_id(CommandChannel& commands) {
  prm::Buffer<prm::query_adapter_in> in;
  in.set<"opcode", Opcode::QUERY_ADAPTER>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_adapter_out>(commands, in));
  std::string id;
  for (const std::byte b : out.bytes<"query_adapter_struct.vsd_contd_psid">()) {
    const char c = std::to_integer<char>(b);
    if (c < ' ' || c > '~') break;  // padded with zeros; the device's bytes are not trusted
    id += c;
  }
  return id;
}

Result<void> enable_roce_on_vport(CommandChannel& commands) {
  prm::Buffer<prm::modify_nic_vport_context_in> in;
  in.set<"opcode", Opcode::MODIFY_NIC_VPORT_CONTEXT>()
      .set<"field_select.roce_en", 1u>()
      .set<"nic_vport_context.roce_en", 1u>();
  PORTCULLIS_TRY(run<prm::modify_nic_vport_context_out>(commands, in));
  return {};
}

Result<void> teardown_hca(CommandChannel& commands) {
  prm::Buffer<prm::teardown_hca_in> in;
  in.set<"opcode", Opcode::TEARDOWN_HCA>().set<"profile", prm::TeardownProfile::GRACEFUL_CLOSE>();
  PORTCULLIS_TRY(run<prm::teardown_hca_out>(commands, in));
  return {};
}

Result<void> disable_hca(CommandChannel& commands) {
  prm::Buffer<prm::disable_hca_in> in;
  in.set<"opcode", Opcode::DISABLE_HCA>();
  PORTCULLIS_TRY(run<prm::disable_hca_out>(commands, in));
  return {};
}

}  // namespace portcullis::pmd
