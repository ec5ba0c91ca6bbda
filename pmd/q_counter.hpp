// SPDX-License-Identifier: BSD-3-Clause
//
// A Q counter set: what the queue pairs bound to it met. Names and meaning are the interface's own
// (struct mlx5_ifc_query_q_counter_out_bits of mlx5_ifc.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"
#include "prm/counter_commands.hpp"

namespace portcullis::pmd {

/// What a set has counted; wraps at 32 bits.
struct QCounterValues {
#define PORTCULLIS_PMD_MEMBER(field) std::uint32_t field = 0;
  PORTCULLIS_PRM_Q_COUNTERS(PORTCULLIS_PMD_MEMBER)
#undef PORTCULLIS_PMD_MEMBER

  using Named = std::pair<std::string_view, std::uint32_t>;
  /// All of them, for whoever prints them.
  [[nodiscard]] auto named() const noexcept {
#define PORTCULLIS_PMD_NAMED(field) Named{#field, field},
    return std::to_array<Named>({PORTCULLIS_PRM_Q_COUNTERS(PORTCULLIS_PMD_NAMED)});
#undef PORTCULLIS_PMD_NAMED
  }
};

class QCounter {
 public:
  /// ALLOC_Q_COUNTER. Undone (DEALLOC_Q_COUNTER) on destruction; QPs that name the set go first.
  [[nodiscard]] static Result<QCounter> create(const Context& context);

  /// As QueuePairOptions::counter_set takes it.
  [[nodiscard]] std::uint8_t id() const noexcept { return static_cast<std::uint8_t>(handle_.id()); }
  /// QUERY_Q_COUNTER; with `clear` the counters start from 0 again.
  [[nodiscard]] Result<QCounterValues> query(bool clear = false) const;
  /// DEALLOC_Q_COUNTER; done twice is done.
  [[nodiscard]] Result<void> destroy() { return handle_.destroy(); }

 private:
  QCounter(const Context& context, ObjectHandle handle) noexcept
      : context_(&context), handle_(std::move(handle)) {}

  const Context* context_;
  ObjectHandle handle_;
};

}  // namespace portcullis::pmd
