// SPDX-License-Identifier: BSD-3-Clause
#include "proof/stream_look.hpp"

#include <algorithm>

#include "base/dma_bytes.hpp"

namespace portcullis::proof {
namespace {

constexpr std::uint64_t kPiece = Stream::kPieceBytes;
constexpr std::uint64_t kLastWord = kPiece - Stream::kWordBytes;

}  // namespace

std::size_t StreamLook::place_of(std::uint64_t at) const noexcept {
  return at % stream_->ring_bytes() / kPiece;
}

std::uint64_t StreamLook::word_at(std::uint64_t offset) const noexcept {
  return dma_peek_u64(region_.data() + offset);
}

std::uint64_t StreamLook::last_word(std::size_t place) const noexcept {
  return word_at(place * kPiece + kLastWord);
}

/// The last word of the packet at byte `piece` of the row is `word`, or a later one.
bool StreamLook::is_there(std::uint64_t word, std::uint64_t piece) const noexcept {
  const StreamWord there = StreamWord::of(word);
  return there.tag == stream_->tag() && Stream::distance(there, piece + kLastWord) >= 0;
}

void StreamLook::follow() noexcept {
  constexpr int kMostSteps = 16;
  const std::uint64_t posted = stream_->posted();
  if (posted > stream_->ring_bytes()) next_ = std::max(next_, posted - stream_->ring_bytes());
  for (int i = 0; i < kMostSteps && next_ < posted; ++i, next_ += kPiece)
    if (!is_there(last_word(place_of(next_)), next_)) return;
}

/// From where the next packets are to land, and once around.
StreamLook::LastWords StreamLook::last_words() const noexcept {
  LastWords words{};
  const std::size_t places = stream_->ring_bytes() / kPiece;
  std::size_t place = place_of(next_);
  for (std::size_t i = 0; i < places; ++i, place = (place + 1) % places)
    words[place] = last_word(place);
  return words;
}

/// Of the ring's worth before `posted`.
StreamLook::Pieces StreamLook::open(const LastWords& words, std::uint64_t posted) const noexcept {
  Pieces pieces;
  const std::uint64_t least = posted > stream_->ring_bytes() ? posted - stream_->ring_bytes() : 0;
  for (std::uint64_t at = least; at < posted; at += kPiece)
    pieces[place_of(at)] = !is_there(words[place_of(at)], at);
  return pieces;
}

void StreamLook::at_command() noexcept {
  posted_at_command_ = stream_->posted();
  reads_at_command_ = stream_->read_posted() - stream_->read_completed();
  at_command_ = last_words();
  open_at_command_ = open(at_command_, posted_at_command_);
  mark_reads(Stream::kDuring + ++commands_);
}

void StreamLook::at_answer(First first) noexcept {
  if (first == First::Reads) mark_reads(Stream::kAfter);
  posted_at_answer_ = stream_->posted();
  at_answer_ = last_words();
  open_at_answer_ = open(at_answer_, posted_at_answer_);
  if (first == First::Writes) mark_reads(Stream::kAfter);
  read_posted_at_answer_ = stream_->read_posted();
  reads_at_answer_ = read_posted_at_answer_ - stream_->read_completed();
  is_answered_ = true;
}

/// One word of each packet at once, the others behind them.
void StreamLook::mark_reads(std::uint32_t mark) noexcept {
  const std::uint64_t value = StreamWord{stream_->tag(), mark}.value();
  std::byte* const pages = region_.data() + Stream::kRingBytes;
  for (std::size_t at = kLastWord; at < Stream::kReadBytes; at += kPiece)
    dma_poke_u64(pages + at, value);
  for (std::size_t at = 0; at < Stream::kReadBytes; at += Stream::kWordBytes)
    dma_poke_u64(pages + at, value);
}

/// What lands next at a place that is open was posted before, be it the last packet for it or one
/// before that: a device may acknowledge a WRITE that is not in memory yet.
std::uint64_t StreamLook::landed_by_answer() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t place = 0; place < open_at_command_.size(); ++place)
    if (open_at_command_[place] && at_command_[place] != at_answer_[place]) bytes += kPiece;
  return bytes;
}

/// Nobody else has this tag, and the row has only one place for each number.
bool StreamLook::is_foreign(StreamWord word, std::uint64_t offset) const noexcept {
  if (word.value() == 0) return false;  // as it was granted
  const std::uint64_t at = std::uint64_t{word.number} * Stream::kWordBytes;
  return word.tag != stream_->tag() || at % stream_->ring_bytes() != offset;
}

StreamLook::Found StreamLook::judge() const noexcept {
  Found found;
  for (std::size_t place = 0; place < stream_->ring_bytes() / kPiece; ++place) {
    const std::uint64_t word = last_word(place);
    const bool is_own = !is_foreign(StreamWord::of(word), place * kPiece + kLastWord);
    if (word != at_answer_[place] && is_own) found.late += kPiece;
  }
  for (std::uint64_t offset = 0; offset < Stream::kRingBytes; offset += Stream::kWordBytes) {
    const StreamWord word = StreamWord::of(word_at(offset));
    if (is_foreign(word, offset))
      ++found.foreign;
    else if (word.value() != 0 && Stream::distance(word, posted_at_answer_) >= 0)
      ++found.posted_after;
  }
  return found;
}

}  // namespace portcullis::proof
