// SPDX-License-Identifier: BSD-3-Clause
//
// The PCI function as the lease code sees it in a run: what ProofSpace is to memory. In a drain bus
// mastering may stay on and a reset may fail, and a mutant may say that it is off when it is not.
#pragma once

#include <cstdint>

#include "base/device.hpp"
#include "proof/adversary/deceit.hpp"

namespace portcullis::proof::adversary {

class ProofFunction final : public PciFunction {
 public:
  /// Both must outlive it.
  ProofFunction(PciFunction& function, Deceit& deceit) noexcept
      : function_(&function), deceit_(&deceit) {}

  [[nodiscard]] std::uint16_t vendor_id() const override { return function_->vendor_id(); }
  [[nodiscard]] std::uint16_t device_id() const override { return function_->device_id(); }
  [[nodiscard]] Result<void> set_bus_master(bool on) override {
    if (!deceit_->is_on || on) return function_->set_bus_master(on);
    deceit_->on_key_step();
    if (deceit_->refuses_bus_master) return fail(Errc::System, "bus mastering stays on");
    if (deceit_->lies(Mutant::BusMasterLeftOn)) return {};
    return function_->set_bus_master(on);
  }
  [[nodiscard]] Result<void> reset() override {
    if (deceit_->is_on && deceit_->refuses_reset)
      return fail(Errc::System, "the reset was made to fail");
    return function_->reset();
  }

 private:
  PciFunction* function_;
  Deceit* deceit_;
};

}  // namespace portcullis::proof::adversary
