// SPDX-License-Identifier: BSD-3-Clause
//
// Keys that an application lays out itself, by WQEs as libmlx5 builds them: a list of pieces of any
// length (mlx5dv_wr_mr_list) and a pattern that repeats (mlx5dv_wr_mr_interleaved), used for all
// that a key is used for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::WqeOpcode;

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::uint32_t kRoom = 8;  // octowords

// MLX5_WQE_UMR_CTRL_* of mlx5dv.h
constexpr std::uint8_t kInline = 1 << 7;
constexpr std::uint64_t kLen = 1 << 0, kMkey = 1 << 13, kAccess = 0xf << 18, kFree = 1 << 29;

class ScatteredKey : public ::testing::Test {
 protected:
  ScatteredKey() {
    fill_pattern(pieces.bytes, 3);
    QpOptions options;
    options.log_rq_size = 2;
    host.connect(kClient, kServer, options);
    host.connect(kServer, kClient, options);
  }
  /// umr_sg_list_create.
  [[nodiscard]] std::vector<std::byte> list(std::span<const Piece> all) const {
    std::vector<std::byte> out = segments_of(all);
    out.resize((out.size() + 63) / 64 * 64);
    return out;
  }
  /// umr_strided_seg_create.
  struct Stride {
    std::uint64_t at = 0;
    std::uint32_t bytes = 0;
    std::uint32_t skip = 0;
  };
  [[nodiscard]] std::vector<std::byte> pattern(std::uint32_t repeats,
                                               std::span<const Stride> strides) const {
    std::vector<std::byte> out((16 * (strides.size() + 1) + 63) / 64 * 64);
    const std::span<std::byte> all(out);
    std::uint32_t cycle = 0;
    for (std::size_t i = 0; i < strides.size(); ++i) {
      const auto entry = all.subspan(16 * (i + 1), 16);
      put_be(entry.first(2), strides[i].bytes + strides[i].skip);
      put_be(entry.subspan(2, 2), strides[i].bytes);
      put_be(entry.subspan(4, 4), pieces_key);
      put_be(entry.subspan(8, 8), address_of(pieces) + strides[i].at);
      cycle += strides[i].bytes;
    }
    put_be(all.first(4), cycle);
    put_be(all.subspan(4, 4), 0x400);
    put_be(all.subspan(8, 4), repeats);
    put_be(all.subspan(14, 2), strides.size());
    return out;
  }
  /// mlx5_send_wr_mkey_configure and the setters behind it.
  Cqe configure(std::uint32_t key, std::span<const std::byte> translations, std::uint64_t length) {
    std::vector<std::byte> all(48 + 64 + translations.size());
    const std::span<std::byte> control(all), mkey = control.subspan(48);
    control[0] = std::byte{kInline};
    put_be(control.subspan(4, 2), translations.size() / 16);
    put_be(control.subspan(8, 8), kLen | kMkey | kAccess | kFree);
    mkey[2] = std::byte{0x38};  // local write, remote read, remote write
    put_be(mkey.subspan(4, 4), 0xffffff00U | (key & 0xff));
    put_be(mkey.subspan(24, 8), length);
    std::ranges::copy(translations, all.begin() + 48 + 64);
    host.post_raw(kServer, WqeOpcode::UMR, all, true, key);
    host.ring(kServer);
    host.run();
    return only_completion();
  }
  [[nodiscard]] std::uint32_t free_key() {
    return host.make_free_key(prm::MkcAccessMode::KLMS, kRoom, kPd);
  }
  /// Of three pieces: 8, 24 and 100 bytes.
  [[nodiscard]] std::uint32_t three_pieces() {
    const std::uint32_t key = free_key();
    const std::array all{Piece{address_of(pieces) + 64, 8, pieces_key},
                         Piece{address_of(pieces), 24, pieces_key},
                         Piece{address_of(pieces) + 4000, 100, pieces_key}};
    EXPECT_EQ(configure(key, list(all), 132).opcode, CqeOpcode::REQ);
    return key;
  }
  [[nodiscard]] std::vector<std::byte> in_order() const {
    std::vector<std::byte> all;
    const auto add = [&](std::size_t at, std::size_t bytes) {
      const auto part = pieces.bytes.subspan(at, bytes);
      all.insert(all.end(), part.begin(), part.end());
    };
    add(64, 8);
    add(0, 24);
    add(4000, 100);
    return all;
  }
  [[nodiscard]] Cqe only_completion() {
    const auto all = host.drain_cq();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Cqe{} : all.front();
  }

  Host host;
  Region pieces = host.map(8192);
  Region plain = host.map(4096);
  std::uint32_t pieces_key = host.make_key(pieces, access::kLocalRead | access::kLocalWrite);
  std::uint32_t plain_key =
      host.make_key(plain, access::kLocalRead | access::kLocalWrite | access::kRemoteWrite);
};

TEST_F(ScatteredKey, Write_GathersItsPiecesInOrder) {
  const std::uint32_t key = three_pieces();
  host.post_and_ring(kServer, {address_of(plain), plain_key, key, 0, 132, true});
  host.run();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(std::ranges::equal(plain.bytes.first(132), in_order()));
}

TEST_F(ScatteredKey, ReadOfAPeer_GathersItsPiecesInOrder) {
  const std::uint32_t key = three_pieces();
  host.post_rdma(kClient, WqeOpcode::RDMA_READ, {4, key, plain_key, address_of(plain), 128, true});
  host.ring(kClient);
  host.run();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const std::vector<std::byte> all = in_order();
  EXPECT_TRUE(std::ranges::equal(plain.bytes.first(128), std::span(all).subspan(4)));
}

TEST_F(ScatteredKey, WriteOfAPeer_ScattersIntoItsPieces) {
  const std::uint32_t key = three_pieces();
  fill_pattern(plain.bytes, 9);
  host.post_and_ring(kClient, {0, key, plain_key, address_of(plain), 132, true});
  host.run();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(std::ranges::equal(plain.bytes.first(132), in_order()));
}

TEST_F(ScatteredKey, Receive_IsFilledPieceByPiece) {
  const std::uint32_t key = three_pieces();
  fill_pattern(plain.bytes, 11);
  const std::array receive{Piece{0, 132, key}};
  host.post_receive(kServer, receive);
  const std::array segments{Piece{address_of(plain), 132, plain_key}};
  host.post_raw(kClient, WqeOpcode::SEND, segments_of(segments));
  host.ring(kClient);
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 2U);
  EXPECT_TRUE(std::ranges::equal(plain.bytes.first(132), in_order()));
}

TEST_F(ScatteredKey, AtomicAcrossTwoPieces_IsRefused) {
  const std::uint32_t key = free_key();
  const std::array all{Piece{address_of(pieces), 4, pieces_key},
                       Piece{address_of(pieces) + 64, 4, pieces_key}};
  ASSERT_EQ(configure(key, list(all), 8).opcode, CqeOpcode::REQ);
  host.post_atomic(kClient, WqeOpcode::ATOMIC_FA,
                   {.rkey = key, .lkey = plain_key, .address = address_of(plain), .swap_add = 1});
  host.ring(kClient);
  host.run();
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(ScatteredKey, Pattern_GoesThroughItsEntriesAStrideFurtherEachTime) {
  const std::uint32_t key = free_key();
  const std::array strides{Stride{0, 8, 2}, Stride{64, 4, 12}};
  ASSERT_EQ(configure(key, pattern(3, strides), 36).opcode, CqeOpcode::REQ);
  host.post_and_ring(kServer, {address_of(plain), plain_key, key, 0, 36, true});
  host.run();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  const auto is_at = [&](std::size_t at, std::size_t from, std::size_t bytes) {
    return std::ranges::equal(plain.bytes.subspan(at, bytes), pieces.bytes.subspan(from, bytes));
  };
  EXPECT_TRUE(is_at(0, 0, 8));
  EXPECT_TRUE(is_at(8, 64, 4));
  EXPECT_TRUE(is_at(12, 10, 8));
  EXPECT_TRUE(is_at(20, 80, 4));
  EXPECT_TRUE(is_at(24, 20, 8));
  EXPECT_TRUE(is_at(32, 96, 4));
}

TEST_F(ScatteredKey, PatternThatCoversLessThanTheKey_EndsInABindError) {
  const std::uint32_t key = free_key();
  const std::array strides{Stride{0, 8, 2}};
  EXPECT_EQ(configure(key, pattern(3, strides), 25).syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(ScatteredKey, PatternWhoseCycleIsNotTheSumOfItsEntries_EndsInABindError) {
  const std::uint32_t key = free_key();
  const std::array strides{Stride{0, 8, 2}};
  auto list = pattern(2, strides);
  put_be(std::span(list).first(4), 9);
  EXPECT_EQ(configure(key, list, 16).syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(ScatteredKey, PatternOfMoreEntriesThanBehindIt_EndsInABindError) {
  const std::uint32_t key = free_key();
  const std::array strides{Stride{0, 8, 2}};
  auto list = pattern(2, strides);
  put_be(std::span(list).subspan(14, 2), 5);
  EXPECT_EQ(configure(key, list, 16).syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(ScatteredKey, PatternThatRepeatsForEver_EndsInABindError) {
  const std::uint32_t key = free_key();
  const std::array strides{Stride{0, 8, 2}};
  EXPECT_EQ(configure(key, pattern(0xffffffff, strides), 8).syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(ScatteredKey, ListInPlaceOfAPattern_LeavesNothingOfIt) {
  const std::uint32_t key = free_key();
  const std::array strides{Stride{0, 8, 2}};
  ASSERT_EQ(configure(key, pattern(6, strides), 48).opcode, CqeOpcode::REQ);
  const std::array all{Piece{address_of(pieces), 24, pieces_key}};
  EXPECT_EQ(configure(key, list(all), 48).syndrome, CqeSyndrome::MW_BIND_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
