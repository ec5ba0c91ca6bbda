// SPDX-License-Identifier: BSD-3-Clause
//
// The port of the model's wire behind which a socket lies: what no port here owns goes out, what
// comes in goes to the port that owns it.
#pragma once

#include <memory>
#include <span>

#include "model/hca_server/frame_channel.hpp"
#include "model/scheduler.hpp"
#include "model/transport/wire.hpp"

namespace portcullis::model {

class Uplink final : public FrameSink {
 public:
  /// `loop` is the one that the other ports of the wire run on. A reset of the function forgets
  /// what it had planned, but not what is on its way in here.
  Uplink(std::shared_ptr<Wire> wire, std::shared_ptr<EventLoop> loop,
         std::unique_ptr<FrameChannel> channel);
  ~Uplink() override;
  /// Faults of what comes in.
  void inject(std::span<const FrameFaultRule> rules, std::uint64_t seed);
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  /// Puts everything that came on the wire, as far as it has room.
  void take();
  [[nodiscard]] int fd() const noexcept { return channel_->fd(); }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override;
  void receive(std::span<const std::byte> frame) override;
  void room() override {}

 private:
  std::shared_ptr<Wire> wire_;
  std::unique_ptr<FrameChannel> channel_;
  Counters counters_;
  Scheduler scheduler_;
  Wire::PortId port_;
};

}  // namespace portcullis::model
