// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that the device can reach: DmaMemory is one mapping of its own (a lease's region, so that
// it can be unmapped alone), DmaArena hands out the small things (queues, mailboxes, doorbell
// records, firmware pages) from few large mappings, because a container allows only so many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/device.hpp"
#include "base/result.hpp"

namespace portcullis {

/// Zeroed anonymous pages, mapped for the device one by one; unmapped and freed on destruction.
/// If the device refuses to unmap, the pages are kept for the life of the process: memory that a
/// device may still write is never given back.
class DmaMemory {
 public:
  /// `bytes` is rounded up to whole pages; 0 is InvalidArgument.
  [[nodiscard]] static Result<DmaMemory> create(DmaSpace& space, std::size_t bytes);
  DmaMemory(DmaMemory&& other) noexcept;
  DmaMemory& operator=(DmaMemory&& other) noexcept;
  ~DmaMemory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_; }
  [[nodiscard]] Iova iova() const noexcept { return iova_; }
  [[nodiscard]] bool is_mapped() const noexcept { return mapped_; }
  /// Takes the device's access away while the CPU keeps the pages. Done twice is done.
  [[nodiscard]] Result<void> unmap();
  /// Gives it back after unmap(), at another IOVA as likely as not. Done twice is done;
  /// InvalidArgument for memory that was retired.
  [[nodiscard]] Result<void> map();
  /// As unmap, for memory that a key in the device may still name: neither its virtual addresses
  /// nor its IOVAs are used again in the life of the process, also after destruction.
  [[nodiscard]] Result<void> retire();

 private:
  DmaMemory(DmaSpace& space, std::span<std::byte> memory, Iova iova) noexcept
      : space_(&space), memory_(memory), iova_(iova), mapped_(true) {}
  void release() noexcept;

  DmaSpace* space_;
  std::span<std::byte> memory_;
  Iova iova_;
  bool mapped_;
  bool retired_ = false;
};

class DmaArena;

/// A piece of a DmaArena; goes back on destruction. Zeroed when handed out.
class DmaBuffer {
 public:
  DmaBuffer() = default;
  DmaBuffer(DmaBuffer&& other) noexcept;
  DmaBuffer& operator=(DmaBuffer&& other) noexcept;
  ~DmaBuffer();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_; }
  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
  [[nodiscard]] Iova iova() const noexcept { return iova_; }
  /// Gives up the memory for good without returning it to the arena: the device may still use it
  /// (a command that timed out).
  void quarantine() noexcept;

 private:
  friend class DmaArena;
  DmaBuffer(DmaArena* arena, std::span<std::byte> memory, Iova iova) noexcept
      : arena_(arena), memory_(memory), iova_(iova) {}
  DmaArena* arena_ = nullptr;
  std::span<std::byte> memory_;
  Iova iova_ = 0;
};

/// Buddy allocator over 2 MiB mappings; single threaded. Must outlive its buffers.
class DmaArena {
 public:
  static constexpr std::size_t kBlockBytes = std::size_t{2} << 20;
  static constexpr std::size_t kLeastBytes = 64;

  explicit DmaArena(DmaSpace& space);
  DmaArena(const DmaArena&) = delete;
  DmaArena& operator=(const DmaArena&) = delete;
  ~DmaArena();

  /// `bytes` rounds up to a power of two, at least 64, at most kBlockBytes; aligned to that power
  /// in virtual address and IOVA. InvalidArgument above, OutOfResources when no block can be had.
  [[nodiscard]] Result<DmaBuffer> allocate(std::size_t bytes);
  /// Bytes handed out now, quarantined ones included.
  [[nodiscard]] std::size_t bytes_in_use() const noexcept;

 private:
  friend class DmaBuffer;
  struct State;
  void give_back(std::span<std::byte> memory) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace portcullis
