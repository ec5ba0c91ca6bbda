// SPDX-License-Identifier: BSD-3-Clause
//
// Wires of the model with the packet simulator between them: what a server sends to another goes
// out by its wire's uplink, through the simulator's switches, and in by the other's. Both live on
// one virtual clock, the models' event loop, which wakes the simulator whenever it has something
// to do. The simulator counts picoseconds and the loop nanoseconds, so a frame may come up to one
// nanosecond late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "late/ring.hpp"
#include "model/event_loop.hpp"
#include "model/scheduler.hpp"
#include "model/transport/wire.hpp"
#include "pfc/packet/live_fabric.hpp"

namespace portcullis::late {

/// A frame on its way from one server to another, or at its end. Times are the loop's.
struct Passage {
  enum class Fate : std::uint8_t { UnderWay, Arrived, Dropped };

  std::size_t from = 0;
  std::size_t to = 0;
  std::uint8_t opcode = 0;    // of the BTH
  std::uint8_t syndrome = 0;  // of the AETH, where there is one
  std::uint32_t dest_qpn = 0;
  std::uint32_t psn = 0;
  Fate fate = Fate::UnderWay;
  std::uint64_t handed_ns = 0;  // to the server's link
  std::uint64_t sent_ns = 0;    // its first bit left the server; known at its end
  std::uint64_t ended_ns = 0;
  std::uint64_t paused_ns = 0;  // in queues of switches while they were paused
};

class SwitchedWire {
 public:
  using Hears = std::function<void(const Passage&)>;

  /// Where server `i` of the ring is, and what it is called on Ethernet.
  struct Station {
    std::shared_ptr<model::Wire> wire;
    model::Mac mac{};
  };

  /// The fabric's time 0 is the loop's now. As LiveFabric::create().
  [[nodiscard]] static Result<std::unique_ptr<SwitchedWire>> create(
      const Ring& ring, const pfc::packet::RunOptions& options,
      std::shared_ptr<model::EventLoop> loop, std::vector<Station> stations);
  ~SwitchedWire();
  SwitchedWire(const SwitchedWire&) = delete;
  SwitchedWire& operator=(const SwitchedWire&) = delete;

  /// Hears of each frame that arrives, before its server does. May be empty.
  void on_arrival(Hears hears) { hears_ = std::move(hears); }
  /// In the order in which they were handed in. What was for no server is not among them.
  [[nodiscard]] const std::vector<Passage>& passages() const noexcept { return passages_; }
  /// What the fabric saw; ends it, so it carries nothing any more.
  [[nodiscard]] pfc::packet::RunReport finish();
  /// Of the loop's clock, in the fabric's units.
  [[nodiscard]] double fabric_us(std::uint64_t at_ns) const noexcept {
    return static_cast<double>(at_ns - begin_ns_) / 1000;
  }

 private:
  class Uplink;
  SwitchedWire(const Ring& ring, std::shared_ptr<model::EventLoop> loop,
               std::vector<Station> stations);

  [[nodiscard]] pfc::packet::Picoseconds fabric_now() const noexcept;
  void take(std::size_t from, std::span<const std::byte> frame);
  void on_guest(const pfc::packet::Guest& guest);
  void catch_up();
  void wake();
  static void woken(void* self, std::uint64_t argument);

  const Ring ring_;
  std::vector<Station> stations_;
  model::Scheduler scheduler_;
  std::uint64_t begin_ns_ = 0;
  std::vector<std::unique_ptr<Uplink>> uplinks_;
  std::vector<Passage> passages_;
  std::vector<std::vector<std::byte>> frames_;  // of passages_; empty once they ended
  Hears hears_;
  model::TimerId timer_;
  std::optional<pfc::packet::LiveFabric> fabric_;
};

}  // namespace portcullis::late
