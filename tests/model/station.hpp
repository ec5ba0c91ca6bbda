// SPDX-License-Identifier: BSD-3-Clause
//
// Another end of the model's wire, that sends and hears nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "model/port_settings.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/wire.hpp"
#include "model/transport_port.hpp"

namespace portcullis::model::testing {

class Station final : public FrameSink {
 public:
  explicit Station(Wire& wire)
      : wire_(&wire),
        scheduler_(shared_loop(wire, 1)),
        port_(wire.attach(*this, scheduler_, counters_)) {}
  ~Station() override { wire_->detach(port_); }

  [[nodiscard]] bool owns(std::span<const std::byte> /*frame*/) const noexcept override {
    return false;
  }
  void receive(std::span<const std::byte> /*frame*/) override {}
  void room() override {}

  /// Zeros behind the address.
  void send(const Mac& address, std::size_t bytes) {
    const auto frame = wire_->next_buffer().first(bytes);
    std::ranges::fill(frame, std::byte{0});
    std::ranges::copy(std::as_bytes(std::span(address)), frame.begin());
    wire_->send(port_, bytes);
  }
  /// Without a payload.
  void send_packet(const Path& path, const PacketHeader& header) {
    wire_->send(port_, FrameTemplate(path).finish(wire_->next_buffer(), header, 0));
  }

 private:
  Wire* wire_;
  Counters counters_;
  Scheduler scheduler_;
  Wire::PortId port_;
};

}  // namespace portcullis::model::testing
