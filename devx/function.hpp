// SPDX-License-Identifier: BSD-3-Clause
//
// A function that its kernel driver keeps, as the objects of pmd/ see it: a Context whose commands
// go by DevX, whose memory is umems, and whose UARs are mappings of their own. Nothing is brought
// up or reset here, the kernel did; on the hot path everything is as on a function of our own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/device.hpp"
#include "base/dma_memory.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "devx/channel.hpp"
#include "devx/kept_nic.hpp"
#include "pmd/context.hpp"
#include "pmd/function.hpp"
#include "pmd/uar.hpp"

namespace portcullis::devx {

struct FunctionOptions {
  LogSink log = {};
  /// As pmd::HcaOptions has it.
  std::function<pmd::CommandChannel&(pmd::CommandChannel& channel)> present_commands = {};
};

class Function final : public pmd::Function {
 public:
  /// Events kept for next_event(); the ones after are counted and lost.
  static constexpr std::size_t kMostPendingEvents = std::size_t{1} << 16;

  /// Reads the capabilities, takes a UAR. `nic` must outlive it; `device` is the NIC's, as the
  /// driver is to see it.
  [[nodiscard]] static Result<std::unique_ptr<Function>> open(KeptNic& nic, const Device& device,
                                                              const FunctionOptions& options = {});
  ~Function() override;

  [[nodiscard]] const pmd::Context& context() const noexcept override { return context_; }
  /// As the kernel tells it.
  [[nodiscard]] const std::string& firmware_version() const noexcept override {
    return firmware_version_;
  }
  [[nodiscard]] const std::string& board_id() const noexcept override { return board_id_; }
  [[nodiscard]] const LogSink& log() const noexcept override { return log_; }

  /// Asks the kernel whether it still believes in the device; takes the events it holds.
  [[nodiscard]] Result<void> poll() override;
  [[nodiscard]] Result<void> condition() const override;
  /// Of queue pairs and completion queues made here.
  [[nodiscard]] std::optional<pmd::Event> next_event() override;
  [[nodiscard]] std::uint32_t fence_slots_available() const noexcept override {
    return channel_->fence_slots_available();
  }
  void function_was_reset() override { lose("the function has been reset"); }

  [[nodiscard]] std::uint64_t events_lost() const noexcept { return events_lost_; }

 private:
  Function(KeptNic& nic, const Device& device, LogSink log);
  [[nodiscard]] Result<void> bring_up(const FunctionOptions& options);
  void take_events();
  void lose(std::string why);

  KeptNic* nic_;
  LogSink log_;
  std::string firmware_version_;
  std::string board_id_;
  std::string why_lost_;  // empty while it is believed
  std::deque<pmd::Event> pending_events_;
  std::uint64_t events_lost_ = 0;
  // In the order of bring-up: what the channel still holds goes before the memory it lies in.
  DmaArena arena_;
  std::unique_ptr<Channel> channel_;
  std::optional<pmd::Uar> uar_;
  pmd::Context context_;
};

}  // namespace portcullis::devx
