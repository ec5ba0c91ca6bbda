// SPDX-License-Identifier: BSD-3-Clause
//
// Frames: a header and a body, made and taken apart. A transport that keeps messages apart hands
// over a frame at a time (read_frame); of one that carries a stream, FrameReader finds them. Bytes
// that come are not trusted: what does not hold is a Refusal, which says what and is sent back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "wire/messages.hpp"

namespace portcullis::wire {

using FrameBytes = std::vector<std::byte>;

struct Frame {
  Header header;
  std::span<const std::byte> body;  // of the bytes it was read from
};

template <class T>
using Read = tl::expected<T, Refusal>;

[[nodiscard]] Refusal refusal(Code code, std::uint16_t op, std::string_view text);

/// `bytes` is one frame and nothing else. Malformed for any other length, UnknownVersion.
[[nodiscard]] Read<Frame> read_frame(std::span<const std::byte> bytes);

namespace detail {
[[nodiscard]] FrameBytes start_frame(std::uint16_t op, std::uint64_t request_id,
                                     std::size_t body_bytes);
[[nodiscard]] Refusal wrong_length(const Frame& frame, std::size_t wanted);
[[nodiscard]] Refusal reserved_not_zero(const Frame& frame);
}  // namespace detail

template <class Body>
[[nodiscard]] FrameBytes make_frame(std::uint16_t op, std::uint64_t request_id, const Body& body) {
  FrameBytes frame = detail::start_frame(op, request_id, kBytes<Body>);
  encode(body, std::span(frame).subspan(kBytes<Header>));
  return frame;
}
template <class Body>
[[nodiscard]] FrameBytes make_notice(Notice notice, const Body& body) {
  return make_frame(number(notice), 0, body);
}
[[nodiscard]] FrameBytes make_list(std::uint64_t request_id, std::uint64_t next_cursor,
                                   std::span<const LeaseRow> rows);

[[nodiscard]] FrameBytes make_history(std::uint64_t request_id, HistoryAnswer head,
                                      std::span<const HistoryRow> rows);

/// Malformed unless the frame's body is one Body, with zeros where it is reserved.
template <class Body>
[[nodiscard]] Read<Body> read_body(const Frame& frame) {
  if (frame.body.size() != kBytes<Body>)
    return tl::unexpected(detail::wrong_length(frame, kBytes<Body>));
  const auto body = decode<Body>(frame.body);
  if (!body) return tl::unexpected(detail::reserved_not_zero(frame));
  return *body;
}

struct LeaseList {
  std::uint64_t next_cursor = 0;
  std::vector<LeaseRow> rows;
};
[[nodiscard]] Read<LeaseList> read_list(const Frame& frame);

struct History {
  std::uint64_t from_unix_ms = 0;
  bool has_more = false;
  std::vector<HistoryRow> rows;
};
[[nodiscard]] Read<History> read_history(const Frame& frame);

/// The frames of a stream of bytes, one after the other.
class FrameReader {
 public:
  /// Bytes as they came, any number.
  void push(std::span<const std::byte> bytes);
  /// The next frame's bytes, for read_frame(), until the next push(); none until it is whole. A
  /// length that no frame has ends the stream: its header is handed over, which read_frame()
  /// refuses, and nothing after it.
  [[nodiscard]] std::optional<std::span<const std::byte>> next();
  /// What has come of a frame that is not whole.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept {
    return std::span<const std::byte>(buffer_).subspan(at_);
  }

 private:
  FrameBytes buffer_;
  std::size_t at_ = 0;
  bool has_ended_ = false;
};

}  // namespace portcullis::wire
