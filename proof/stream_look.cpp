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

std::uint64_t StreamLook::byte_at(std::size_t place, std::uint64_t posted) const noexcept {
  const std::uint64_t ring = stream_->ring_bytes();
  const std::uint64_t behind = (posted + ring - 1 - place * kPiece) % ring / kPiece * kPiece;
  return posted - kPiece - behind;
}

std::uint64_t StreamLook::word_at(std::uint64_t offset) const noexcept {
  return dma_peek_u64(region_.data() + offset);
}

/// The last word of the packet at byte `piece` of the row is there, or a later one in its place.
bool StreamLook::has_landed(std::uint64_t piece) const noexcept {
  const std::uint64_t at = piece + kLastWord;
  const StreamWord there = StreamWord::of(word_at(at % stream_->ring_bytes()));
  return there.tag == stream_->tag() && Stream::distance(there, at) >= 0;
}

void StreamLook::follow() noexcept {
  constexpr int kMostSteps = 16;
  const std::uint64_t posted = stream_->posted();
  if (posted > stream_->ring_bytes()) next_ = std::max(next_, posted - stream_->ring_bytes());
  for (int i = 0; i < kMostSteps && next_ < posted && has_landed(next_); ++i) next_ += kPiece;
}

/// Of the ring's worth before `posted`, from where the next are to land.
StreamLook::Pieces StreamLook::open(std::uint64_t posted) const noexcept {
  Pieces pieces;
  const std::uint64_t least = posted > stream_->ring_bytes() ? posted - stream_->ring_bytes() : 0;
  const std::uint64_t from = std::clamp(next_, least, posted);
  for (std::uint64_t at = from; at < posted; at += kPiece) pieces[place_of(at)] = !has_landed(at);
  for (std::uint64_t at = least; at < from; at += kPiece) pieces[place_of(at)] = !has_landed(at);
  return pieces;
}

void StreamLook::at_command() noexcept {
  posted_at_command_ = stream_->posted();
  reads_at_command_ = stream_->read_posted() - stream_->read_completed();
  open_at_command_ = open(posted_at_command_);
  mark_reads(Stream::kDuring + ++commands_);
}

void StreamLook::at_answer(First first) noexcept {
  if (first == First::Reads) mark_reads(Stream::kAfter);
  posted_at_answer_ = stream_->posted();
  open_at_answer_ = open(posted_at_answer_);
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

/// A place that is written again has landed before: no two WRITEs under way meet there.
std::uint64_t StreamLook::landed_by_answer() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t place = 0; place < open_at_command_.size(); ++place) {
    const bool is_open = open_at_answer_[place] &&
                         byte_at(place, posted_at_command_) == byte_at(place, posted_at_answer_);
    if (open_at_command_[place] && !is_open) bytes += kPiece;
  }
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
  for (std::size_t place = 0; place < open_at_answer_.size(); ++place)
    if (open_at_answer_[place] && has_landed(byte_at(place, posted_at_answer_)))
      found.late += kPiece;
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
