// SPDX-License-Identifier: BSD-3-Clause
//
// Registers about the transceiver behind the port, of which there is none: a socket is the wire.
// Drivers ask for them without asking a capability (mlx5_query_module_eeprom of mlx5/core/port.c,
// mcx_get_sffpage of OpenBSD's if_mcx.c, mlxcx_mac_txr_info of illumos).
#include "model/core.hpp"
#include "model/register_access.hpp"
#include "prm/module_registers.hpp"

namespace portcullis::model::registers {
namespace {

/// A lane's mapping is the module's number in the low byte (query of mlx5_query_module_num), and
/// its lane of sending and of receiving above (pmlp of mstflint's register_access_table.adb).
constexpr std::uint32_t mapping(std::uint32_t lane) { return lane << 24 | lane << 16; }

}  // namespace

Verdict pmlp(Core& /*core*/, const RegisterAccess& access) {
  constexpr std::uint8_t kLanes = 4;
  if (access.write) return bad_param(kReadOnly);
  if (const Verdict bad = check_port<prm::pmlp_reg>(access); !bad.ok()) return bad;
  const auto out = prm::View<prm::pmlp_reg>::at(access.out);
  out.put<"width">(kLanes);
  out.put<"lane0_module_mapping">(mapping(0));
  out.put<"lane1_module_mapping">(mapping(1));
  out.put<"lane2_module_mapping">(mapping(2));
  out.put<"lane3_module_mapping">(mapping(3));
  return {};
}

/// Of the one module that the lanes lead to; what is not plugged in can be switched by nobody.
Verdict pmaos(Core& /*core*/, const RegisterAccess& access) {
  if (access.write) return bad_param(kReadOnly);
  if (prm::ConstView<prm::pmaos_reg>::at(access.in).get<"module">() != 0)
    return bad_param(kNoSuchModule);
  const auto out = prm::View<prm::pmaos_reg>::at(access.out);
  static_cast<void>(out.try_set<"admin_status">(prm::kModuleEnabled));
  static_cast<void>(out.try_set<"oper_status">(prm::kModuleUnplugged));
  return {};
}

/// The register is answered and its status says that nothing is plugged in.
Verdict mcia(Core& /*core*/, const RegisterAccess& access) {
  if (access.write) return bad_param(kReadOnly);
  const auto in = prm::ConstView<prm::mcia_reg>::at(access.in);
  const auto out = prm::View<prm::mcia_reg>::at(access.out);
  static_cast<void>(out.try_set<"module">(in.get<"module">()));
  static_cast<void>(out.try_set<"i2c_device_address">(in.get<"i2c_device_address">()));
  static_cast<void>(out.try_set<"page_number">(in.get<"page_number">()));
  static_cast<void>(out.try_set<"device_address">(in.get<"device_address">()));
  static_cast<void>(out.try_set<"size">(in.get<"size">()));
  out.put<"status">(prm::kModuleNotConnected);
  return {};
}

}  // namespace portcullis::model::registers
