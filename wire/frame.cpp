// SPDX-License-Identifier: BSD-3-Clause
#include "wire/frame.hpp"

#include <algorithm>
#include <string>

namespace portcullis::wire {
namespace {

/// "LEASE_REVOKE", or "op 0x0299".
std::string op_text(std::uint16_t op) {
  if (is_known_op(op)) return std::string(name(static_cast<Op>(op)));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "op 0x";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[op >> shift & 0xf];
  return text;
}

bool is_frame_length(std::uint32_t length) noexcept {
  return length >= kBytes<Header> && length <= kMostFrameBytes;
}

Refusal wrong_frame_length(const Header& header) {
  return refusal(Code::Malformed, header.op,
                 "length " + std::to_string(header.length) + "; a frame has 16 to " +
                     std::to_string(kMostFrameBytes) + " bytes");
}

/// `bytes` holds a header at least.
Read<Header> read_header(std::span<const std::byte> bytes) {
  const Header header = *decode<Header>(bytes.first<kBytes<Header>>());
  if (!is_frame_length(header.length)) return tl::unexpected(wrong_frame_length(header));
  if (header.version != kVersion)
    return tl::unexpected(refusal(Code::UnknownVersion, header.op,
                                  "version " + std::to_string(header.version) + "; 1 is accepted"));
  return header;
}

}  // namespace

Refusal refusal(Code code, std::uint16_t op, std::string_view text) {
  Refusal made{.code = code, .op = op};
  put_text(made.text, text);
  return made;
}

Read<Frame> read_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < kBytes<Header>)
    return tl::unexpected(
        refusal(Code::Malformed, 0,
                std::to_string(bytes.size()) + " bytes; a frame begins with a header of 16"));
  const auto header = read_header(bytes);
  if (!header) return tl::unexpected(header.error());
  if (header->length != bytes.size())
    return tl::unexpected(refusal(Code::Malformed, header->op,
                                  "length " + std::to_string(header->length) + " in a message of " +
                                      std::to_string(bytes.size()) + " bytes"));
  return Frame{*header, bytes.subspan(kBytes<Header>)};
}

FrameBytes detail::start_frame(std::uint16_t op, std::uint64_t request_id, std::size_t body_bytes) {
  FrameBytes frame(kBytes<Header> + body_bytes);
  encode(
      Header{
          .length = static_cast<std::uint32_t>(frame.size()), .op = op, .request_id = request_id},
      frame);
  return frame;
}

Refusal detail::wrong_length(const Frame& frame, std::size_t wanted) {
  return refusal(Code::Malformed, frame.header.op,
                 op_text(frame.header.op) + ": a body of " + std::to_string(frame.body.size()) +
                     " bytes; " + std::to_string(wanted) + " are accepted");
}

Refusal detail::reserved_not_zero(const Frame& frame) {
  return refusal(Code::Malformed, frame.header.op,
                 op_text(frame.header.op) + ": a reserved byte is not 0");
}

namespace {

/// A head whose `count` says how many rows follow.
template <class Head, class Row>
FrameBytes make_table(Op op, std::uint64_t request_id, Head head, std::span<const Row> rows) {
  head.count = static_cast<std::uint32_t>(rows.size());
  FrameBytes frame =
      detail::start_frame(answer_to(op), request_id, kBytes<Head> + rows.size() * kBytes<Row>);
  auto to = std::span(frame).subspan(kBytes<Header>);
  encode(head, to);
  to = to.subspan(kBytes<Head>);
  for (const Row& row : rows) {
    encode(row, to);
    to = to.subspan(kBytes<Row>);
  }
  return frame;
}

template <class Head, class Row>
Read<Head> read_table(const Frame& frame, std::vector<Row>& rows) {
  if (frame.body.size() < kBytes<Head>)
    return tl::unexpected(detail::wrong_length(frame, kBytes<Head>));
  const auto head = decode<Head>(frame.body.first(kBytes<Head>));
  if (!head) return tl::unexpected(detail::reserved_not_zero(frame));
  auto from = frame.body.subspan(kBytes<Head>);
  // No product: a count of the wire's may be anything.
  if (from.size() % kBytes<Row> != 0 || head->count != from.size() / kBytes<Row>)
    return tl::unexpected(refusal(Code::Malformed, frame.header.op,
                                  op_text(frame.header.op & ~kAnswerBit) + ": count " +
                                      std::to_string(head->count) + " and " +
                                      std::to_string(from.size()) + " bytes of rows"));
  for (; !from.empty(); from = from.subspan(kBytes<Row>)) {
    const auto row = decode<Row>(from.first(kBytes<Row>));
    if (!row) return tl::unexpected(detail::reserved_not_zero(frame));
    rows.push_back(*row);
  }
  return *head;
}

}  // namespace

FrameBytes make_list(std::uint64_t request_id, std::uint64_t next_cursor,
                     std::span<const LeaseRow> rows) {
  return make_table(Op::LeaseList, request_id, ListAnswer{.next_cursor = next_cursor}, rows);
}

Read<LeaseList> read_list(const Frame& frame) {
  LeaseList list;
  const auto head = read_table<ListAnswer>(frame, list.rows);
  if (!head) return tl::unexpected(head.error());
  list.next_cursor = head->next_cursor;
  return list;
}

FrameBytes make_history(std::uint64_t request_id, HistoryAnswer head,
                        std::span<const HistoryRow> rows) {
  return make_table(Op::LeaseHistory, request_id, head, rows);
}

Read<History> read_history(const Frame& frame) {
  History history;
  const auto head = read_table<HistoryAnswer>(frame, history.rows);
  if (!head) return tl::unexpected(head.error());
  history.from_unix_ms = head->from_unix_ms;
  history.has_more = head->has_more != 0;
  return history;
}

void FrameReader::push(std::span<const std::byte> bytes) {
  if (has_ended_) return;
  // What was handed out is no longer looked at.
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<std::span<const std::byte>> FrameReader::next() {
  const auto left = rest();
  if (has_ended_ || left.size() < kBytes<Header>) return std::nullopt;
  const std::uint32_t length = decode<Header>(left.first<kBytes<Header>>())->length;
  has_ended_ = !is_frame_length(length);
  if (has_ended_) at_ = buffer_.size();
  if (has_ended_) return left.first(kBytes<Header>);
  if (left.size() < length) return std::nullopt;
  at_ += length;
  return left.first(length);
}

std::string text_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (byte == 0) break;
    text += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '?';
  }
  return text;
}

bool is_text(std::span<const std::uint8_t> bytes) noexcept {
  const auto end = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  return std::all_of(bytes.begin(), end,
                     [](std::uint8_t byte) { return byte >= 0x20 && byte < 0x7f; }) &&
         std::all_of(end, bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

void put_text(std::span<std::uint8_t> bytes, std::string_view text) noexcept {
  const std::size_t fits = std::min(text.size(), bytes.size());
  std::copy_n(text.begin(), fits, bytes.begin());
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(fits), bytes.end(), std::uint8_t{0});
}

}  // namespace portcullis::wire
