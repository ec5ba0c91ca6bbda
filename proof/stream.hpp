// SPDX-License-Identifier: BSD-3-Clause
//
// The load of an audit: WRITEs of 1 KiB to 64 KiB and READs between them, as many under way as the
// region, or the send queue, has room for. What is written is one long row of numbered words: each
// says whose it is (the tag, another for every lease) and the how manyth it is, so whoever finds a
// word in memory knows which request wrote it, and whether that was posted before or after an
// instant. The row lies ready before the traffic begins, so a request costs its poster nothing but
// a WQE. What is read is kept. Every fourth stream only reads, and another fourth writes one page
// alone over and over: a device that keeps what it looked up last serves that one behind a fence,
// and would have to look for the others.
//
// The region that a peer gives: a ring that is written, and behind it a few pages that are read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::proof {

/// What the tenant's memory is to hold, and where the client finds it.
struct StreamTarget {
  std::uint64_t address = 0;
  prm::Rkey rkey{};
  std::uint32_t tag = 0;  // of the lease; not 0
};

/// A word as it is told from any other.
struct StreamWord {
  std::uint32_t tag = 0;
  std::uint32_t number = 0;
  [[nodiscard]] constexpr std::uint64_t value() const noexcept {
    return std::uint64_t{tag} << 32 | number;
  }
  [[nodiscard]] static constexpr StreamWord of(std::uint64_t value) noexcept {
    return {static_cast<std::uint32_t>(value >> 32), static_cast<std::uint32_t>(value)};
  }
};

class Stream {
 public:
  static constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
  /// The ring: what may be posted and not acknowledged at most.
  static constexpr std::size_t kRingBytes = std::size_t{128} << 10;
  static constexpr std::size_t kReadBytes = std::size_t{8} << 10;
  static constexpr std::size_t kRegionBytes = kRingBytes + kReadBytes;
  static constexpr std::size_t kPageBytes = std::size_t{4} << 10;
  /// What is looked at: the payload of a packet.
  static constexpr std::size_t kPieceBytes = 1024;
  static constexpr std::size_t kPieces = kRingBytes / kPieceBytes;
  static constexpr std::size_t kReadPieces = kReadBytes / kPieceBytes;
  /// What the READs' pages hold from the command on that takes the key, a number higher for each
  /// time it is given, and from its answer on; no numbers of the row.
  static constexpr std::uint32_t kDuring = 0xd0000000;
  static constexpr std::uint32_t kAfter = 0xa0000000;

  [[nodiscard]] static Result<std::unique_ptr<Stream>> create(const pmd::Context& context,
                                                              const pmd::ProtectionDomain& pd);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// From the first word of a new row on; nothing of an earlier one is under way.
  void begin(const StreamTarget& target);
  /// Posts what there is room for, and rings. In one instant `now_ns` about twice that and no
  /// more: a model whose WRITEs take no time would be asked for more and more of them, and
  /// its clock would never come to what is waited for.
  [[nodiscard]] Result<void> post(pmd::QueuePair& qp, std::uint64_t now_ns);
  /// A request of this stream has succeeded.
  void complete(std::uint64_t wr_id) noexcept;

  // Told by whoever posts, asked by anybody. Bytes from the begin on; a WRITE counts before the
  // device hears of it.
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_.load(kAcquire); }
  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_.load(kAcquire); }
  [[nodiscard]] std::uint64_t read_posted() const noexcept { return read_posted_.load(kAcquire); }
  [[nodiscard]] std::uint64_t read_completed() const noexcept {
    return read_completed_.load(kAcquire);
  }

  [[nodiscard]] std::uint32_t tag() const noexcept { return target_.tag; }
  /// The word that the row has at byte `at`.
  [[nodiscard]] StreamWord word(std::uint64_t at) const noexcept {
    return {target_.tag, static_cast<std::uint32_t>(at / kWordBytes % kRowWords)};
  }
  /// Bytes from `at` to where `word` stands in the row, which is less than half a row away.
  [[nodiscard]] static std::int64_t distance(StreamWord word, std::uint64_t at) noexcept;
  /// Of the tags, these: behind a WRITE of the same QP a READ may be waited for with it.
  static constexpr std::uint32_t kOnlyReadsEach = 4;
  [[nodiscard]] bool only_reads() const noexcept { return target_.tag % kOnlyReadsEach == 0; }
  /// And these: WRITEs to one page and no READ, so nothing but the same lookup once more.
  [[nodiscard]] bool stays_in_page() const noexcept { return target_.tag % kOnlyReadsEach == 1; }
  /// Of those that are written: byte `at` of the row goes to that byte of the ring.
  [[nodiscard]] std::uint64_t ring_bytes() const noexcept {
    return stays_in_page() ? kPageBytes : kRingBytes;
  }
  /// Bytes of packets that READs brought with the word of `mark` in them, as far as they have not
  /// been read over. Nothing may be under way.
  [[nodiscard]] std::uint64_t bytes_read(std::uint32_t mark) const noexcept;

 private:
  static constexpr auto kAcquire = std::memory_order_acquire;
  static constexpr std::size_t kRowBytes = 8 * kRingBytes;
  static constexpr std::size_t kRowWords = kRowBytes / kWordBytes;
  static constexpr std::uint32_t kReadSlots = 8;
  static constexpr std::uint64_t kIsRead = std::uint64_t{1} << 63;  // of a wr_id
  static constexpr std::array<std::uint32_t, 6> kWriteBytes{64 << 10, 4 << 10,  32 << 10,
                                                            8 << 10,  16 << 10, 4 << 10};
  static constexpr std::array<std::uint32_t, 2> kReadLengths{8 << 10, 4 << 10};
  static constexpr std::uint32_t kWritesPerRead = 3;
  static constexpr std::uint32_t kReadsUnderWay = 4;               // of one that only reads
  static constexpr std::uint64_t kMostInInstant = 2 * kRingBytes;  // WRITEs and READs

  Stream(DmaMemory memory, pmd::MemoryKey key) : memory_(std::move(memory)), key_(std::move(key)) {}
  [[nodiscard]] Result<void> post_write(pmd::QueuePair& qp, std::uint32_t bytes);
  [[nodiscard]] Result<void> post_read(pmd::QueuePair& qp);
  [[nodiscard]] static bool has_block(const pmd::QueuePair& qp) noexcept;

  DmaMemory memory_;  // the row, then the slots of READs
  pmd::MemoryKey key_;
  StreamTarget target_;
  std::uint64_t writes_ = 0;  // posted
  std::uint64_t reads_ = 0;
  bool owes_read_ = false;
  std::uint64_t instant_ns_ = 0;  // of the last post
  std::uint64_t in_instant_ = 0;  // bytes posted in it
  std::atomic<std::uint64_t> posted_{0}, completed_{0}, read_posted_{0}, read_completed_{0};
};

}  // namespace portcullis::proof
