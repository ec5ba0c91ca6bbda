// SPDX-License-Identifier: BSD-3-Clause
#include "devx/function.hpp"

#include <string>
#include <utility>

#include "base/clock.hpp"
#include "pmd/capabilities.hpp"

namespace portcullis::devx {
namespace {

void pause_briefly(void* /*context*/, std::uint64_t /*until_ns*/) noexcept {
  __builtin_ia32_pause();
}

}  // namespace

/// What is the kernel's alone to do.
class Function::Kept final : public PciFunction {
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

Function::Function(std::unique_ptr<Provider> provider, std::string description)
    : provider_(std::move(provider)),
      kept_(std::make_unique<Kept>()),
      space_(*provider_),
      arena_(space_),
      context_{.device = {.bar = {},
                          .dma = &space_,
                          .function = kept_.get(),
                          .clock = Clock::wall(),
                          .relax = Relax(&pause_briefly, nullptr),
                          .description = std::move(description)},
               .commands = nullptr,
               .arena = &arena_,
               .caps = {}} {}

Function::~Function() = default;

Result<std::unique_ptr<Function>> Function::open(std::unique_ptr<Provider> provider,
                                                 std::string description) {
  std::unique_ptr<Function> function(new Function(std::move(provider), std::move(description)));
  PORTCULLIS_TRY(function->bring_up());
  return function;
}

Result<void> Function::bring_up() {
  PORTCULLIS_TRY_ASSIGN(channel_, Channel::create(*provider_, space_, context_.device.clock));
  context_.commands = channel_.get();
  context_.uars = channel_.get();
  PORTCULLIS_TRY_ASSIGN(context_.caps, pmd::read_capabilities(*channel_));
  PORTCULLIS_TRY_ASSIGN(context_.eqn, provider_->eqn());
  PORTCULLIS_TRY_ASSIGN(auto uar, pmd::Uar::create(context_));
  uar_.emplace(std::move(uar));
  context_.uar = &*uar_;
  return {};
}

}  // namespace portcullis::devx
