// SPDX-License-Identifier: BSD-3-Clause
//
// Which objects others refer to: a device refuses to destroy those (BAD_RES_STATE_ERR).
#pragma once

#include <cstdint>
#include <unordered_map>

namespace portcullis::model {

class References {
 public:
  void add(std::uint32_t id) { ++counts_[id]; }
  void drop(std::uint32_t id) noexcept {
    const auto found = counts_.find(id);
    if (found != counts_.end() && --found->second == 0) counts_.erase(found);
  }
  [[nodiscard]] bool any(std::uint32_t id) const noexcept { return counts_.contains(id); }
  void clear() noexcept { counts_.clear(); }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> counts_;
};

}  // namespace portcullis::model
