// SPDX-License-Identifier: BSD-3-Clause
//
// Flow counters: packets and octets of the entries that name them. QUERY_FLOW_COUNTER reads one or
// a run of consecutive numbers, as Linux reads a bulk (mlx5_cmd_fc_bulk_query).
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "model/id_table.hpp"

namespace portcullis::model {

struct TrafficCount {
  std::uint64_t packets = 0;
  std::uint64_t octets = 0;
};

class FlowCounters {
 public:
  static constexpr std::uint32_t kLogMax = 16;

  [[nodiscard]] std::optional<std::uint32_t> allocate() {
    const auto id = ids_.allocate();
    if (id) counts_[*id] = {};
    return id;
  }
  [[nodiscard]] bool free(std::uint32_t id) {
    if (counts_.erase(id) == 0) return false;
    ids_.give_back(id);
    return true;
  }
  [[nodiscard]] TrafficCount* find(std::uint32_t id) noexcept {
    const auto found = counts_.find(id);
    return found == counts_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool has(std::uint32_t id) const noexcept { return counts_.contains(id); }
  void count(std::uint32_t id, std::size_t octets) noexcept {
    if (TrafficCount* const found = find(id)) {
      ++found->packets;
      found->octets += octets;
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return counts_.size(); }
  void clear() {
    counts_.clear();
    ids_.clear();
  }

 private:
  std::map<std::uint32_t, TrafficCount> counts_;
  IdAllocator ids_{1, 1U << kLogMax};
};

}  // namespace portcullis::model
