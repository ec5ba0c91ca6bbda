// SPDX-License-Identifier: BSD-3-Clause
//
// Who connects while somebody else has the device: is told EBUSY in the answer to the first
// message, and hung up on. Nothing here waits for them.
#pragma once

#include <cstddef>
#include <deque>

#include "base/unique_fd.hpp"

namespace portcullis::model::vfio_user {

class Strangers {
 public:
  /// Of more than that the first go without an answer.
  static constexpr std::size_t kMost = 16;

  void add(UniqueFd connection);
  /// Answers those that have asked by now.
  void serve();
  [[nodiscard]] std::size_t waiting() const noexcept { return connections_.size(); }

 private:
  std::deque<UniqueFd> connections_;
};

}  // namespace portcullis::model::vfio_user
