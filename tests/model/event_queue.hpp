// SPDX-License-Identifier: BSD-3-Clause
//
// An EQ of the mini driver: created with its own UAR page, polled by its owner bit.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "prm/eqe.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {

struct Event {
  prm::EventType type{};
  std::vector<std::byte> data;

  template <class L>
  [[nodiscard]] prm::ConstView<L> as() const {
    return prm::ConstView<L>::at(data);
  }
};

class EventQueue {
 public:
  static constexpr std::uint32_t kDefaultLogSize = 6;

  EventQueue(MiniDriver& driver, std::initializer_list<prm::EventType> types,
             std::uint32_t log_size = kDefaultLogSize);

  [[nodiscard]] std::uint32_t eqn() const { return eqn_; }
  [[nodiscard]] std::uint32_t uar() const { return uar_; }
  /// The next event, after one step of the device. The consumer index is not written.
  [[nodiscard]] std::optional<Event> poll();
  /// Writes the consumer index to the doorbell.
  void ring() const;
  /// Writes any value there.
  void ring_value(std::uint32_t value) const;
  /// The owner bit of an entry as it stands.
  [[nodiscard]] std::uint32_t owner(std::uint32_t index) const;

 private:
  MiniDriver& driver_;
  std::uint32_t log_size_;
  std::uint32_t uar_;
  std::uint32_t eqn_ = 0;
  std::uint32_t consumer_ = 0;
  DmaBuffer entries_;
};

/// CREATE_EQ, for tests that want it wrong.
[[nodiscard]] prm::Buffer<prm::create_eq_in> create_eq_command(std::uint32_t uar,
                                                               std::uint32_t log_size);

}  // namespace portcullis::model::testing
