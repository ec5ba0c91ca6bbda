// SPDX-License-Identifier: BSD-3-Clause
//
// UMEM objects: memory that a DevX client registered, in which its queues and doorbell records then
// lie at an offset (mlx5_ib/devx.c, devx_umem_reg; _vfio_devx_umem_reg of rdma-core).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "model/id_table.hpp"
#include "model/queue_pages.hpp"
#include "model/references.hpp"
#include "model/verdict.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// The umems that a queue lies in: of its buffer and of its doorbell record.
struct UmemUse {
  std::optional<std::uint32_t> queue;
  std::optional<std::uint32_t> record;
};

class UmemTable {
 public:
  explicit UmemTable(std::uint32_t log_max_umem) : ids_(1, 1U << log_max_umem) {}

  /// `mtt` is the list behind the command: a page's address with its rights in the low bits.
  Verdict create(prm::ConstView<prm::umem> context, std::span<const std::byte> mtt,
                 std::uint32_t& id);
  /// BAD_RES_ERR for none, BAD_RES_STATE_ERR for one that a queue lies in.
  Verdict destroy(std::uint32_t id);

  /// A queue of `bytes` at `offset`, which the device will write when `written`.
  Verdict queue(std::uint32_t id, std::uint64_t offset, std::uint64_t bytes, bool written,
                QueuePages& out) const;
  /// `count` pages of 1 << `shift` bytes from `offset` on, as CREATE_MKEY lists translations, in
  /// whole octowords. The umem's own pages may be larger than these, and not smaller.
  Verdict pages(std::uint32_t id, std::uint64_t offset, std::uint32_t shift, std::uint64_t count,
                bool written, std::vector<std::byte>& list) const;
  /// A doorbell record at `offset`.
  Verdict record(std::uint32_t id, std::uint64_t offset, Iova& out) const;

  void hold(const UmemUse& use);
  void release(const UmemUse& use) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return umems_.size(); }
  void clear() noexcept;

 private:
  struct Umem {
    std::vector<Iova> pages;
    std::uint32_t shift = 12;
    std::uint64_t start = 0;  // of the registered memory in its first page
    bool readable = true;     // all of it
    bool writable = true;

    [[nodiscard]] std::uint64_t bytes() const noexcept {
      return (std::uint64_t{pages.size()} << shift) - start;
    }
  };
  static Verdict fill(prm::ConstView<prm::umem> context, std::span<const std::byte> mtt, Umem& out);
  /// [offset, offset + bytes) of a umem that exists and begins at a multiple of `alignment`.
  Verdict find(std::uint32_t id, std::uint64_t offset, std::uint64_t bytes, std::uint64_t alignment,
               const Umem*& out) const;

  std::unordered_map<std::uint32_t, Umem> umems_;
  References references_;
  IdAllocator ids_;
};

}  // namespace portcullis::model
