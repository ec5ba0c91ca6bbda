// SPDX-License-Identifier: BSD-3-Clause
//
// What the CPU sees of a stream in the memory of its lease, packet by packet, at the instants that
// count for a fence: before the command that takes the key, at its answer, and when nothing may be
// under way any more. The last word of each packet's place is kept at the first two; a place with
// another one later was written late. Several WRITEs of one place may be under way: a device may
// acknowledge one that is not in memory yet, and its poster goes on to the next. The pages that the
// stream reads get other words at the command and at the answer: whoever brings the first home was
// under way, the second served late.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "proof/stream.hpp"

namespace portcullis::proof {

class StreamLook {
 public:
  /// What the end of a fence came to, in bytes but for the words.
  struct Found {
    std::uint64_t late = 0;          // of packets that landed behind the answer
    std::uint64_t posted_after = 0;  // words that were posted behind the answer, and are there
    std::uint64_t foreign = 0;       // words that this stream cannot have written there
  };

  /// `region` is Stream::kRegionBytes, as the CPU has it; its last pages are what is read.
  StreamLook(const Stream& stream, std::span<std::byte> region) noexcept
      : stream_(&stream), region_(region) {}

  /// Goes after what has landed, a few packets a call: so at the answer the look begins where the
  /// next ones land. Called from every wait.
  void follow() noexcept;
  /// The command is about to be given. Done again, only the last one counts.
  void at_command() noexcept;
  /// The device has answered. Which of both is done first makes a difference of a microsecond.
  enum class First : std::uint8_t { Writes, Reads };
  void at_answer(First first) noexcept;
  [[nodiscard]] bool is_answered() const noexcept { return is_answered_; }

  /// WRITEs posted and not in memory, as the CPU saw it.
  [[nodiscard]] std::uint64_t in_flight_at_command() const noexcept {
    return open_at_command_.count() * Stream::kPieceBytes;
  }
  [[nodiscard]] std::uint64_t in_flight_at_answer() const noexcept {
    return open_at_answer_.count() * Stream::kPieceBytes;
  }
  /// READs posted and not completed, as their poster saw it.
  [[nodiscard]] std::uint64_t reads_at_command() const noexcept { return reads_at_command_; }
  [[nodiscard]] std::uint64_t reads_at_answer() const noexcept { return reads_at_answer_; }
  /// Of the places where a packet was in flight at the command: what changed by the answer.
  [[nodiscard]] std::uint64_t landed_by_answer() const noexcept;
  /// Of READs, with what the pages have held since the command. Nothing may be under way.
  [[nodiscard]] std::uint64_t reads_served() const noexcept {
    return stream_->bytes_read(Stream::kDuring + commands_);
  }
  /// A request that was posted behind the answer has succeeded.
  [[nodiscard]] bool has_later_success() const noexcept {
    return stream_->completed() > posted_at_answer_ ||
           stream_->read_completed() > read_posted_at_answer_;
  }
  /// Looks at every word.
  [[nodiscard]] Found judge() const noexcept;

 private:
  /// Of each packet that may be under way, by its place in the ring.
  using Pieces = std::bitset<Stream::kPieces>;
  /// The last word of each place, as memory had it.
  using LastWords = std::array<std::uint64_t, Stream::kPieces>;

  /// Of the ring, for byte `at` of the row.
  [[nodiscard]] std::size_t place_of(std::uint64_t at) const noexcept;
  [[nodiscard]] std::uint64_t word_at(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t last_word(std::size_t place) const noexcept;
  [[nodiscard]] bool is_there(std::uint64_t word, std::uint64_t piece) const noexcept;
  [[nodiscard]] LastWords last_words() const noexcept;
  [[nodiscard]] Pieces open(const LastWords& words, std::uint64_t posted) const noexcept;
  void mark_reads(std::uint32_t mark) noexcept;
  [[nodiscard]] bool is_foreign(StreamWord word, std::uint64_t offset) const noexcept;

  const Stream* stream_;
  std::span<std::byte> region_;
  std::uint64_t next_ = 0;  // the first packet that had not landed, as a byte of the row
  std::uint64_t posted_at_command_ = 0, posted_at_answer_ = 0;
  std::uint64_t reads_at_command_ = 0, reads_at_answer_ = 0, read_posted_at_answer_ = 0;
  std::uint32_t commands_ = 0;
  LastWords at_command_{}, at_answer_{};
  Pieces open_at_command_, open_at_answer_;
  bool is_answered_ = false;
};

}  // namespace portcullis::proof
