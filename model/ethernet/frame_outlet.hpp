// SPDX-License-Identifier: BSD-3-Clause
//
// The port as send queues see it.
#pragma once

#include <cstddef>
#include <span>

namespace portcullis::model {

class FrameOutlet {
 public:
  virtual ~FrameOutlet() = default;
  /// Room for one frame; empty when there is none, and somebody says when there is again
  /// (SendQueues::room).
  [[nodiscard]] virtual std::span<std::byte> next() = 0;
  /// The first `length` bytes of what next() gave go out.
  virtual void send(std::size_t length) = 0;
};

}  // namespace portcullis::model
