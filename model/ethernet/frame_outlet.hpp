// SPDX-License-Identifier: BSD-3-Clause
//
// The port as send queues see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {

/// What became of a datagram.
enum class DatagramFate : std::uint8_t {
  Sent,
  NoRoom,   // as of next()
  Refused,  // its queue pair or its address does not allow it
};

class FrameOutlet {
 public:
  virtual ~FrameOutlet() = default;
  /// Room for one frame; empty when there is none, and somebody says when there is again
  /// (SendQueues::room).
  [[nodiscard]] virtual std::span<std::byte> next() = 0;
  /// The first `length` bytes of what next() gave go out.
  virtual void send(std::size_t length) = 0;
  /// A SEND of the underlay queue pair `qpn`.
  virtual DatagramFate send_datagram(std::uint32_t qpn, prm::ConstView<prm::mlx5_wqe_av> address,
                                     std::span<const std::byte> payload) = 0;
};

}  // namespace portcullis::model
