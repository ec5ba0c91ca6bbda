// SPDX-License-Identifier: BSD-3-Clause
//
// The port of the model's wire behind which sockets lie: what no port here owns goes out, what
// comes in goes to the port that owns it. Behind one socket lies the rest of the wire. Between
// several, and the wire, this is a bridge that learns: a frame goes where its address was heard
// last, everywhere else when nobody has said it yet or a group is meant. It knows no VLANs and no
// spanning tree: sockets that meet again elsewhere are a loop. It has no buffers, so a frame that
// stops who sends (PAUSE) goes to everybody. While a socket has more than its peer takes, the wire
// takes no requests: a port of a card sends no faster than its link, and what it were to send
// beyond that would be lost, or come after its sender's patience.
#pragma once

#include <poll.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/ethernet/mac_table.hpp"
#include "model/hca_server/frame_channel.hpp"
#include "model/scheduler.hpp"
#include "model/transport/wire.hpp"

namespace portcullis::model {

class Uplink final : public FrameSink {
 public:
  using Channels = std::vector<std::unique_ptr<FrameChannel>>;
  /// None, of none.
  [[nodiscard]] static Channels only(std::unique_ptr<FrameChannel> channel);

  /// `loop` is the one that the other ports of the wire run on. A reset of the function forgets
  /// what it had planned, but not what is on its way in here.
  Uplink(std::shared_ptr<Wire> wire, std::shared_ptr<EventLoop> loop,
         std::unique_ptr<FrameChannel> channel);
  /// More than one on an Ethernet wire alone.
  Uplink(std::shared_ptr<Wire> wire, std::shared_ptr<EventLoop> loop, Channels channels);
  ~Uplink() override;
  /// Faults of what comes in.
  void inject(std::span<const FrameFaultRule> rules, std::uint64_t seed);
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  /// Puts what came on the wire, as far as it has room, or where else it goes. True: there may be
  /// more, and others should have their turn first.
  bool take();
  /// What to wait for before take() is called again.
  [[nodiscard]] std::vector<pollfd> waits() const;
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override;
  void receive(std::span<const std::byte> frame) override;
  void room() override {}

 private:
  [[nodiscard]] bool take_one(std::size_t from);
  [[nodiscard]] bool is_bridge() const noexcept { return channels_.size() > 1; }
  [[nodiscard]] std::optional<std::size_t> way_of(std::size_t from,
                                                  std::span<const std::byte> frame);
  void tell_whether_full();
  void send(std::size_t from, std::optional<std::size_t> to, std::span<const std::byte> frame);

  std::shared_ptr<Wire> wire_;
  Channels channels_;
  MacTable addresses_;  // by channel; the wire's own are behind the last
  Counters counters_;
  Scheduler scheduler_;
  Wire::PortId port_;
};

}  // namespace portcullis::model
