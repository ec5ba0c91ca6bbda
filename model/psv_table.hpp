// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent signature values: where the computation of a key's first signature begins. One belongs
// to a PD, and to nobody in another one. mlx5dv_destroy_mkey destroys those of a key before the
// key, so a key may name one that is gone: it counts as zero.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "model/id_table.hpp"

namespace portcullis::model {

class PsvTable {
 public:
  /// cmd_hca_cap has no number for it: as many as there are keys.
  explicit PsvTable(std::uint32_t log_max) : ids_(1, 1U << log_max) {}

  [[nodiscard]] std::optional<std::uint32_t> create(std::uint32_t pd) {
    const auto id = ids_.allocate();
    if (id) values_.insert_or_assign(*id, Value{pd, 0});
    return id;
  }
  /// The PD that it was in; nothing: there is no such value.
  std::optional<std::uint32_t> destroy(std::uint32_t index) {
    const auto found = values_.find(index);
    if (found == values_.end()) return std::nullopt;
    const std::uint32_t pd = found->second.pd;
    values_.erase(found);
    ids_.give_back(index);
    return pd;
  }
  [[nodiscard]] bool exists(std::uint32_t index, std::uint32_t pd) const {
    const auto found = values_.find(index);
    return found != values_.end() && found->second.pd == pd;
  }
  /// False: there is none in this PD.
  bool set(std::uint32_t index, std::uint32_t pd, std::uint64_t value) {
    if (!exists(index, pd)) return false;
    values_[index].value = value;
    return true;
  }
  [[nodiscard]] std::uint64_t value(std::uint32_t index, std::uint32_t pd) const {
    return exists(index, pd) ? values_.at(index).value : 0;
  }
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }
  void clear() noexcept {
    values_.clear();
    ids_.clear();
  }

 private:
  struct Value {
    std::uint32_t pd = 0;
    std::uint64_t value = 0;
  };
  std::unordered_map<std::uint32_t, Value> values_;
  IdAllocator ids_;
};

}  // namespace portcullis::model
