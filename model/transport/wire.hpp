// SPDX-License-Identifier: BSD-3-Clause
//
// The Ethernet, or the InfiniBand subnet, between ports. A frame goes to the port that owns its
// destination address, the sender's own included, in the order in which frames were sent, and
// copies of it to those that listen; what no port wants is lost, as on a switch without that host,
// and so is what a port sends or should receive while its link is down. Frames live in a fixed
// pool, so nothing is allocated for a packet; the sender's scheduler carries each to its instant.
// Faults (model::FrameFaultRule) are the sender's: each port has its own.
//
// A frame for the other end of the link alone (PAUSE) goes to every other port: the wire has no
// buffers, so whoever sends must stop.
//
// One thread: models that share a wire share its event loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/model.hpp"
#include "model/scheduler.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/frame_faults.hpp"

namespace portcullis::model {

class Pacer;
class PcapWriter;

/// Whoever stands behind a port.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// Whether `frame` is for this port, by its destination MAC address or LID.
  [[nodiscard]] virtual bool owns(std::span<const std::byte> frame) const noexcept = 0;
  /// Whether the port wants a copy of what it does not own: frames for a group, or for anybody.
  /// Asked of those alone that said so (set_listening).
  [[nodiscard]] virtual bool listens(std::span<const std::byte> /*frame*/) const noexcept {
    return false;
  }
  /// `frame` is valid during the call only. The sink may send, which never delivers at once.
  virtual void receive(std::span<const std::byte> frame) = 0;
  /// The same of a frame that it sent itself, from a TIS of this transport domain (0: from none).
  virtual void receive_back(std::span<const std::byte> frame, std::uint32_t /*domain*/) {
    receive(frame);
  }
  /// A frame is free again after wait_for_room().
  virtual void room() = 0;
};

/// Which ports a frame may come to.
enum class Way : std::uint8_t {
  Anywhere,  // whoever owns its address, the sender too
  Back,      // the sender, whatever the address and the link (ads.fl)
  Away,      // whoever owns its address but the sender
  Nowhere,   // it is lost
};

class Wire {
 public:
  using PortId = std::uint32_t;
  static constexpr std::uint32_t kFrames = 512;
  /// Frames that requests leave free, so that whatever is delivered can be answered.
  static constexpr std::uint32_t kReserve = 8;

  explicit Wire(std::uint64_t latency_ns = 0, PortType port_type = PortType::Ethernet);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// A new port. `sink`, `scheduler` and `counters` must stay until detach(); what happens to its
  /// frames is counted as sent, received and dropped.
  [[nodiscard]] PortId attach(FrameSink& sink, Scheduler& scheduler, Counters& counters);
  /// The same, but for the way out of this wire: it gets every frame that no other port owns, and
  /// none that it sent itself. One at most.
  [[nodiscard]] PortId attach_uplink(FrameSink& sink, Scheduler& scheduler, Counters& counters);
  /// What every port on this wire speaks.
  [[nodiscard]] PortType port_type() const noexcept { return port_type_; }
  /// Up when attached. Frames that a port sends to itself by force do not need its link, and those
  /// of subnet management pass as soon as it is trained.
  void set_link(PortId port, bool up, bool is_trained = false) noexcept {
    ports_[port].link_up = up;
    ports_[port].is_trained = up || is_trained;
  }
  /// Whether FrameSink::listens is to be asked.
  void set_listening(PortId port, bool on) noexcept;
  /// The port is gone; frames under way from it are lost.
  void detach(PortId port);
  /// Frames under way from this port are lost: its scheduler was cleared.
  void forget_frames(PortId port) noexcept;
  /// Every frame of the port goes to `writer` (null: none): those it sends, as built, before
  /// faults, and those that other ports send to it, as received.
  void capture(PortId port, std::shared_ptr<PcapWriter> writer);
  void inject(PortId port, const FrameFaultRule& rule);
  /// What decides for rules with a probability; another for each port.
  void seed_faults(PortId port, std::uint64_t seed) noexcept;
  /// Who says how long a frame of the port is under way, instead of the wire's latency (null: the
  /// latency does).
  void set_pacer(PortId port, Pacer* pacer) noexcept { ports_[port].pacer = pacer; }

  /// Whether the way out of this wire is full: then there is room for no request, and what answers
  /// others goes on.
  void set_full(bool full);
  /// True when a request may be sent now.
  [[nodiscard]] bool has_room() const noexcept { return !is_full_ && can_answer(); }
  /// True when something may come in by the uplink, and be answered.
  [[nodiscard]] bool can_answer() const noexcept { return free_.size() > kReserve; }
  /// How many requests may be sent now.
  [[nodiscard]] std::size_t room() const noexcept {
    return has_room() ? free_.size() - kReserve : 0;
  }
  /// True when anything may be sent now.
  [[nodiscard]] bool has_frame() const noexcept { return !free_.empty(); }
  /// The sink's room() is called once, when has_room() holds again.
  void wait_for_room(PortId port) { ports_[port].waiting = true; }
  /// Room for one frame of kMaxFrameBytes; the same room until send(). has_frame() must hold.
  [[nodiscard]] std::span<std::byte> next_buffer() noexcept { return bytes_of(free_.back()); }
  /// Sends the first `length` bytes of next_buffer(); of a send queue's frame with the transport
  /// domain of its TIS.
  void send(PortId port, std::size_t length, Way way = Way::Anywhere, std::uint32_t domain = 0);

  /// See shared_loop() of model/transport_port.hpp.
  [[nodiscard]] std::shared_ptr<EventLoop>& loop() noexcept { return loop_; }

 private:
  /// A frame that others overtake.
  struct Held {
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
    std::uint32_t overtaken_by = 0;  // more, before it goes
    std::uint64_t delay_ns = 0;
  };
  struct Port {
    FrameSink* sink = nullptr;  // null: detached
    Scheduler* scheduler = nullptr;
    Counters* counters = nullptr;
    FrameFaults faults;
    std::vector<Held> held;
    std::shared_ptr<PcapWriter> pcap;
    Pacer* pacer = nullptr;
    bool waiting = false;
    bool link_up = true;
    bool is_trained = true;
    bool listening = false;
  };
  struct Frame {
    std::uint32_t length = 0;
    std::uint32_t generation = 0;  // a task of an older one finds nothing
    PortId from = 0;
    std::uint32_t domain = 0;
    bool under_way = false;
    Way way = Way::Anywhere;
  };
  struct Buffer {
    alignas(64) std::array<std::byte, kMaxFrameBytes> bytes;
  };

  [[nodiscard]] std::span<std::byte> bytes_of(std::uint32_t slot) noexcept {
    return pool_[slot].bytes;
  }
  void hold(Port& sender, std::uint32_t slot, const Frame& frame, const FrameFate& fate);
  void overtake(Port& sender);
  void plan(Scheduler& scheduler, std::uint32_t slot, std::uint64_t delay_ns);
  void carry(std::uint32_t slot, const Frame& frame, std::uint64_t delay_ns);
  [[nodiscard]] bool passes(const Port& sender, std::span<const std::byte> bytes, Task task) const;
  static void arrive(void* wire, std::uint64_t argument);
  void deliver(const Frame& frame, std::span<const std::byte> bytes);
  void tell_link(const Frame& frame, std::span<const std::byte> bytes);
  void hand(Port& receiver, const Frame& frame, std::span<const std::byte> bytes);
  [[nodiscard]] bool wants_copy(const Port& port, const Frame& frame,
                                std::span<const std::byte> bytes) const noexcept;
  void tell_of_room();
  bool copy_to_listeners(const Frame& frame, std::span<const std::byte> bytes, const Port* owner);
  void release(std::uint32_t slot);
  /// Whether the link of `port` carries such a frame.
  [[nodiscard]] bool carries(const Port& port, std::span<const std::byte> bytes) const noexcept;
  [[nodiscard]] Port* destination(const Frame& frame, std::span<const std::byte> bytes) noexcept;

  std::uint64_t latency_ns_;
  PortType port_type_;
  std::shared_ptr<EventLoop> loop_;
  std::unique_ptr<Buffer[]> pool_;
  std::array<Frame, kFrames> frames_{};
  std::vector<std::uint32_t> free_;  // last in, first out: the warm buffer comes back
  std::vector<Port> ports_;
  std::optional<PortId> uplink_;
  bool has_listeners_ = false;
  bool is_full_ = false;
};

}  // namespace portcullis::model
