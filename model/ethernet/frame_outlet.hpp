// SPDX-License-Identifier: BSD-3-Clause
//
// The port as send queues see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "prm/view.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {

/// A SEND of an underlay queue pair.
struct UnderlayDatagram {
  std::uint32_t qpn = 0;
  prm::ConstView<prm::mlx5_wqe_av> address;
  std::span<const std::byte> payload;
  bool is_solicited = false;
};

/// Who sends a frame, as far as flow tables ask.
struct FrameSender {
  std::uint32_t sqn = 0;
  std::uint32_t metadata = 0;  // flow_table_metadata of the WQE
};

class FrameOutlet {
 public:
  virtual ~FrameOutlet() = default;
  /// Room for one frame; empty when there is none, and somebody says when there is again
  /// (SendQueues::room).
  [[nodiscard]] virtual std::span<std::byte> next() = 0;
  /// The other end of the link has stopped what `frame` would go as; somebody says when it has not
  /// any more (SendQueues::room). `priority` is that of its queue, for a frame without a tag.
  [[nodiscard]] virtual bool is_paused(std::span<const std::byte> /*frame*/,
                                       std::uint8_t /*priority*/) const {
    return false;
  }
  /// What flow tables of what is sent make of the first `length` bytes of `room`: how long the
  /// frame there is now, or nothing when they do not let it go and it is over. Asked once of each
  /// frame, since they count.
  [[nodiscard]] virtual std::optional<std::size_t> steer(std::span<std::byte> /*room*/,
                                                         std::size_t length,
                                                         const FrameSender& /*sender*/) {
    return length;
  }
  /// The first `length` bytes of what next() gave go out, from a TIS of this transport domain.
  virtual void send(std::size_t length, std::uint32_t domain) = 0;
  /// It goes out as a packet of its own; next() must have given room. False: its queue pair or its
  /// address does not allow it.
  [[nodiscard]] virtual bool send_datagram(const UnderlayDatagram& datagram) = 0;
};

}  // namespace portcullis::model
