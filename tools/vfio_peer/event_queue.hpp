// SPDX-License-Identifier: BSD-3-Clause
//
// An event queue with an MSI-X vector of its own, beside the one that the provider keeps for
// commands and page requests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "prm/eqe.hpp"
#include "tools/vfio_peer/device.hpp"

namespace portcullis::tools::vfio_peer {

struct EventCloser {
  void operator()(mlx5dv_devx_msi_vector* vector) const noexcept {
    mlx5dv_devx_free_msi_vector(vector);
  }
  void operator()(mlx5dv_devx_eq* eq) const noexcept { mlx5dv_devx_destroy_eq(eq); }
};

class EventQueue {
 public:
  [[nodiscard]] static Result<EventQueue> create(Device& device);

  [[nodiscard]] std::uint32_t number() const noexcept { return eqn_; }
  /// Waits for the vector, takes one event and arms the queue again. Timeout when no interrupt
  /// comes within `timeout_ms`, DeviceFailed when one comes without an event.
  [[nodiscard]] Result<prm::Buffer<prm::eqe>> wait(int timeout_ms);

 private:
  EventQueue() = default;
  void arm() const noexcept;

  std::unique_ptr<mlx5dv_devx_msi_vector, EventCloser> vector_;
  std::unique_ptr<mlx5dv_devx_eq, EventCloser> eq_;  // goes before its vector
  std::byte* uar_page_ = nullptr;
  std::uint32_t eqn_ = 0;
  std::uint32_t consumer_ = 0;
};

}  // namespace portcullis::tools::vfio_peer
