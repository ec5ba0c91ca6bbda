// SPDX-License-Identifier: BSD-3-Clause
//
// The hypothesis that a card goes on serving a QP from a cache after 2ERR_QP: behaviour
// dispatch-cache, off and on, and dispatch-cache-keeps-key, which lets WRITEs past the key check
// too. A bare port sends frames and sees what is answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPsn = 0x123;  // QpOptions::psn
constexpr std::uint64_t kCacheMs = 3;
constexpr std::size_t kBytes = 64;

class QpInError : public ::testing::Test {
 protected:
  QpInError() {
    fill_pattern(pattern, 11);
    host.connect(kQpn, 0x777, {.dest_mac = kPeerMac, .dest_gid = kPeerGid});
  }

  void cache() { host.behaviours().dispatch_cache_ms = kCacheMs; }
  void cache_with_key() {
    cache();
    host.behaviours().dispatch_cache_keeps_key = true;
  }
  void to_error() {
    ASSERT_TRUE(host.modify(kQpn, QpTransition::ToErr).ok());
    host.run();
  }
  void send(BthOpcode opcode, std::size_t at) {
    PacketHeader header;
    header.opcode = opcode;
    header.ack_request = true;
    header.psn = psn++;
    header.va = address + at;
    header.rkey = key;
    header.dma_length = kBytes;
    const bool is_write = opcode == BthOpcode::WriteOnly;
    peer.send(path, header, std::span(pattern).first(is_write ? kBytes : 0));
    host.run();
    answers = peer.take();
  }
  void write(std::size_t at) { send(BthOpcode::WriteOnly, at); }
  /// One in RTS, so that there is something to cache.
  void write_then_error() {
    write(0);
    to_error();
  }
  [[nodiscard]] bool is_written(std::size_t at) const {
    return std::ranges::equal(region.bytes.subspan(at, kBytes), pattern);
  }
  [[nodiscard]] bool is_untouched(std::size_t at) const {
    return std::ranges::all_of(region.bytes.subspan(at, kBytes),
                               [](std::byte b) { return b == std::byte{0}; });
  }
  void expect_answer(std::uint8_t code) {
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].syndrome, code);
  }

  Host host;
  Peer peer{host};
  Path path = Peer::path_to(kQpn);
  std::array<std::byte, kBytes> pattern{};
  Region region = host.map(2 * kPageBytes);
  std::uint64_t address = std::bit_cast<std::uint64_t>(region.bytes.data());
  std::uint32_t key = host.make_key(region, access::kRemoteWrite | access::kRemoteRead);
  std::uint32_t psn = kPsn;
  std::vector<Packet> answers;
};

// ---- dispatch-cache ----

TEST_F(QpInError, WithoutTheCache_IsSilentAndWritesNothing) {
  write_then_error();
  write(128);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, Cached_WriteLandsAndIsAcknowledged) {
  cache();
  write_then_error();
  write(128);
  expect_answer(syndrome::kAckUnlimited);
  EXPECT_TRUE(is_written(128));
}

TEST_F(QpInError, Cached_ReadIsServed) {
  cache();
  write_then_error();
  send(BthOpcode::ReadRequest, 0);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].opcode, static_cast<std::uint8_t>(BthOpcode::ReadResponseOnly));
  EXPECT_TRUE(std::ranges::equal(answers[0].payload, pattern));
}

TEST_F(QpInError, Cached_UntilTheTimeIsOver) {
  cache();
  write_then_error();
  host.run_until(kCacheMs * kNsPerMs - 1);
  write(128);
  EXPECT_TRUE(is_written(128));
  host.run_until(kCacheMs * kNsPerMs);
  write(256);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(is_untouched(256));
}

TEST_F(QpInError, NothingReceivedBefore_NothingIsCached) {
  cache();
  to_error();
  write(0);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(is_untouched(0));
}

TEST_F(QpInError, CachedAndReset_IsSilent) {
  cache();
  write_then_error();
  ASSERT_TRUE(host.modify(kQpn, QpTransition::ToRst).ok());
  write(128);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, Cached_DeadKeyIsRefusedAndEndsIt) {
  cache();
  write_then_error();
  host.destroy_key(key);
  write(128);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_TRUE(is_untouched(128));
  write(128);
  EXPECT_TRUE(answers.empty());
}

// ---- dispatch-cache-keeps-key ----

TEST_F(QpInError, KeyKept_WriteUnderADeadKeyLands) {
  cache_with_key();
  write_then_error();
  host.destroy_key(key);
  write(128);
  expect_answer(syndrome::kAckUnlimited);
  EXPECT_TRUE(is_written(128));
}

TEST_F(QpInError, KeyKept_UntilTheTimeIsOver) {
  cache_with_key();
  write_then_error();
  host.destroy_key(key);
  host.run_until(kCacheMs * kNsPerMs);
  write(128);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, KeyKept_ForThePageThatWasWrittenLastAlone) {
  cache_with_key();
  write_then_error();
  host.destroy_key(key);
  write(kPageBytes);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_TRUE(is_untouched(kPageBytes));
}

TEST_F(QpInError, KeyKept_AnotherKeyIsLookedAt) {
  cache_with_key();
  write_then_error();
  host.destroy_key(key);
  key ^= 1;
  write(128);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, KeyKept_NoneOfAnIndirectKey) {
  cache_with_key();
  const std::uint32_t direct = host.make_key(region, access::kLocalWrite);
  key = host.make_indirect_key(region, access::kRemoteWrite, direct);
  write_then_error();
  ASSERT_TRUE(is_written(0));
  host.destroy_key(key);
  write(128);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, KeyKept_NoneOfDeviceMemory) {
  cache_with_key();
  address = 0;
  key = host.make_device_key(access::kRemoteWrite);
  write_then_error();
  ASSERT_TRUE(std::ranges::equal(host.bar().first(kBytes), pattern));
  host.destroy_key(key);
  write(128);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_EQ(host.counters().dma_faults, 0U);
}

TEST_F(QpInError, NothingKeptOfAnIndirectKey_KeyZeroIsRefused) {
  cache_with_key();
  const std::uint32_t direct = host.make_key(region, access::kLocalWrite);
  key = host.make_indirect_key(region, access::kRemoteWrite, direct);
  write_then_error();
  key = 0;
  write(128);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, KeyKept_ReadMeetsItsCheck) {
  cache_with_key();
  write_then_error();
  host.destroy_key(key);
  send(BthOpcode::ReadRequest, 0);
  expect_answer(syndrome::kNakRemoteAccessError);
}

TEST_F(QpInError, KeyKept_BeforeTheErrorEveryKeyIsLookedAt) {
  cache_with_key();
  write(0);
  host.destroy_key(key);
  write(128);
  expect_answer(syndrome::kNakRemoteAccessError);
  EXPECT_TRUE(is_untouched(128));
}

TEST_F(QpInError, KeyKeptWithoutTheCache_IsSilent) {
  host.behaviours().dispatch_cache_keeps_key = true;
  write_then_error();
  write(128);
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(is_untouched(128));
}

}  // namespace
}  // namespace portcullis::model::testing
