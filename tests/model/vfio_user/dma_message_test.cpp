// SPDX-License-Identifier: BSD-3-Clause
//
// DMA asked of the client by message: what may come before its answer, and how long it may take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "tests/model/vfio_user/client.hpp"

namespace portcullis::model::vfio_user {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(VfioUserServer, DmaWriteByMessage_ClientSeesAddressAndBytes) {
  negotiate();
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 36, MSG_WAITALL), 36);
    EXPECT_EQ(Bytes(raw.begin() + 16, raw.begin() + 36),
              words({{0x2000, 8}, {4, 8}, {0xddccbbaa, 4}}));
    send_raw(words({{static_cast<std::uint64_t>(raw[0] | raw[1] << 8), 2},
                    {12, 2},
                    {32, 4},
                    {1, 4},
                    {0, 4},
                    {0x2000, 8},
                    {4, 8}}));
  });
  const std::array data{std::byte{0xaa}, std::byte{0xbb}, std::byte{0xcc}, std::byte{0xdd}};
  EXPECT_TRUE(server_->dma_write(0x2000, data));
  guest.join();
}

TEST_F(VfioUserServer, UnmappedBeforeADmasReply_RepliedBeforeIt) {
  negotiate();
  ASSERT_EQ(map(0x100000, 4096, -1).flags, 1U);
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 32, MSG_WAITALL), 32);
    const Bytes id(raw.begin(), raw.begin() + 2);
    send_command(3, words({{24, 4}, {0, 4}, {0x100000, 8}, {4096, 8}}));
    EXPECT_EQ(recv(client_.get(), raw.data(), 40, MSG_WAITALL), 40);
    EXPECT_EQ(raw[8], 1U);
    send_raw(id + words({{11, 2}, {36, 4}, {1, 4}, {0, 4}, {0x2000, 8}, {4, 8}, {0x04030201, 4}}));
  });
  std::array<std::byte, 4> data{};
  EXPECT_TRUE(server_->dma_read(0x2000, data));
  guest.join();
  EXPECT_EQ(data[3], std::byte{4});
  EXPECT_THAT(backend_.ranges, IsEmpty());
}

TEST_F(VfioUserServer, DmaBeforeTheClientSaidItsVersion_FailsWithoutAMessage) {
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  negotiate();
  EXPECT_FALSE(server_->is_broken());
}

TEST_F(VfioUserServer, DmaRefusedByTheClient_IsAnError) {
  negotiate();
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 32, MSG_WAITALL), 32);
    send_raw(words({{static_cast<std::uint64_t>(raw[0] | raw[1] << 8), 2},
                    {11, 2},
                    {16, 4},
                    {0x21, 4},
                    {EFAULT, 4}}));
  });
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  guest.join();
}

TEST_F(VfioUserServer, ClientGoneDuringADmaMessage_EveryOtherFailsAndServingEnds) {
  negotiate();
  client_.reset();
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  EXPECT_FALSE(server_->dma_write(0x2000, data));
  EXPECT_TRUE(server_->is_broken());
  EXPECT_FALSE(server_->serve_one());
}

TEST_F(VfioUserServer, OtherReplyInsteadOfTheDmas_HungUp) {
  negotiate();
  send_raw(words({{0x7777, 2}, {11, 2}, {16, 4}, {1, 4}, {0, 4}}));
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  EXPECT_FALSE(server_->serve_one());
}

TEST_F(VfioUserServer, ManyCommandsBeforeADmasReply_EachServed) {
  negotiate();
  constexpr int kCommands = 100;
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 32, MSG_WAITALL), 32);
    for (int i = 0; i < kCommands; ++i) send_command(13, {});
    send_raw(Bytes(raw.begin(), raw.begin() + 2) +
             words({{11, 2}, {16, 4}, {0x21, 4}, {EFAULT, 4}}));
  });
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  guest.join();
  EXPECT_EQ(backend_.resets, kCommands);
  EXPECT_FALSE(server_->is_broken());
}

TEST_F(VfioUserServer, ResetDuringADma_DmaFailsAndItsLateReplyIsPassedOver) {
  negotiate();
  backend_.waiting = &*server_;
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 32, MSG_WAITALL), 32);
    const Bytes id(raw.begin(), raw.begin() + 2);
    send_command(13, {});
    EXPECT_EQ(recv(client_.get(), raw.data(), 16, MSG_WAITALL), 16);
    send_raw(id + words({{11, 2}, {36, 4}, {1, 4}, {0, 4}, {0x2000, 8}, {4, 8}, {0x04030201, 4}}));
  });
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  guest.join();
  EXPECT_TRUE(server_->serve_one());
  EXPECT_EQ(call(4, words({{16, 4}, {0, 4}, {0, 4}, {0, 4}})).flags, 1U);
}

TEST_F(VfioUserServer, LateReplyComesTwice_HungUp) {
  negotiate();
  backend_.waiting = &*server_;
  send_command(13, {});
  std::array<std::byte, 4> data{};
  EXPECT_FALSE(server_->dma_read(0x2000, data));
  const Bytes late = words({{1, 2}, {11, 2}, {16, 4}, {0x21, 4}, {EFAULT, 4}});
  send_raw(late + late);
  EXPECT_TRUE(server_->serve_one());
  EXPECT_FALSE(server_->serve_one());
}

TEST_F(VfioUserServer, DeviceWithoutRoomDuringADma_NoMoreIsReadAndTheConnectionEnds) {
  negotiate();
  backend_.room = false;
  send_command(10, words({{0x18, 8}, {0, 4}, {4, 4}, {0x01000000, 4}}));
  std::array<std::byte, 4> data{};
  const auto read = server_->dma_read(0x2000, data);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text, HasSubstr("too many stores to the BAR"));
  EXPECT_THAT(backend_.writes, IsEmpty());
  EXPECT_FALSE(server_->serve_one());
}

/// A server with little patience and a client that uses it up.
class ImpatientVfioUserServer : public VfioUserServer {
 protected:
  static constexpr int kPatienceMs = 1'000;
  ImpatientVfioUserServer() : VfioUserServer({.message_ms = kPatienceMs, .dma_ms = kPatienceMs}) {}

  /// Sends byte after byte, each when the server has taken the one before, until it has given up.
  void drip(const Bytes& message) {
    for (const std::uint8_t byte : message) {
      if (gave_up_ || send(client_.get(), &byte, 1, MSG_NOSIGNAL) != 1) return;
      for (int unread = 1; unread != 0 && !gave_up_;)
        EXPECT_EQ(ioctl(client_.get(), SIOCOUTQ, &unread), 0);
    }
  }

  std::atomic<bool> gave_up_{false};
};

TEST_F(ImpatientVfioUserServer, CommandByteByByte_HungUpWhenPatienceEnds) {
  negotiate();
  constexpr std::uint64_t kMany = 1 << 20;
  std::thread guest([&] {
    drip(words({{7, 2}, {10, 2}, {kMany, 4}, {0, 4}, {0, 4}}) + Bytes(kMany - 16));
  });
  const auto served = server_->serve_one();
  gave_up_ = true;
  guest.join();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, Errc::Timeout);
  EXPECT_THAT(served.error().text, HasSubstr("in 1000 ms"));
}

TEST_F(ImpatientVfioUserServer, DmaAnsweredByteByByte_HungUpWhenPatienceEnds) {
  negotiate();
  constexpr std::uint64_t kMany = 1 << 20;
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 32, MSG_WAITALL), 32);
    drip(Bytes(raw.begin(), raw.begin() + 2) +
         words({{11, 2}, {kMany, 4}, {1, 4}, {0, 4}, {0x2000, 8}, {4, 8}}) + Bytes(kMany - 32));
  });
  std::array<std::byte, 4> data{};
  const auto read = server_->dma_read(0x2000, data);
  gave_up_ = true;
  guest.join();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, "VFIO_USER_DMA_READ: no reply in 1000 ms");
  EXPECT_FALSE(server_->serve_one());
}

TEST_F(ImpatientVfioUserServer, DmaInPiecesOfOneByte_PatienceIsForAllOfThem) {
  negotiate(1);
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    while (recv(client_.get(), raw.data(), 32, MSG_WAITALL) == 32) {
      const Bytes reply = Bytes(raw.begin(), raw.begin() + 2) +
                          words({{11, 2}, {33, 4}, {1, 4}, {0, 4}}) +
                          Bytes(raw.begin() + 16, raw.begin() + 33);
      send(client_.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
    }
  });
  std::vector<std::byte> much(std::size_t{1} << 20);
  const auto read = server_->dma_read(0x2000, much);
  server_.reset();
  guest.join();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text, "VFIO_USER_DMA_READ: no reply in 1000 ms");
}

TEST_F(ImpatientVfioUserServer, CommandsWithoutEndInsteadOfADmasReply_HungUpWhenPatienceEnds) {
  negotiate();
  std::thread guest([&] {
    std::array<std::uint8_t, 64> raw{};
    EXPECT_EQ(recv(client_.get(), raw.data(), 32, MSG_WAITALL), 32);
    while (!gave_up_) {
      send_command(13, {}, {}, 0x10);
      for (int unread = 1; unread != 0 && !gave_up_;)
        EXPECT_EQ(ioctl(client_.get(), SIOCOUTQ, &unread), 0);
    }
  });
  std::array<std::byte, 4> data{};
  const auto read = server_->dma_read(0x2000, data);
  gave_up_ = true;
  guest.join();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::Timeout);
  EXPECT_GT(backend_.resets, 1);
}

TEST_F(ImpatientVfioUserServer, DmaWriteThatNobodyTakes_HungUpWhenPatienceEnds) {
  negotiate();
  const std::vector<std::byte> much(std::size_t{4} << 20);
  const auto written = server_->dma_write(0x2000, much);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().text, "VFIO_USER_DMA_WRITE: no reply in 1000 ms");
}

}  // namespace
}  // namespace portcullis::model::vfio_user
