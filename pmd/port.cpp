// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/port.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <vector>

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

Result<void> set_port_admin(CommandChannel& commands, bool is_up) {
  prm::Buffer<prm::paos_reg> data;
  data.set<"local_port", 1u>();
  data.put<"admin_status">(is_up ? prm::PortStatus::UP : prm::PortStatus::DOWN);
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

namespace {

prm::Buffer<prm::pmtu_reg> pmtu_of_own_port() {
  prm::Buffer<prm::pmtu_reg> data;
  data.set<"local_port", 1u>();
  return data;
}

}  // namespace

Result<FrameLimits> query_frame_limits(CommandChannel& commands) {
  PORTCULLIS_TRY_ASSIGN(const auto found,
                        access_register(commands, prm::AccessRegisterOpMod::READ,
                                        prm::RegisterId::PMTU, pmtu_of_own_port()));
  return FrameLimits{static_cast<std::uint32_t>(found.get<"oper_mtu">()),
                     static_cast<std::uint32_t>(found.get<"max_mtu">())};
}

Result<void> set_frame_limit(CommandChannel& commands, std::uint32_t bytes) {
  auto data = pmtu_of_own_port();
  data.put<"admin_mtu">(bytes);
  PORTCULLIS_TRY(write_register(commands, prm::RegisterId::PMTU, data));
  prm::Buffer<prm::modify_nic_vport_context_in> in;
  in.set<"opcode", prm::Opcode::MODIFY_NIC_VPORT_CONTEXT>()
      .set<"field_select.mtu", 1u>()
      .put<"nic_vport_context.mtu">(bytes);
  PORTCULLIS_TRY(run<prm::modify_nic_vport_context_out>(commands, in));
  return {};
}

namespace {

/// mlx5_modify_nic_vport_mac_list of Linux: the list stands behind the context.
Result<void> set_address_list(CommandChannel& commands, prm::NvprtListType type,
                              std::span<const Mac> list) {
  constexpr std::size_t kFixed = prm::modify_nic_vport_context_in::bytes;
  prm::Buffer<prm::modify_nic_vport_context_in> in;
  in.set<"opcode", prm::Opcode::MODIFY_NIC_VPORT_CONTEXT>()
      .set<"field_select.addresses_list", 1u>();
  in.put<"nic_vport_context.allowed_list_type">(type);
  in.put<"nic_vport_context.allowed_list_size">(static_cast<std::uint32_t>(list.size()));
  std::vector<std::byte> message(kFixed + list.size() * prm::mac_address_layout::bytes);
  std::copy_n(in.all().data(), kFixed, message.data());
  constexpr std::size_t kBeforeMac = 2;
  std::byte* at = message.data() + kFixed + kBeforeMac;
  for (const Mac& mac : list) {
    std::memcpy(at, mac.octets.data(), mac.octets.size());
    at += prm::mac_address_layout::bytes;
  }
  std::array<std::byte, prm::modify_nic_vport_context_out::bytes> answer{};
  return commands.execute(message, answer, SlotClass::Common, commands.default_deadline_ns());
}

}  // namespace

Result<void> announce_address(CommandChannel& commands, const Mac& mac) {
  return set_address_list(commands, prm::NvprtListType::UC, std::span(&mac, 1));
}

Result<void> listen_to_groups(CommandChannel& commands, std::span<const Mac> groups) {
  return set_address_list(commands, prm::NvprtListType::MC, groups);
}

/// None: no packet of RoCE fits. Where nobody knows how long the frames are, any does.
static std::optional<prm::QpcMtu> greatest_fitting(std::uint32_t limit, prm::QpcMtu most) noexcept {
  using enum prm::QpcMtu;
  for (const prm::QpcMtu each : {MTU_4096, MTU_2048, MTU_1024, MTU_512, MTU_256})
    if (each <= most && (limit == 0 || frame_bytes(each) <= limit)) return each;
  return std::nullopt;
}

prm::QpcMtu fitting_path_mtu(const Context& context, prm::QpcMtu most) noexcept {
  return greatest_fitting(context.frame_bytes, most).value_or(prm::QpcMtu::MTU_256);
}

Result<void> check_path_mtu(const Context& context, prm::QpcMtu mtu) {
  const std::uint32_t limit = context.frame_bytes;
  if (limit == 0 || frame_bytes(mtu) <= limit) return {};
  const auto fits = greatest_fitting(limit, prm::QpcMtu::MTU_4096);
  return fail(Errc::InvalidArgument,
              fmt::format("path MTU {}: its packets are up to {} bytes and the port's frames {} "
                          "(register PMTU); {} accepted",
                          prm::bytes_of(mtu), frame_bytes(mtu), limit,
                          fits ? fmt::format("at most {} is", prm::bytes_of(*fits)) : "none is"));
}

}  // namespace portcullis::pmd
