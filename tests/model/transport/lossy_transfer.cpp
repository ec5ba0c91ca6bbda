// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/transport/lossy_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.hpp"
#include "model/behaviours.hpp"
#include "model/transport/frame_faults.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::WqeOpcode;

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint32_t kAckTimeout = 8;  // 1 ms

}  // namespace

Transfer::Transfer(std::uint64_t seed, const Words& words) : random_(seed) {
  host_.wire().seed_faults(0, seed);
  for (const FrameFaultRule& rule : frame_faults(*find_behaviours(words, "")))
    host_.transport().inject(rule);
  fill_pattern(from_.bytes, static_cast<std::uint32_t>(seed));
  const QpOptions options{.log_rq_size = 4, .ack_timeout = kAckTimeout};
  host_.connect(kClient, kServer, options);
  host_.connect(kServer, kClient, options);
  for (std::uint32_t slot = 0; slot < kMessages; ++slot) post(slot);
  host_.ring(kClient);
}

Outcome Transfer::run() {
  constexpr std::uint64_t kPatienceNs = 60 * kNsPerSecond;
  host_.run_until(kPatienceNs);
  Outcome outcome;
  outcome.hanging = kMessages;
  std::uint64_t adds_done = 0;
  for (const Cqe& cqe : host_.drain_cq()) {
    if (cqe.qpn != kClient) continue;
    const std::uint32_t slot = kMessages - outcome.hanging--;
    if (cqe.opcode != CqeOpcode::REQ) continue;
    ++outcome.succeeded;
    adds_done += kinds_[slot] == Kind::FetchAdd ? 1 : 0;
    outcome.wrong += arrived(slot) ? 0 : 1;
  }
  outcome.wrong += strayed() || !counts_right(adds_done) ? 1 : 0;
  outcome.frames = host_.counters().frames_sent;
  outcome.ended_ns = host_.now_ns();
  return outcome;
}

std::uint64_t Transfer::address(const Region& region, std::uint32_t slot) {
  return std::bit_cast<std::uint64_t>(region.bytes.data()) + std::uint64_t{slot} * kSlotBytes;
}

/// A message of a seeded kind and length into the slot of its number.
void Transfer::post(std::uint32_t slot) {
  const Kind kind = kinds_[slot] = Kind{static_cast<std::uint8_t>(random_.below(kKinds))};
  const std::uint32_t length = lengths_[slot] = 1 + random_.below(kSlotBytes - 1);
  const WriteRequest out{address(to_, slot), rkey_, lkey_, address(from_, slot), length};
  const std::array pieces{Piece{out.address, length, lkey_}};
  const std::array receive{Piece{out.raddr, kSlotBytes, rkey_}};
  switch (kind) {
    case Kind::Write:
      return host_.post(kClient, out);
    case Kind::WriteImmediate:
      host_.post_receive(kServer, {});
      return host_.post_rdma(kClient, WqeOpcode::RDMA_WRITE_IMM, out, slot);
    case Kind::Send:
      host_.post_receive(kServer, receive);
      return host_.post_raw(kClient, WqeOpcode::SEND, segments_of(pieces));
    case Kind::Read:
      return host_.post_rdma(kClient, WqeOpcode::RDMA_READ,
                             {out.address, lkey_, rkey_, out.raddr, length});
    case Kind::FetchAdd:
      lengths_[slot] = sizeof(std::uint64_t);
      originals_[slot] = adds_++;
      return host_.post_atomic(kClient, WqeOpcode::ATOMIC_FA,
                               {address(counter_, 0), counter_key_, rkey_, out.raddr, 1, 0});
  }
}

bool Transfer::arrived(std::uint32_t slot) const {
  const std::size_t at = std::size_t{slot} * kSlotBytes;
  const auto got = to_.bytes.subspan(at, lengths_[slot]);
  if (kinds_[slot] != Kind::FetchAdd)
    return std::ranges::equal(from_.bytes.subspan(at, lengths_[slot]), got);
  std::uint64_t original = 0;
  std::memcpy(&original, got.data(), sizeof original);
  return original == originals_[slot];
}

/// Whether each FETCH_ADD that was said to be done was done, and none twice.
bool Transfer::counts_right(std::uint64_t done) const {
  std::uint64_t counter = 0;
  std::memcpy(&counter, counter_.bytes.data(), sizeof counter);
  return done <= counter && counter <= adds_;
}

/// Whether a byte changed that belongs to no message.
bool Transfer::strayed() const {
  for (std::uint32_t slot = 0; slot < kMessages; ++slot) {
    const auto rest =
        to_.bytes.subspan(std::size_t{slot} * kSlotBytes, kSlotBytes).subspan(lengths_[slot]);
    if (std::ranges::any_of(rest, [](std::byte b) { return b != std::byte{0}; })) return true;
  }
  return false;
}

Outcome run_seeds(std::uint64_t first, std::uint64_t count, const Words& words) {
  Outcome sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome run = Transfer(seed, words).run();
    EXPECT_EQ(run.wrong + run.hanging, 0U) << "seed " << seed;
    sum += run;
  }
  return sum;
}

}  // namespace portcullis::model::testing
