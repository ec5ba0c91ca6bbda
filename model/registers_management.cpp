// SPDX-License-Identifier: BSD-3-Clause
//
// Registers by which a card is managed: which there are (MCAM), and the reset that loads its
// firmware again (MFRL). They are a physical function's.
#include <array>

#include "model/core.hpp"
#include "model/register_access.hpp"
#include "prm/management_registers.hpp"
#include "prm/module_registers.hpp"

namespace portcullis::model::registers {
namespace {

/// By the driver and the PCI link, which is what a card has that is no server of its own: not by
/// firmware that takes over as it runs, which Linux asks for only where its bit is set
/// (mlx5_devlink_trigger_fw_live_patch of mlx5/core/devlink.c).
constexpr std::uint8_t kLevels = prm::number(prm::ResetLevel::RESET_LEVEL3);
/// The port goes down with it.
constexpr std::uint8_t kTypes = prm::number(prm::ResetType::RESET_TYPE_FULL_CHIP);

Verdict write_mfrl(Core& core, prm::ConstView<prm::mfrl_reg> in, std::uint32_t slot) {
  const bool starts = in.get<"pci_sync_for_fw_update_start">() != 0;
  const auto response = in.get<"pci_sync_for_fw_update_resp">();
  // A reset that nobody is asked about is a tool's (mstfwreset with --sync 0), not offered.
  const bool answers = response == prm::kResetAgreed || response == prm::kResetRefused;
  if (in.get<"reset_level">() != kLevels || in.get<"rst_type_sel">() != 0 || starts == answers)
    return bad_param(kNotOffered);
  if (!core.capabilities.hears_of_firmware_reset()) return bad_param(kNotOffered);
  return starts ? core.firmware_reset.start(slot)
                : core.firmware_reset.answer(response == prm::kResetAgreed);
}

}  // namespace

Verdict mfrl(Core& core, const RegisterAccess& access) {
  if (core.capabilities.is_virtual_function()) return bad_param(kNoSuchRegister);
  if (access.write) {
    const auto in = prm::ConstView<prm::mfrl_reg>::at(access.in);
    if (const Verdict verdict = write_mfrl(core, in, access.slot); !verdict.ok()) return verdict;
  }
  const auto out = prm::View<prm::mfrl_reg>::at(access.out);
  static_cast<void>(out.try_set<"reset_state">(prm::number(core.firmware_reset.state())));
  out.put<"reset_type">(kTypes);
  out.put<"reset_level">(kLevels);
  return {};
}

/// Of group 0, the registers from 0x9000 on; the groups that Linux asks for beside it are empty
/// (enum mlx5_mcam_reg_groups of device.h). Of the features that MFRL says what state it is in.
Verdict mcam(Core& core, const RegisterAccess& access) {
  constexpr std::uint32_t kGroups = 4;
  constexpr unsigned kResetState = 21;  // reset_state, from the end
  constexpr std::array kThere{
      prm::number(prm::ModuleRegisterId::MCIA),     prm::number(prm::ManagementRegisterId::MTCAP),
      prm::number(prm::ManagementRegisterId::MTMP), prm::number(prm::ManagementRegisterId::MLCR),
      prm::number(prm::ManagementRegisterId::MFRL), prm::number(prm::ManagementRegisterId::MCAM)};
  if (core.capabilities.is_virtual_function()) return bad_param(kNoSuchRegister);
  if (access.write) return bad_param(kReadOnly);
  const auto in = prm::ConstView<prm::mcam_reg>::at(access.in);
  const std::uint32_t group = in.get<"access_reg_group">();
  if (in.get<"feature_group">() != 0 || group >= kGroups) return bad_param(kNoSuchGroup);
  const auto out = prm::View<prm::mcam_reg>::at(access.out);
  static_cast<void>(out.try_set<"access_reg_group">(group));
  if (group == 0) list(kThere, 0x9000, out.bytes<"mng_access_reg_cap_mask">());
  set_bit(out.bytes<"mng_feature_cap_mask">(), kResetState);
  return {};
}

}  // namespace portcullis::model::registers
