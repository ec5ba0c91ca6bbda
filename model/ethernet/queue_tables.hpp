// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of receive queues (RQT): where a TIR that hashes sends a frame. A table has as many places
// as it says now, a power of two of at most as many as it was made for; a queue may have several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/id_table.hpp"
#include "model/references.hpp"
#include "model/verdict.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class QueueTables {
 public:
  static constexpr std::uint32_t kLogMax = 12;
  static constexpr std::uint32_t kLogMaxSize = 11;

  struct Deps {
    bool (*has_rq)(const void* context, std::uint32_t rqn) = nullptr;
    const void* context = nullptr;
    References* rqs = nullptr;  // what tables refer to
  };
  explicit QueueTables(const Deps& deps) noexcept : deps_(deps) {}

  // Commands. `list` is rq_num[].
  Verdict create(prm::ConstView<prm::rqtc> context, std::span<const std::byte> list,
                 std::uint32_t& number);
  Verdict modify(prm::ConstView<prm::modify_rqt_in> in, std::span<const std::byte> list);
  /// `list` as far as there is room.
  Verdict query(std::uint32_t number, prm::View<prm::rqtc> context,
                std::span<std::byte> list) const;
  Verdict destroy(std::uint32_t number);

  [[nodiscard]] bool exists(std::uint32_t number) const noexcept {
    return tables_.contains(number);
  }
  /// The queue for a hash.
  [[nodiscard]] std::uint32_t pick(std::uint32_t number, std::uint32_t hash) const noexcept;
  /// A TIR names it from now on, or no longer.
  void hold(std::uint32_t number) { references_.add(number); }
  void release(std::uint32_t number) noexcept { references_.drop(number); }

  void clear() noexcept;

 private:
  struct Table {
    std::uint32_t most = 0;
    std::vector<std::uint32_t> queues;
  };
  [[nodiscard]] Verdict read(prm::ConstView<prm::rqtc> context, std::span<const std::byte> list,
                             std::uint32_t most, std::vector<std::uint32_t>& queues) const;

  Deps deps_;
  std::unordered_map<std::uint32_t, Table> tables_;
  References references_;
  IdAllocator ids_{1, 1U << kLogMax};
};

}  // namespace portcullis::model
