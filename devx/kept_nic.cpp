// SPDX-License-Identifier: BSD-3-Clause
#include "devx/kept_nic.hpp"

#include <utility>

namespace portcullis::devx {
namespace {

void pause_briefly(void* /*context*/, std::uint64_t /*until_ns*/) noexcept {
  __builtin_ia32_pause();
}

}  // namespace

/// What is the kernel's alone to do.
class KeptNic::Refused final : public PciFunction {
 public:
  [[nodiscard]] std::uint16_t vendor_id() const override { return 0; }
  [[nodiscard]] std::uint16_t device_id() const override { return 0; }
  [[nodiscard]] Result<void> set_bus_master(bool /*on*/) override {
    return fail(Errc::Unsupported, "bus mastering is the kernel driver's: it keeps this NIC");
  }
  [[nodiscard]] Result<void> reset() override {
    return fail(Errc::Unsupported, "a reset is the kernel driver's: it keeps this NIC");
  }
};

KeptNic::KeptNic(std::unique_ptr<Provider> provider, std::string description)
    : provider_(std::move(provider)),
      memory_(*provider_),
      refused_(std::make_unique<Refused>()),
      description_(std::move(description)) {}

KeptNic::~KeptNic() = default;

Device KeptNic::device() {
  return {.bar = {},
          .dma = &memory_,
          .function = refused_.get(),
          .clock = Clock::wall(),
          .relax = Relax(&pause_briefly, nullptr),
          .description = description_};
}

}  // namespace portcullis::devx
