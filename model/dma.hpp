// SPDX-License-Identifier: BSD-3-Clause
//
// Every access of the model to guest memory. An address that the driver did not map, or any access
// while bus mastering is off, returns false (or null, or nothing) and counts one dma_fault; it
// never crashes. Three kinds of access, because they are ordered differently:
//   read, write           descriptors: the order comes from a cell that hands them over
//   read/write_payload    what a peer's RDMA moves: races with the CPU by design (dma_bytes.hpp)
//   load_be32, publish    the cells themselves: acquire and release
//
// Memory that the device does not see is reached by messages (RemoteMemory); a range that may only
// be read is a fault to a write, and the other way about.
//
// Payload may lie in the device's own memory too, in BAR 0 or where programs write their steering:
// no DMA, so no IOMMU, no bus mastering and no observer have a say in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/device.hpp"
#include "model/iommu.hpp"

namespace portcullis::model {

/// A range that a key translated to.
struct Extent {
  Iova iova = 0;  // on the device: an offset into BAR 0, or behind it an address of steering memory
  std::uint32_t bytes = 0;
  bool on_device = false;
};

/// At most four: a frame's payload is at most 4096 bytes, translation pages are at least that, and
/// of an indirect key two entries are followed at a time, or one that leads to another such key.
struct Extents {
  std::array<Extent, 4> extent{};
  std::uint32_t count = 0;
  [[nodiscard]] std::uint32_t bytes() const noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += extent[i].bytes;
    return sum;
  }
  /// The keys that an indirect one led to; 0: none.
  std::array<std::uint32_t, 3> through{};
};

/// Guest memory behind messages. False: refused, or nobody answers.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;
  [[nodiscard]] virtual bool read(Iova from, std::span<std::byte> to) noexcept = 0;
  [[nodiscard]] virtual bool write(Iova to, std::span<const std::byte> from) noexcept = 0;
};

class DmaObserver;
class SwIcm;

class Dma {
 public:
  /// `faults` is counted up; both must outlive this.
  Dma(const Iommu& iommu, std::uint64_t& faults) noexcept : iommu_(&iommu), faults_(&faults) {}

  /// Who reaches ranges without memory; null: nobody, they are faults.
  void set_remote(RemoteMemory* remote) noexcept { remote_ = remote; }
  /// BAR 0, in which the device memory lies. Must outlive this.
  void set_bar(std::span<std::byte> bar) noexcept { bar_ = bar; }
  /// Where programs write their steering. Must outlive this.
  void set_steering_memory(SwIcm* memory) noexcept { steering_memory_ = memory; }
  /// Null: nobody hears what is read and written.
  void set_observer(DmaObserver* observer) noexcept { observer_ = observer; }
  void set_bus_master(bool on) noexcept { bus_master_ = on; }
  [[nodiscard]] bool bus_master() const noexcept { return bus_master_; }

  /// Descriptors (WQE, mailbox, context). False: some byte is not reachable; `to` is then
  /// undefined.
  [[nodiscard]] bool read(Iova from, std::span<std::byte> to) noexcept;
  /// False: nothing, or the part before the first unreachable page, was written.
  [[nodiscard]] bool write(Iova to, std::span<const std::byte> from) noexcept;

  /// Payload. Extents are taken in order; `to` and `from` hold the sum of their bytes.
  [[nodiscard]] bool read_payload(const Extents& from, std::byte* to) noexcept;
  [[nodiscard]] bool write_payload(const Extents& to, const std::byte* from) noexcept;
  [[nodiscard]] bool read_payload(Iova from, std::span<std::byte> to) noexcept;
  [[nodiscard]] bool write_payload(Iova to, std::span<const std::byte> from) noexcept;

  /// A doorbell record or ownership word, in host order, with acquire. Misaligned is a fault.
  [[nodiscard]] std::optional<std::uint32_t> load_be32(Iova at) noexcept;
  /// One byte with acquire: the ownership byte of a command entry.
  [[nodiscard]] std::optional<std::uint8_t> load_u8(Iova at) noexcept;
  /// Writes an entry whose last byte hands it over (CQE, EQE, command entry): all but the last
  /// byte, then that byte with release. Entries are at most a page, aligned to their size.
  [[nodiscard]] bool publish(Iova to, std::span<const std::byte> entry) noexcept;

  /// Direct access to [at, at + bytes) when it is plain memory and contiguous, else null without
  /// counting: fall back to the calls above, which count. Good until the engine returns.
  [[nodiscard]] std::byte* window(Iova at, std::size_t bytes) const noexcept {
    if (!bus_master_) return nullptr;
    if (at % kPageBytes + bytes <= kPageBytes) return iommu_->lookup(at);
    return window_over_pages(at, bytes);
  }

 private:
  [[nodiscard]] std::byte* window_over_pages(Iova at, std::size_t bytes) const noexcept;
  enum class Direction : std::uint8_t { Read, Write };
  template <class Copy>
  bool by_page(Iova at, std::size_t bytes, Direction direction, Copy copy) noexcept;
  template <class Copy>
  bool special_piece(Iova at, std::size_t bytes, Direction direction, Copy copy) noexcept;
  void tell(const std::byte* memory, std::size_t bytes, Direction direction) const noexcept;
  [[nodiscard]] bool read_device(Iova from, std::span<std::byte> to) const noexcept;
  [[nodiscard]] bool write_device(Iova to, std::span<const std::byte> from) noexcept;
  bool fault() noexcept {
    ++*faults_;
    return false;
  }

  const Iommu* iommu_;
  std::uint64_t* faults_;
  std::span<std::byte> bar_;
  SwIcm* steering_memory_ = nullptr;
  RemoteMemory* remote_ = nullptr;
  DmaObserver* observer_ = nullptr;
  bool bus_master_ = false;
};

}  // namespace portcullis::model
