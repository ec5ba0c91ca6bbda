// SPDX-License-Identifier: BSD-3-Clause
//
// A send queue of the function by commands, on which a test sends short frames inline.
#pragma once

#include <cstdint>

#include "prm/ethernet_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {

class SmallSendQueue {
 public:
  static constexpr std::size_t kFrameBytes = 60;

  /// In RDY; `rate_index` is an entry of the table of rates.
  explicit SmallSendQueue(MiniDriver& driver, std::uint32_t rate_index = 0);

  /// A frame of UDP to the port's own address or to a group; rung for.
  void post(std::uint16_t dport, bool to_group = false);
  [[nodiscard]] Answer modify(prm::SqState from, prm::SqState to);
  /// RDY to RDY, as mlx5e_set_sq_maxrate gives it.
  [[nodiscard]] Answer change_rate(std::uint32_t rate_index);
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t cqn() const { return cqn_; }

 private:
  std::uint32_t create_cq();
  std::uint32_t create_tis();

  MiniDriver& driver_;
  DmaBuffer memory_;
  EventQueue eq_;
  std::uint32_t uar_ = 0, cqn_ = 0, number_ = 0;
  std::uint16_t posted_ = 0;
};

}  // namespace portcullis::model::testing
