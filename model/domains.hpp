// SPDX-License-Identifier: BSD-3-Clause
//
// Domains: numbers that hold nothing but the objects in them, and outlive those. XRC domains and
// transport domains are such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "model/id_table.hpp"
#include "model/references.hpp"
#include "model/verdict.hpp"

namespace portcullis::model {

class Domains {
 public:
  explicit Domains(std::uint32_t log_max) noexcept : ids_(1, 1U << log_max) {}

  Verdict allocate(std::uint32_t& number) {
    const auto fresh = ids_.allocate();
    if (!fresh) return refuse(prm::CommandStatus::NO_RES_ERR, kNoNumber);
    numbers_.insert(number = *fresh);
    return {};
  }
  Verdict free(std::uint32_t number) {
    if (!contains(number)) return refuse(prm::CommandStatus::BAD_RES_ERR, kNoSuchDomain);
    if (references_.any(number)) return refuse(prm::CommandStatus::BAD_RES_STATE_ERR, kInUse);
    numbers_.erase(number);
    ids_.give_back(number);
    return {};
  }
  /// An object is in it from now on, or no longer.
  void hold(std::uint32_t number) { references_.add(number); }
  void release(std::uint32_t number) noexcept { references_.drop(number); }

  [[nodiscard]] bool contains(std::uint32_t number) const noexcept {
    return numbers_.contains(number);
  }
  [[nodiscard]] std::size_t count() const noexcept { return numbers_.size(); }
  void clear() noexcept {
    numbers_.clear();
    references_.clear();
    ids_.clear();
  }

 private:
  enum Refusal : std::uint32_t {
    kNoNumber = 0xd00001,
    kNoSuchDomain,
    kInUse,
  };

  std::unordered_set<std::uint32_t> numbers_;
  References references_;
  IdAllocator ids_;
};

}  // namespace portcullis::model
