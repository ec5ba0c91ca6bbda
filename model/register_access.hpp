// SPDX-License-Identifier: BSD-3-Clause
//
// A register as ACCESS_REG reads and writes it (model/commands_registers.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/verdict.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class Core;

struct RegisterAccess {
  bool write = false;
  std::span<const std::byte> in;
  std::span<std::byte> out;
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
