// SPDX-License-Identifier: BSD-3-Clause
//
// What the command channel, the UMR queue and the memory of a run have together: whom to tell when
// a key is about to be taken away, by whichever of them, what is made to fail, and which lie to
// tell the lease code while a mutant asks for one.
#pragma once

#include <cstdint>
#include <functional>

#include "proof/adversary/mutant.hpp"

namespace portcullis::proof::adversary {

struct Deceit {
  Mutant mutant = Mutant::None;
  bool is_on = false;  // during a fence; honest before and after
  /// Before the key step of a fence reaches the device.
  std::function<void()> on_key_step = [] {};
  /// When it has succeeded, as far as the lease code is told.
  std::function<void()> on_key_gone = [] {};
  /// Before a QP is reset, and before its number is given back.
  std::function<void(std::uint32_t qpn)> on_qp_reset = [](std::uint32_t) {};
  std::function<void(std::uint32_t qpn)> on_qp_destroyed = [](std::uint32_t) {};
  bool refuses_unmap = false;  // during this fence; no lie, it happens
  std::uint32_t unmaps_refused = 0;
  bool refuses_bus_master = false;  // to be off; the same
  bool refuses_reset = false;

  [[nodiscard]] bool lies(Mutant about) const noexcept { return is_on && mutant == about; }
};

}  // namespace portcullis::proof::adversary
