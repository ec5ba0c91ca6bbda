// SPDX-License-Identifier: BSD-3-Clause
//
// A register as ACCESS_REG (model/commands_registers.cpp) and the tools' command interface
// (model/icmd.cpp) read and write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/verdict.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class Core;

struct RegisterAccess {
  bool write = false;
  std::span<const std::byte> in;
  std::span<std::byte> out;
  std::uint32_t slot = 0;  // of the command
};

namespace registers {

enum Refusal : std::uint32_t {
  kNoSuchRegister = 0x1101,
  kBadOpMod,
  kNoSuchPort,
  kBadStatus,
  kReadOnly,
  kBadMtu,
  kBadEndianness,
  kNoSuchGroup,
  kNotOffered,
  kBadBuffer,
  kBadPriority,
  kBadShare,
  kNoSuchModule,
  kNoSuchSensor,
};

[[nodiscard]] inline Verdict bad_param(std::uint32_t syndrome) {
  return refuse(prm::CommandStatus::BAD_PARAM_ERR, syndrome);
}

/// Registers of a port name it.
template <class L>
[[nodiscard]] Verdict check_port(const RegisterAccess& access) {
  if (prm::ConstView<L>::at(access.in).template get<"local_port">() != 1)
    return bad_param(kNoSuchPort);
  prm::View<L>::at(access.out).template put<"local_port">(std::uint8_t{1});
  return {};
}

/// Bit `bit` of a mask, counted from its end.
inline void set_bit(std::span<std::byte> mask, unsigned bit) {
  mask[mask.size() - 1 - bit / 8] |= std::byte{1} << bit % 8;
}

/// The registers that there are, in a mask of those from `first` on.
inline void list(std::span<const std::uint16_t> registers, std::uint16_t first,
                 std::span<std::byte> mask) {
  for (const std::uint16_t id : registers) set_bit(mask, static_cast<unsigned>(id - first));
}

// commands_registers.cpp
[[nodiscard]] bool is_known(prm::RegisterId id) noexcept;
/// Reads or writes register `id`, which is known; `in` and `out`, which may be the same bytes, have
/// its first bytes, or more than it has: what is not in `in` is zero. `slot` as in RegisterAccess.
[[nodiscard]] Verdict access(Core& core, prm::RegisterId id, bool write,
                             std::span<const std::byte> in, std::span<std::byte> out,
                             std::uint32_t slot);
// registers_management.cpp
[[nodiscard]] Verdict mfrl(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict mcam(Core& core, const RegisterAccess& access);
// registers_sensors.cpp
[[nodiscard]] Verdict mtcap(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict mtmp(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict mlcr(Core& core, const RegisterAccess& access);
// registers_module.cpp
[[nodiscard]] Verdict pmaos(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict pmlp(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict mcia(Core& core, const RegisterAccess& access);
// registers_ethernet.cpp
[[nodiscard]] Verdict pfcc(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict pplr(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict ppcnt(Core& core, const RegisterAccess& access);
// registers_priorities.cpp
[[nodiscard]] Verdict pbmc(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict pptb(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict qpts(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict qpdpm(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict qetcr(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict qtct(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict pplm(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict pcam(Core& core, const RegisterAccess& access);
[[nodiscard]] Verdict qcam(Core& core, const RegisterAccess& access);

}  // namespace registers
}  // namespace portcullis::model
