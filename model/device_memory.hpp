// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory ("MEMIC"): memory of the card that a driver lends to programs. It lies in a window
// of BAR 0, whose bytes it is, so that a CPU reads and writes it by loads and stores; keys of mode
// MEMIC lead queue pairs to it. Every address here is an offset into BAR 0.
//
//   the driver says  in which part of the window an allocation is to lie (mlx5_cmd_alloc_memic of
//                    mlx5_ib/dm.c names whole pages, so that no two processes share one)
//   the window       is larger than the memory: a page of it is taken by 64 bytes as by 4096
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/bar.hpp"
#include "model/held_ranges.hpp"
#include "model/verdict.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class DeviceMemory {
 public:
  /// "limited to 256k for a single port HCA and to 128k for dual port HCA" (README of libvma,
  /// VMA_RING_DEV_MEM_TX); issue 2 of thustorage/Sherman has a ConnectX-5 Ex with 128 KiB.
  static constexpr std::uint32_t kBytes = 256U << 10;
  /// As many pages as mlx5_ib keeps count of (MLX5_MAX_MEMIC_PAGES of mlx5_ib.h). That a card's
  /// window is as large, and ends where the BAR does, is a hypothesis.
  static constexpr std::uint32_t kWindowBytes = 256 * 4096;
  static constexpr std::uint64_t kWindowAt = Bar::kBytes - kWindowBytes;
  /// MLX5_MEMIC_BASE_SIZE of mlx5_ib.h.
  static constexpr std::uint32_t kLogUnit = 6;
  /// In units of 64 * 2^n: a page. How far a card goes is not known here.
  static constexpr std::uint32_t kLogMaxAlignment = 6;

  /// `limits` is the capability page in force; both must outlive this.
  DeviceMemory(std::span<std::byte> bar, const prm::Buffer<prm::device_mem_cap>& limits) noexcept
      : bar_(bar), limits_(&limits) {}

  /// Where one is to lie: `bytes` of [range_at, range_at + range_bytes), aligned to
  /// 64 * 2^log_alignment.
  struct Wish {
    std::uint64_t range_at = 0;
    std::uint64_t range_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint32_t log_alignment = 0;
  };
  /// It begins as zeros: what was there before is not its owner's to read.
  Verdict allocate(const Wish& wish, std::uint64_t& at);
  Verdict free(std::uint64_t at, std::uint64_t bytes);

  /// False: a key of mode MEMIC whose range is in no one allocation. Keys of other modes have none.
  [[nodiscard]] bool has_range_of(prm::ConstView<prm::mkc> key) const;
  /// A key that has its range stays in its allocation's way until it lets go.
  void hold(std::uint32_t mkey_index, prm::ConstView<prm::mkc> key);
  void let_go(std::uint32_t mkey_index);
  void clear() noexcept;

 private:
  struct NoMore {};

  [[nodiscard]] bool is_in_window(const Wish& wish) const noexcept;
  /// The first gap of the range that has room, if there is one.
  [[nodiscard]] std::optional<std::uint64_t> find_room(const Wish& wish) const;

  std::span<std::byte> bar_;
  const prm::Buffer<prm::device_mem_cap>* limits_;
  HeldRanges<NoMore> ranges_;  // allocations
  std::uint64_t used_ = 0;
};

}  // namespace portcullis::model
