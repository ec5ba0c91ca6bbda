// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that were received and that nobody has looked at: PacePoint::BeforeCheck. They belong to
// a QP number, not to a QP, so whoever has that number when a packet's time comes gets it. Those of
// one number keep their order. Only a paced model has any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "model/transport/frame.hpp"
#include "model/transport/pace.hpp"

namespace portcullis::model {

class Inbox {
 public:
  /// Who looks at a packet whose time has come.
  struct Sink {
    void (*fn)(void* context, const Packet& packet) = nullptr;
    void* context = nullptr;
  };

  Inbox(Pacer& pacer, Sink sink) noexcept : pacer_(&pacer), sink_(sink) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// False: the packet need not wait.
  [[nodiscard]] bool hold(const Packet& packet) {
    return pacer_->engaged() && packet.info().is_request() && keep(packet);
  }
  void clear() noexcept { queues_.clear(); }

 private:
  struct Held {
    std::uint32_t number = 0;
    bool released = false;
    Packet packet;
    std::vector<std::byte> payload;
    std::vector<std::byte> network;
  };

  bool keep(const Packet& packet);
  static void step_over(void* self, std::uint64_t qpn_and_number);
  void deliver(std::uint32_t qpn);

  Pacer* pacer_;
  Sink sink_;
  std::unordered_map<std::uint32_t, std::deque<Held>> queues_;
  std::uint32_t next_ = 0;
};

}  // namespace portcullis::model
