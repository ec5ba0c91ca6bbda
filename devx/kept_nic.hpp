// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC that its kernel driver keeps, opened, with nothing made on it yet: to devx::Function what
// pmd::VfioFunction is to pmd::Hca. Its Device has memory and a clock; it has no BAR, and what is
// the kernel's alone to do, bus mastering and reset, is refused.
#pragma once

#include <memory>
#include <string>

#include "base/device.hpp"
#include "devx/memory_space.hpp"
#include "devx/provider.hpp"

namespace portcullis::devx {

class KeptNic {
 public:
  /// `description` says which device, as benchmarks print it.
  KeptNic(std::unique_ptr<Provider> provider, std::string description);
  KeptNic(const KeptNic&) = delete;
  KeptNic& operator=(const KeptNic&) = delete;
  ~KeptNic();

  /// Valid as long as this.
  [[nodiscard]] Device device();
  [[nodiscard]] Provider& provider() noexcept { return *provider_; }
  [[nodiscard]] const MemorySpace& memory() const noexcept { return memory_; }

 private:
  class Refused;

  std::unique_ptr<Provider> provider_;
  MemorySpace memory_;
  std::unique_ptr<Refused> refused_;
  std::string description_;
};

}  // namespace portcullis::devx
