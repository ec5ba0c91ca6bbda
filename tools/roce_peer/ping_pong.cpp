// SPDX-License-Identifier: BSD-3-Clause
#include "tools/roce_peer/ping_pong.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/dma_bytes.hpp"

namespace portcullis::tools::roce_peer {
namespace {

/// Messages that may come before one has been looked at.
constexpr std::size_t kReceives = 8;

}  // namespace

Result<PingPong> PingPong::create(Connection& connection, const PingPongOptions& options) {
  const std::size_t most = Connection::kBufferBytes / (kReceives + 1);
  if (options.bytes == 0 || options.bytes > most)
    return fail(Errc::InvalidArgument,
                fmt::format("messages of {} bytes; 1 to {} are accepted", options.bytes, most));
  // What is sent stands first in the buffer, a slot for each receive behind it.
  for (std::size_t i = 1; i <= kReceives; ++i)
    PORTCULLIS_TRY(connection.post_receive(i * options.bytes, options.bytes));
  return PingPong(connection, options);
}

Result<PingPongReport> PingPong::run() {
  std::uint64_t received = 0;
  std::uint64_t until_ns = 0;
  while (true) {
    if (options_.stop && options_.stop()) return fail(Errc::Busy, "interrupted");
    const std::uint64_t now = connection_->clock().now_ns();
    if (until_ns == 0 || std::exchange(received, report_.received) != report_.received)
      until_ns = now + options_.deadline_ms * kNsPerMs;
    PORTCULLIS_TRY_ASSIGN(const bool done, step(until_ns));
    if (done) return report_;
    if (connection_->clock().now_ns() >= until_ns)
      return fail(Errc::Timeout,
                  fmt::format("no message within {} ms, after {} of {}", options_.deadline_ms,
                              report_.received, options_.rounds));
  }
}

Result<bool> PingPong::step(std::uint64_t until_ns) {
  PORTCULLIS_TRY(send_if_due());
  if (is_done()) return true;
  PORTCULLIS_TRY_ASSIGN(const auto done, connection_->wait_for_any(until_ns));
  if (done) PORTCULLIS_TRY(take(*done));
  PORTCULLIS_TRY(send_if_due());
  return is_done();
}

Result<void> PingPong::take(const pmd::Completion& done) {
  if (!done.ok()) return fail(Errc::CommandFailed, pmd::describe(done));
  if (done.opcode != prm::WcOpcode::RECV) {
    ++sends_done_;
    return {};
  }
  if (done.byte_count != options_.bytes)
    return fail(Errc::Malformed, fmt::format("message {} has {} bytes; {} were sent",
                                             report_.received, done.byte_count, options_.bytes));
  if (sends_ != 0) {
    PORTCULLIS_TRY(compare(done.wr_id));
    ++report_.compared;
  }
  ++report_.received;
  owes_message_ = sends_ < options_.rounds;
  return connection_->post_receive(done.wr_id, options_.bytes);
}

/// The next message, once the last is known to have arrived and its echo is here.
Result<void> PingPong::send_if_due() {
  if (!owes_message_ || sends_done_ < sends_) return {};
  owes_message_ = false;
  for (std::byte& byte : sent_) byte = static_cast<std::byte>(random_());
  dma_copy(connection_->buffer().data(), sent_.data(), sent_.size());
  ++sends_;
  return connection_->post_send(0, options_.bytes);
}

Result<void> PingPong::compare(std::size_t offset) const {
  std::vector<std::byte> came(options_.bytes);
  dma_copy(came.data(), connection_->buffer().data() + offset, came.size());
  const auto [is, was] = std::ranges::mismatch(came, sent_);
  if (is == came.end()) return {};
  return fail(Errc::Malformed,
              fmt::format("byte {:#x} of message {} is {:#04x}; {:#04x} was sent",
                          is - came.begin(), report_.received, std::to_integer<unsigned>(*is),
                          std::to_integer<unsigned>(*was)));
}

}  // namespace portcullis::tools::roce_peer
