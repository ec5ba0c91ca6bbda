// SPDX-License-Identifier: BSD-3-Clause
//
// Q counters: what the queue pairs of a set met. What each counts is what Linux says of it
// (mlx5_ib, commits 0ad17a8f7fa0 and b339e0a39dc3, and hw_counters of NVIDIA's mlx5 counter guide):
// requests are messages, faults are packets, and those with retries count what did not exhaust
// them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "model/id_table.hpp"
#include "prm/counter_commands.hpp"
#include "prm/cqe.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// One set. Nothing here raises resp_local_qp_error.
struct QCounters {
#define PORTCULLIS_MODEL_MEMBER(name) std::uint32_t name = 0;
  PORTCULLIS_PRM_Q_COUNTERS(PORTCULLIS_MODEL_MEMBER)
#undef PORTCULLIS_MODEL_MEMBER

  /// An error completion of a send WQE, or of a receive WQE.
  void count_request_error(prm::CqeSyndrome syndrome) noexcept;
  void count_receive_error(prm::CqeSyndrome syndrome) noexcept;
  void describe(prm::View<prm::query_q_counter_out> out) const;
};

class QCounterTable {
 public:
  /// counter_set_id has eight bits, and 0 is no set: what its queue pairs met nobody asks for.
  static constexpr std::uint32_t kSets = 256;

  [[nodiscard]] std::optional<std::uint32_t> allocate();
  void give_back(std::uint32_t id);
  /// 0 does, so that a context may say "none".
  [[nodiscard]] bool exists(std::uint32_t id) const noexcept { return id == 0 || live_[id]; }
  [[nodiscard]] QCounters& at(std::uint32_t id) noexcept { return sets_[id]; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  void clear();

 private:
  std::array<QCounters, kSets> sets_{};
  std::array<bool, kSets> live_{};
  IdAllocator ids_{1, kSets};
  std::size_t count_ = 0;
};

}  // namespace portcullis::model
