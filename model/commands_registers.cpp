// SPDX-License-Identifier: BSD-3-Clause
//
// ACCESS_REG: the registers of a function and its port (mlx5/core/port.c). A write answers with the
// register as it then is: rdma-core's tests read PAOS by a write that changes nothing.
#include <algorithm>
#include <array>
#include <bit>

#include "model/commands.hpp"
#include "model/core.hpp"
#include "model/port_limits.hpp"
#include "model/register_access.hpp"
#include "prm/enums.hpp"
#include "prm/ethernet_registers.hpp"
#include "prm/management_registers.hpp"
#include "prm/module_registers.hpp"
#include "prm/port_registers.hpp"

namespace portcullis::model::commands {
namespace {

using Access = RegisterAccess;
using registers::bad_param;
using registers::check_port;
using registers::kBadEndianness;
using registers::kBadMtu;
using registers::kBadOpMod;
using registers::kBadStatus;
using registers::kNoSuchRegister;
using registers::kReadOnly;

/// Before INIT_HCA the one register of bring-up, and a PF's alone (mlx5_core: set_hca_ctrl).
Verdict host_endianness(Core& core, const Access& access) {
  using Data = prm::register_host_endianness;
  if (core.capabilities.is_virtual_function()) return bad_param(kNoSuchRegister);
  if (access.write && prm::ConstView<Data>::at(access.in).get<"he">() != prm::kHostLittleEndian)
    return bad_param(kBadEndianness);
  static_cast<void>(prm::View<Data>::at(access.out).try_set<"he">(prm::kHostLittleEndian));
  return {};
}

Verdict paos(Core& core, const Access& access) {
  if (const Verdict verdict = check_port<prm::paos_reg>(access); !verdict.ok()) return verdict;
  const auto in = prm::ConstView<prm::paos_reg>::at(access.in);
  if (access.write && in.get<"ase">() != 0) {
    const std::uint32_t status = in.get<"admin_status">();
    if (status != prm::number(prm::PortStatus::UP) && status != prm::number(prm::PortStatus::DOWN))
      return bad_param(kBadStatus);
    core.link.set_admin(status == prm::number(prm::PortStatus::UP));
  }
  const auto status_of = [](bool up) {
    return prm::number(up ? prm::PortStatus::UP : prm::PortStatus::DOWN);
  };
  const auto out = prm::View<prm::paos_reg>::at(access.out);
  static_cast<void>(out.try_set<"admin_status">(status_of(core.port.admin_up)));
  static_cast<void>(out.try_set<"oper_status">(status_of(core.port.link_up)));
  return {};
}

/// The fastest of `speeds`, which are in the order of their bits; 0: none.
constexpr std::uint32_t fastest(std::uint32_t speeds) noexcept { return std::bit_floor(speeds); }

/// EDR over four lanes, or 100GBASE-CR4: bits of enum mlx5_ptys_width and mlx5_ptys_rate
/// (include/linux/mlx5/port.h) and of enum mlx5e_link_mode. What is written is what the link may
/// run at, and what it then runs at is the fastest of it; nothing here takes longer for it. What a
/// port cannot do is looked over, as is a store of none of what it can: a hypothesis.
Verdict ptys(Core& core, const Access& access) {
  constexpr std::uint32_t kWidth1x = 1, kWidth4x = 4, k100GbaseCr4 = 1U << 20;
  constexpr std::uint32_t kWidths = kWidth1x | kWidth4x;
  if (const Verdict verdict = check_port<prm::ptys_reg>(access); !verdict.ok()) return verdict;
  const auto in = prm::ConstView<prm::ptys_reg>::at(access.in);
  const auto out = prm::View<prm::ptys_reg>::at(access.out);
  const bool up = core.port.link_up;
  if (core.port.type == PortType::Ethernet) {
    out.set<"proto_mask", prm::number(prm::PtysProtocol::EN)>();
    out.put<"eth_proto_capability">(k100GbaseCr4);
    out.put<"eth_proto_admin">(k100GbaseCr4);
    out.put<"eth_proto_oper">(up ? k100GbaseCr4 : 0U);
    return {};
  }
  std::uint16_t& speeds = core.port.ib_speeds;
  const std::uint32_t wanted = in.get<"ib_proto_admin">() & PortSettings::kIbSpeeds;
  if (access.write && wanted != 0) speeds = static_cast<std::uint16_t>(wanted);
  out.set<"proto_mask", prm::number(prm::PtysProtocol::IB)>();
  out.set<"ib_link_width_capability", kWidths>();
  out.set<"ib_link_width_admin", kWidths>();
  out.set<"ib_proto_capability", PortSettings::kIbSpeeds>();
  out.put<"ib_proto_admin">(speeds);
  static_cast<void>(out.try_set<"ib_link_width_oper">(up ? kWidth4x : 0U));
  static_cast<void>(out.try_set<"ib_proto_oper">(up ? fastest(speeds) : 0U));
  return {};
}

Verdict pmtu(Core& core, const Access& access) {
  constexpr std::uint16_t kEthernetMax = 10218;  // with its headers, as a ConnectX-5 says
  const bool ethernet = core.port.type == PortType::Ethernet;
  const std::uint16_t most =
      ethernet ? static_cast<std::uint16_t>(core.behaviours.pmtu.value_or(kEthernetMax))
               : limits::kMtuBytes;
  if (const Verdict verdict = check_port<prm::pmtu_reg>(access); !verdict.ok()) return verdict;
  if (access.write) {
    const auto wanted =
        static_cast<std::uint16_t>(prm::ConstView<prm::pmtu_reg>::at(access.in).get<"admin_mtu">());
    if (wanted == 0 || wanted > most) return bad_param(kBadMtu);
    core.port.mtu = wanted;
  }
  const std::uint16_t now = core.port.mtu != 0 ? core.port.mtu
                            : ethernet         ? std::min(most, PortSettings::kEthernetFrameBytes)
                                               : most;
  const auto out = prm::View<prm::pmtu_reg>::at(access.out);
  out.put<"max_mtu">(most);
  out.put<"admin_mtu">(now);
  out.put<"oper_mtu">(now);
  return {};
}

Verdict pvlc(Core& core, const Access& access) {
  if (core.port.type != PortType::InfiniBand) return bad_param(kNoSuchRegister);
  if (access.write) return bad_param(kReadOnly);
  if (const Verdict verdict = check_port<prm::pvlc_reg>(access); !verdict.ok()) return verdict;
  const auto out = prm::View<prm::pvlc_reg>::at(access.out);
  out.set<"vl_hw_cap", limits::kVirtualLanes>();
  out.set<"vl_admin", limits::kVirtualLanes>();
  out.set<"vl_operational", limits::kVirtualLanes>();
  return {};
}

/// struct mlx5_reg_node_desc of mlx5_ib: 64 bytes of text.
constexpr std::size_t kNodeDescriptionBytes = 64;

Verdict node_description(Core& core, const Access& access) {
  if (access.write)
    std::copy_n(access.in.begin(), kNodeDescriptionBytes, core.port.node_description.begin());
  std::ranges::copy(core.port.node_description, access.out.begin());
  return {};
}

struct Register {
  prm::RegisterId id;
  std::size_t bytes;
  Stage needed;
  Verdict (*access)(Core& core, const Access& access);
};

constexpr prm::RegisterId id_of(prm::EthernetRegisterId id) {
  return prm::RegisterId{prm::number(id)};
}

constexpr prm::RegisterId id_of(prm::ManagementRegisterId id) {
  return prm::RegisterId{prm::number(id)};
}

constexpr prm::RegisterId id_of(prm::ModuleRegisterId id) {
  return prm::RegisterId{prm::number(id)};
}

constexpr std::array kRegisters{
    Register{prm::RegisterId::HOST_ENDIANNESS, prm::register_host_endianness::bytes,
             Stage::BootPages, &host_endianness},
    Register{prm::RegisterId::PAOS, prm::paos_reg::bytes, Stage::Initialised, &paos},
    Register{prm::RegisterId::PTYS, prm::ptys_reg::bytes, Stage::Initialised, &ptys},
    Register{prm::RegisterId::PMTU, prm::pmtu_reg::bytes, Stage::Initialised, &pmtu},
    Register{prm::RegisterId::PVLC, prm::pvlc_reg::bytes, Stage::Initialised, &pvlc},
    Register{prm::RegisterId::NODE_DESC, kNodeDescriptionBytes, Stage::Initialised,
             &node_description},
    Register{id_of(prm::EthernetRegisterId::PFCC), prm::pfcc_reg::bytes, Stage::Initialised,
             &registers::pfcc},
    Register{id_of(prm::EthernetRegisterId::PPLR), prm::pplr_reg::bytes, Stage::Initialised,
             &registers::pplr},
    Register{id_of(prm::EthernetRegisterId::PBMC), prm::pbmc_reg::bytes, Stage::Initialised,
             &registers::pbmc},
    Register{id_of(prm::EthernetRegisterId::PPTB), prm::pptb_reg::bytes, Stage::Initialised,
             &registers::pptb},
    Register{id_of(prm::EthernetRegisterId::QPTS), prm::qpts_reg::bytes, Stage::Initialised,
             &registers::qpts},
    Register{id_of(prm::EthernetRegisterId::QPDPM), prm::qpdpm_reg::bytes, Stage::Initialised,
             &registers::qpdpm},
    Register{id_of(prm::EthernetRegisterId::QETCR), prm::qetc_reg::bytes, Stage::Initialised,
             &registers::qetcr},
    Register{id_of(prm::EthernetRegisterId::QTCT), prm::qtct_reg::bytes, Stage::Initialised,
             &registers::qtct},
    Register{id_of(prm::EthernetRegisterId::PPLM), prm::pplm_reg::bytes, Stage::Initialised,
             &registers::pplm},
    Register{id_of(prm::EthernetRegisterId::PCAM), prm::pcam_reg::bytes, Stage::Initialised,
             &registers::pcam},
    Register{id_of(prm::EthernetRegisterId::QCAM), prm::qcam_reg::bytes, Stage::Initialised,
             &registers::qcam},
    Register{id_of(prm::ManagementRegisterId::MFRL), prm::mfrl_reg::bytes, Stage::Initialised,
             &registers::mfrl},
    Register{id_of(prm::ManagementRegisterId::MCAM), prm::mcam_reg::bytes, Stage::Initialised,
             &registers::mcam},
    Register{id_of(prm::ManagementRegisterId::MTCAP), prm::mtcap_reg::bytes, Stage::Initialised,
             &registers::mtcap},
    Register{id_of(prm::ManagementRegisterId::MTMP), prm::mtmp_reg::bytes, Stage::Initialised,
             &registers::mtmp},
    Register{id_of(prm::ManagementRegisterId::MLCR), prm::mlcr_reg::bytes, Stage::Initialised,
             &registers::mlcr},
    Register{id_of(prm::ModuleRegisterId::PMLP), prm::pmlp_reg::bytes, Stage::Initialised,
             &registers::pmlp},
    Register{id_of(prm::ModuleRegisterId::PMAOS), prm::pmaos_reg::bytes, Stage::Initialised,
             &registers::pmaos},
    Register{id_of(prm::ModuleRegisterId::MCIA), prm::mcia_reg::bytes, Stage::Initialised,
             &registers::mcia},
    Register{prm::RegisterId::PPCNT, prm::ppcnt_reg::bytes, Stage::Initialised, &registers::ppcnt},
};

constexpr std::size_t kLongestRegister = std::ranges::max(kRegisters, {}, &Register::bytes).bytes;

const Register* find_register(prm::RegisterId id) noexcept {
  const auto found = std::ranges::find(kRegisters, id, &Register::id);
  return found == kRegisters.end() ? nullptr : &*found;
}

}  // namespace

Verdict access_register(Core& core,
                        const Request<prm::access_register_in, prm::access_register_out>& request) {
  const auto id = prm::RegisterId{static_cast<std::uint16_t>(request.in.get<"register_id">())};
  const Register* const found = find_register(id);
  if (found == nullptr || !core.reached(found->needed)) return bad_param(kNoSuchRegister);
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  const bool write = op_mod == prm::number(prm::AccessRegisterOpMod::WRITE);
  if (!write && op_mod != prm::number(prm::AccessRegisterOpMod::READ)) return bad_param(kBadOpMod);
  return registers::access(core, id, write, request.in_tail, request.out_tail, request.slot);
}

}  // namespace portcullis::model::commands

namespace portcullis::model::registers {

bool is_known(prm::RegisterId id) noexcept { return commands::find_register(id) != nullptr; }

Verdict access(Core& core, prm::RegisterId id, bool write, std::span<const std::byte> in,
               std::span<std::byte> out, std::uint32_t slot) {
  const commands::Register* const found = commands::find_register(id);
  if (found == nullptr) return bad_param(kNoSuchRegister);
  // Snabb's connectx.lua sends of a register that it reads what names the port (get_port_status),
  // and takes nothing back of one that it writes (set_port_mtu).
  std::array<std::byte, commands::kLongestRegister> whole_in{}, whole_out{};
  std::ranges::copy(in.first(std::min(in.size(), found->bytes)), whole_in.begin());
  const auto data = std::span<std::byte>(whole_out).first(found->bytes);
  const Verdict verdict =
      found->access(core, {write, std::span(whole_in).first(found->bytes), data, slot});
  put_in_tail(out, 0, data);
  return verdict;
}

}  // namespace portcullis::model::registers
