// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that claim to be frames of leased, as a stream brings them and as a message. However the
// stream is cut, the same frames come out; what is read as a body is written back as the same
// bytes, so nothing was made up and nothing passed over; a refusal is one printable line.
//
// An input is a byte that says how the stream is cut, and the stream.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "wire/frame.hpp"

namespace {

namespace wire = portcullis::wire;
using Bytes = std::span<const std::byte>;

void require(bool held) {
  if (!held) std::abort();
}

void check_refusal(const wire::Refusal& refusal) {
  require(static_cast<std::uint16_t>(refusal.code) != 0);
  const std::string text = wire::text_of(refusal.text);
  require(!text.empty() && text.find('?') == std::string::npos);
}

/// Every byte of `taken` is one that was read.
void check_same(const wire::FrameBytes& written, const wire::Frame& read) {
  require(std::ranges::equal(Bytes(written).subspan(wire::kBytes<wire::Header>), read.body));
}

template <class Body>
void check_body(const wire::Frame& frame) {
  const auto body = wire::read_body<Body>(frame);
  if (!body) return check_refusal(body.error());
  check_same(wire::make_frame(frame.header.op, frame.header.request_id, *body), frame);
}
template <class... Bodies>
void check_bodies(const wire::Frame& frame) {
  (check_body<Bodies>(frame), ...);
}

void check_tables(const wire::Frame& frame) {
  if (const auto list = wire::read_list(frame))
    check_same(wire::make_list(frame.header.request_id, list->next_cursor, list->rows), frame);
  else
    check_refusal(list.error());
  const auto history = wire::read_history(frame);
  if (!history) return check_refusal(history.error());
  const wire::HistoryAnswer head{.from_unix_ms = history->from_unix_ms,
                                 .has_more = static_cast<std::uint8_t>(history->has_more)};
  const auto again = wire::make_history(frame.header.request_id, head, history->rows);
  // Whatever is not 0 is read as 1.
  require(again.size() == frame.body.size() + wire::kBytes<wire::Header>);
}

void check_message(Bytes bytes) {
  const auto frame = wire::read_frame(bytes);
  if (!frame) return check_refusal(frame.error());
  require(frame->header.length == bytes.size() && frame->header.version == wire::kVersion);
  check_bodies<wire::HelloRequest, wire::HelloAnswer, wire::AllocRequest, wire::AllocAnswer,
               wire::RenewRequest, wire::RenewAnswer, wire::ChallengeRequest, wire::ChallengeAnswer,
               wire::RevokeRequest, wire::RevokeAnswer, wire::RevokeTenantRequest,
               wire::RevokeTenantAnswer, wire::ListRequest, wire::HistoryRequest,
               wire::WatchRequest, wire::WatchAnswer, wire::StatusRequest, wire::StatusAnswer,
               wire::EndedNotice, wire::RestartedNotice, wire::Refusal>(*frame);
  check_tables(*frame);
}

/// What comes out when `part` bytes come at a time.
std::vector<wire::FrameBytes> frames_of(Bytes stream, std::size_t part) {
  std::vector<wire::FrameBytes> frames;
  wire::FrameReader reader;
  while (!stream.empty()) {
    const std::size_t count = std::min(part, stream.size());
    reader.push(stream.first(count));
    stream = stream.subspan(count);
    while (const auto frame = reader.next()) frames.emplace_back(frame->begin(), frame->end());
    require(reader.rest().size() < wire::kMostFrameBytes + part);
  }
  return frames;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  const Bytes stream = std::as_bytes(std::span(data + 1, bytes - 1));
  check_message(stream);
  const auto frames = frames_of(stream, stream.size());
  require(frames == frames_of(stream, std::size_t{1} + data[0]));
  for (const wire::FrameBytes& frame : frames) check_message(frame);
  return 0;
}
