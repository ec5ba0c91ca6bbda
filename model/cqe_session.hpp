// SPDX-License-Identifier: BSD-3-Clause
//
// Completions that a queue gathers to write them as one block (cqc.cqe_comp_en). Its title says
// what all have in common, so an entry joins the ones before only when it differs from them in
// nothing but what its mini entry says and in what is lost: its time, and its hash or its checksum,
// whichever the format has no room for. Drivers count wqe_counter on from the title's
// (mlx5e_decompress_cqe of mlx5/core/en_rx.c), so it follows the one before by one.
//
// What requesters say, and errors, are written at once. A card compresses the former too (Linux
// commit 1cbe6fc86ccf), but need not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/scheduler.hpp"
#include "prm/cqe.hpp"
#include "prm/mini_cqe.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class CqeSession {
 public:
  using Entry = prm::Buffer<prm::mlx5_cqe64>;
  using MiniArray = std::array<std::byte, prm::kCqeBytes>;
  /// cmd_hca_cap.cqe_compression_max_num and _timeout, as a ConnectX-6 Dx has them (the
  /// documentation of the tool mlx5ctl); that they are a ConnectX-5's is a hypothesis.
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kTimeoutUs = 2;

  explicit CqeSession(prm::MiniCqeFormat format) noexcept : format_(format) {}

  /// Whether completions of this opcode wait for others.
  [[nodiscard]] static bool gathers(prm::CqeOpcode opcode) noexcept;
  /// Entries are without owner bit.
  [[nodiscard]] bool takes(const Entry& entry) const;
  void add(const Entry& entry);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void clear() noexcept { size_ = 0; }

  /// The first entry: as it is when it is the only one, otherwise as the title of them all.
  [[nodiscard]] Entry first(bool owner) const;
  [[nodiscard]] std::size_t arrays() const noexcept;
  [[nodiscard]] const MiniArray& array(std::size_t index) const { return minis_[index]; }
  /// How many slots behind the title it stands.
  [[nodiscard]] static std::uint64_t slot_of_array(std::size_t index) noexcept;

  TimerId timeout;

 private:
  prm::MiniCqeFormat format_;
  std::size_t size_ = 0;
  Entry title_;
  std::array<MiniArray, kMost / prm::kMinisPerArray> minis_{};
};

}  // namespace portcullis::model
