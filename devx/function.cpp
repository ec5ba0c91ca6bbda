// SPDX-License-Identifier: BSD-3-Clause
#include "devx/function.hpp"

#include <array>
#include <utility>

#include "pmd/capabilities.hpp"
#include "pmd/events.hpp"
#include "pmd/function_commands.hpp"
#include "prm/eqe.hpp"

namespace portcullis::devx {

Function::Function(KeptNic& nic, const Device& device, LogSink log)
    : nic_(&nic),
      log_(std::move(log)),
      arena_(*device.dma),
      context_{.device = device, .arena = &arena_, .caps = {}, .is_kept = true} {}

Function::~Function() = default;

Result<std::unique_ptr<Function>> Function::open(KeptNic& nic, const Device& device,
                                                 const FunctionOptions& options) {
  std::unique_ptr<Function> function(new Function(nic, device, options.log));
  PORTCULLIS_TRY(function->bring_up(options));
  return function;
}

Result<void> Function::bring_up(const FunctionOptions& options) {
  Provider& provider = nic_->provider();
  PORTCULLIS_TRY_ASSIGN(channel_, Channel::create(provider, nic_->memory(), context_.device.clock));
  context_.commands =
      options.present_commands ? &options.present_commands(*channel_) : channel_.get();
  context_.uars = channel_.get();
  firmware_version_ = provider.firmware_version();
  PORTCULLIS_TRY_ASSIGN(context_.caps, pmd::read_capabilities(*context_.commands));
  PORTCULLIS_TRY_ASSIGN(board_id_, pmd::read_board_id(*context_.commands));
  PORTCULLIS_TRY_ASSIGN(context_.eqn, provider.eqn());
  PORTCULLIS_TRY_ASSIGN(auto uar, pmd::Uar::create(context_));
  uar_.emplace(std::move(uar));
  context_.uar = &*uar_;
  return {};
}

Result<void> Function::poll() {
  take_events();
  if (nic_->provider().is_lost())
    lose("the kernel driver has told that the device is broken, or has taken it away");
  return condition();
}

Result<void> Function::condition() const {
  if (why_lost_.empty()) return {};
  return fail(Errc::DeviceFailed, why_lost_);
}

std::optional<pmd::Event> Function::next_event() {
  take_events();
  if (pending_events_.empty()) return std::nullopt;
  const pmd::Event event = pending_events_.front();
  pending_events_.pop_front();
  return event;
}

void Function::take_events() {
  constexpr std::size_t kMostInOneGo = 256;
  std::array<std::byte, prm::kEqeBytes> eqe{};
  for (std::size_t i = 0; i < kMostInOneGo && nic_->provider().next_event(eqe); ++i) {
    if (pending_events_.size() < kMostPendingEvents) {
      pending_events_.push_back(pmd::decode_event(eqe));
    } else {
      ++events_lost_;
    }
  }
}

void Function::lose(std::string why) {
  if (!why_lost_.empty()) return;
  why_lost_ = std::move(why);
  channel_->refuse_all(why_lost_);
}

}  // namespace portcullis::devx
