// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of a client, well formed and not, one after the other, and what becomes of each.
#include "model/vfio_user/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "tests/model/vfio_user/client.hpp"

namespace portcullis::model::vfio_user {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(VfioUserServer, VersionAsked_AnsweredWithOursAndCapabilities) {
  const RawReply reply = call(1, words({{0, 2}, {1, 2}}));
  EXPECT_EQ(reply.flags, 1U);
  const std::string text(reply.payload.begin() + 4, reply.payload.end());
  EXPECT_THAT(text, HasSubstr("\"max_data_xfer_size\":1048576"));
}

TEST_F(VfioUserServer, OtherMajorVersion_Refused) {
  EXPECT_EQ(call(1, words({{1, 2}, {0, 2}})).error, static_cast<std::uint32_t>(ENOTSUP));
}

TEST_F(VfioUserServer, VersionDataNotJson_Refused) {
  const RawReply reply = call(1, words({{0, 2}, {1, 2}, {0x7b7b, 2}}));
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, CommandBeforeVersion_Refused) {
  EXPECT_EQ(call(13, {}).error, static_cast<std::uint32_t>(EINVAL));
  EXPECT_EQ(backend_.resets, 0);
}

TEST_F(VfioUserServer, DeviceInfo_IsAPciDeviceWithReset) {
  negotiate();
  const RawReply reply = call(4, words({{16, 4}, {0, 4}, {0, 4}, {0, 4}}));
  EXPECT_EQ(reply.payload, words({{16, 4}, {3, 4}, {9, 4}, {5, 4}}));
}

TEST_F(VfioUserServer, RegionInfo_SaysSizeAndNeverMappable) {
  negotiate();
  const RawReply reply = call(5, words({{32, 4}, {0, 4}, {0, 4}, {0, 4}, {0, 8}, {0, 8}}));
  EXPECT_EQ(reply.payload, words({{32, 4}, {3, 4}, {0, 4}, {0, 4}, {4096, 8}, {0, 8}}));
}

TEST_F(VfioUserServer, RegionIndexTooLarge_Refused) {
  negotiate();
  const RawReply reply = call(5, words({{32, 4}, {0, 4}, {9, 4}, {0, 4}, {0, 8}, {0, 8}}));
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, IrqInfo_SaysHowManyVectors) {
  negotiate();
  const RawReply reply = call(7, words({{16, 4}, {0, 4}, {2, 4}, {0, 4}}));
  EXPECT_EQ(reply.payload, words({{16, 4}, {1, 4}, {2, 4}, {4, 4}}));
}

TEST_F(VfioUserServer, RegionRead_ReturnsTheDevicesBytes) {
  negotiate();
  const RawReply reply = call(9, words({{0x10, 8}, {0, 4}, {4, 4}}));
  EXPECT_EQ(reply.payload, words({{0x10, 8}, {0, 4}, {4, 4}, {0x10101010, 4}}));
}

TEST_F(VfioUserServer, RegionWrite_ReachesTheDevice) {
  negotiate();
  const RawReply reply = call(10, words({{0x18, 8}, {0, 4}, {4, 4}, {0x01000000, 4}}));
  EXPECT_EQ(reply.flags, 1U);
  EXPECT_THAT(backend_.writes, ElementsAre(std::pair(0x18U, 4U)));
}

TEST_F(VfioUserServer, RegionWriteShorterThanItsCount_RefusedAndNothingWritten) {
  negotiate();
  const RawReply reply = call(10, words({{0x18, 8}, {0, 4}, {8, 4}, {0, 4}}));
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
  EXPECT_THAT(backend_.writes, IsEmpty());
}

TEST_F(VfioUserServer, RegionAccessPastTheEnd_Refused) {
  negotiate();
  EXPECT_EQ(call(9, words({{4093, 8}, {0, 4}, {4, 4}})).error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, RegionAccessWhoseEndWraps_Refused) {
  negotiate();
  const RawReply reply = call(9, words({{~0ULL, 8}, {0, 4}, {4, 4}}));
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, Mapped_DeviceSeesTheClientsMemory) {
  negotiate();
  const UniqueFd file = guest_file(8192);
  EXPECT_EQ(map(0x100000, 4096, file.get(), 4096).flags, 1U);
  ASSERT_THAT(backend_.ranges, SizeIs(1));
  const std::uint8_t byte = 0x5a;
  EXPECT_EQ(pwrite(file.get(), &byte, 1, 4096), 1);
  EXPECT_EQ(backend_.ranges[0].memory[0], std::byte{0x5a});
}

TEST_F(VfioUserServer, MappedOverAnother_RefusedWithEexist) {
  negotiate();
  const UniqueFd file = guest_file(8192);
  EXPECT_EQ(map(0x100000, 8192, file.get()).flags, 1U);
  EXPECT_EQ(map(0x101000, 4096, file.get()).error, static_cast<std::uint32_t>(EEXIST));
  EXPECT_EQ(map(0xff000, 8192, file.get()).error, static_cast<std::uint32_t>(EEXIST));
  EXPECT_THAT(backend_.ranges, SizeIs(1));
}

TEST_F(VfioUserServer, MappedPastTheFilesEnd_Refused) {
  negotiate();
  const UniqueFd file = guest_file(4096);
  EXPECT_EQ(map(0x100000, 8192, file.get()).error, static_cast<std::uint32_t>(EINVAL));
  EXPECT_THAT(backend_.ranges, IsEmpty());
}

TEST_F(VfioUserServer, MappedAcrossTheTopOfTheAddressSpace_Refused) {
  negotiate();
  EXPECT_EQ(map(~0ULL - 4095, 8192, -1).error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, Unmapped_DeviceLetsGoBeforeTheReply) {
  negotiate();
  const UniqueFd file = guest_file(4096);
  map(0x100000, 4096, file.get());
  const Bytes request = words({{24, 4}, {0, 4}, {0x100000, 8}, {4096, 8}});
  EXPECT_EQ(call(3, request).payload, request);
  EXPECT_THAT(backend_.ranges, IsEmpty());
}

TEST_F(VfioUserServer, UnmappedOnlyInPart_RefusedAndStillMapped) {
  negotiate();
  const UniqueFd file = guest_file(8192);
  map(0x100000, 8192, file.get());
  const RawReply reply = call(3, words({{24, 4}, {0, 4}, {0x100000, 8}, {4096, 8}}));
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
  EXPECT_EQ(call(3, words({{24, 4}, {0, 4}, {0x101000, 8}, {4096, 8}})).error,
            static_cast<std::uint32_t>(EINVAL));
  EXPECT_THAT(backend_.ranges, SizeIs(1));
}

TEST_F(VfioUserServer, UnmappedWhatNobodyMapped_Done) {
  negotiate();
  EXPECT_EQ(call(3, words({{24, 4}, {0, 4}, {0x100000000, 8}, {0x100000000, 8}})).flags, 1U);
}

TEST_F(VfioUserServer, UnmappedAtOnce_EveryRangeInsideGoes) {
  negotiate();
  const UniqueFd file = guest_file(8192);
  map(0x100000, 4096, file.get());
  map(0x200000, 4096, file.get());
  EXPECT_EQ(call(3, words({{24, 4}, {0, 4}, {0, 8}, {0x80000000, 8}})).flags, 1U);
  EXPECT_THAT(backend_.ranges, IsEmpty());
}

TEST_F(VfioUserServer, ClientGone_NothingStaysMapped) {
  negotiate();
  const UniqueFd file = guest_file(4096);
  map(0x100000, 4096, file.get());
  client_.reset();
  const auto served = server_->serve_one();
  ASSERT_TRUE(served);
  EXPECT_FALSE(*served);
  server_.reset();
  EXPECT_THAT(backend_.ranges, IsEmpty());
}

TEST_F(VfioUserServer, VectorWithEventfd_TriggerSignalsIt) {
  negotiate();
  const UniqueFd event(eventfd(0, EFD_NONBLOCK));
  const RawReply reply =
      call(8, words({{20, 4}, {0x24, 4}, {2, 4}, {1, 4}, {1, 4}}), {event.get()});
  EXPECT_EQ(reply.flags, 1U);
  EXPECT_TRUE(server_->trigger_msix(1));
  std::uint64_t count = 0;
  EXPECT_EQ(read(event.get(), &count, sizeof count), 8);
  EXPECT_EQ(count, 1U);
}

TEST_F(VfioUserServer, VectorsTakenAway_TriggerSignalsNobody) {
  negotiate();
  const UniqueFd event(eventfd(0, EFD_NONBLOCK));
  call(8, words({{20, 4}, {0x24, 4}, {2, 4}, {1, 4}, {1, 4}}), {event.get()});
  EXPECT_EQ(call(8, words({{20, 4}, {0x21, 4}, {2, 4}, {0, 4}, {0, 4}})).flags, 1U);
  EXPECT_FALSE(server_->trigger_msix(1));
}

TEST_F(VfioUserServer, EventfdFull_TriggerDoesNotWait) {
  negotiate();
  const UniqueFd event(eventfd(0, 0));
  const std::uint64_t full = ~0ULL - 1;
  ASSERT_EQ(write(event.get(), &full, sizeof full), 8);
  call(8, words({{20, 4}, {0x24, 4}, {2, 4}, {1, 4}, {1, 4}}), {event.get()});
  EXPECT_FALSE(server_->trigger_msix(1));
}

TEST_F(VfioUserServer, VectorWithAnythingButAnEventfd_Refused) {
  negotiate();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd socket(ends[0]), peer(ends[1]);
  const UniqueFd file = guest_file(4096), epoll(epoll_create1(0));
  for (const int fd : {writer.get(), socket.get(), file.get(), epoll.get()}) {
    const RawReply reply = call(8, words({{20, 4}, {0x24, 4}, {2, 4}, {1, 4}, {1, 4}}), {fd});
    EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
    EXPECT_FALSE(server_->trigger_msix(1));
  }
}

TEST_F(VfioUserServer, FileLargerThanTheServerMaps_RefusedAndToldOnce) {
  std::vector<std::string> told;
  server_->on_refusal([&told](std::string_view line) { told.emplace_back(line); });
  negotiate();
  const UniqueFd file = guest_file(GuestMemory::kMaxFileBytes + 4096);
  EXPECT_EQ(map(0x1000, 4096, file.get()).error, static_cast<std::uint32_t>(ENOSPC));
  EXPECT_EQ(map(0x1000, 4096, file.get()).error, static_cast<std::uint32_t>(ENOSPC));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0], HasSubstr("file of 0x40000001000 bytes"));
}

TEST_F(VfioUserServer, OneRangeTooMany_RefusedAndToldWhatHelps) {
  std::vector<std::string> told;
  server_->on_refusal([&told](std::string_view line) { told.emplace_back(line); });
  negotiate();
  for (std::uint64_t i = 0; i < GuestMemory::kMaxRanges; ++i)
    ASSERT_EQ(map(i * 0x2000, 0x1000, -1).error, 0U);
  EXPECT_EQ(map(GuestMemory::kMaxRanges * 0x2000, 0x1000, -1).error,
            static_cast<std::uint32_t>(ENOSPC));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_THAT(told[0],
              HasSubstr("65535 ranges are mapped already, no more are accepted; with huge"));
}

TEST_F(VfioUserServer, VectorBeyondTheLast_Refused) {
  negotiate();
  const UniqueFd event(eventfd(0, EFD_NONBLOCK));
  const RawReply reply =
      call(8, words({{20, 4}, {0x24, 4}, {2, 4}, {4, 4}, {1, 4}}), {event.get()});
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, FewerEventfdsThanVectors_Refused) {
  negotiate();
  const UniqueFd event(eventfd(0, EFD_NONBLOCK));
  const RawReply reply =
      call(8, words({{20, 4}, {0x24, 4}, {2, 4}, {0, 4}, {2, 4}}), {event.get()});
  EXPECT_EQ(reply.error, static_cast<std::uint32_t>(EINVAL));
}

TEST_F(VfioUserServer, Reset_ReachesTheDevice) {
  negotiate();
  EXPECT_EQ(call(13, {}).flags, 1U);
  EXPECT_EQ(backend_.resets, 1);
}

TEST_F(VfioUserServer, UnknownCommand_RefusedAndServedOn) {
  negotiate();
  EXPECT_EQ(call(999, {}).error, static_cast<std::uint32_t>(ENOTSUP));
  EXPECT_EQ(call(13, {}).flags, 1U);
}

TEST_F(VfioUserServer, NoReplyAsked_NoneSent) {
  negotiate();
  send_command(13, {}, {}, 0x10);
  EXPECT_TRUE(server_->serve_one());
  std::array<std::uint8_t, 16> raw{};
  EXPECT_EQ(recv(client_.get(), raw.data(), raw.size(), MSG_DONTWAIT), -1);
  EXPECT_EQ(backend_.resets, 1);
}

TEST_F(VfioUserServer, MessageShorterThanItsHeader_HungUpWithTheReason) {
  send_raw(words({{7, 2}, {1, 2}, {15, 4}, {0, 4}, {0, 4}}));
  const auto served = server_->serve_one();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, Errc::Malformed);
  EXPECT_THAT(served.error().text, HasSubstr("15 bytes"));
}

TEST_F(VfioUserServer, MessageLargerThanAnyMayBe_HungUpBeforeItIsRead) {
  send_raw(words({{7, 2}, {10, 2}, {0xffffffff, 4}, {0, 4}, {0, 4}}));
  const auto served = server_->serve_one();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, Errc::Malformed);
}

TEST_F(VfioUserServer, HungUpInsideAMessage_Malformed) {
  send_raw(words({{7, 2}, {10, 2}, {64, 4}, {0, 4}, {0, 4}, {1, 4}}));
  client_.reset();
  const auto served = server_->serve_one();
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, Errc::Malformed);
}

TEST_F(VfioUserServer, MapFlags_ReachTheDevice) {
  negotiate();
  const UniqueFd file = guest_file(4096);
  call(2, words({{32, 4}, {1, 4}, {0, 8}, {0x100000, 8}, {4096, 8}}), {file.get()});
  ASSERT_THAT(backend_.ranges, SizeIs(1));
  EXPECT_TRUE(backend_.ranges[0].readable);
  EXPECT_FALSE(backend_.ranges[0].writeable);
}

TEST(GuestMemory, ManyPagesOfOneFile_OneMapping) {
  GuestMemory memory;
  UniqueFd file(memfd_create("guest", 0));
  ASSERT_EQ(ftruncate(file.get(), 64 * 4096), 0);
  for (std::uint64_t page = 0; page < 64; ++page) {
    const auto range = memory.map(
        {.flags = 3, .offset = page * 4096, .address = (1000 - page) * 4096, .size = 4096},
        UniqueFd(dup(file.get())));
    ASSERT_TRUE(range);
  }
  EXPECT_EQ(memory.ranges(), 64U);
  EXPECT_EQ(memory.files(), 1U);
}

TEST(GuestMemory, FilesThatCannotBeMapped_LeaveNothingBehind) {
  GuestMemory memory;
  const auto range =
      memory.map({.flags = 3, .address = 0x1000, .size = 4096}, UniqueFd(memfd_create("empty", 0)));
  EXPECT_FALSE(range);
  EXPECT_EQ(memory.files(), 0U);
}

TEST(Listener, PathIsAnotherFile_RefusedAndFileKept) {
  std::string path = "/tmp/portcullis-listener-XXXXXX";
  const UniqueFd file(mkstemp(path.data()));
  const auto listener = Listener::create(path);
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().text, HasSubstr("is not a socket"));
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST(Listener, SomebodyListens_Busy) {
  const std::string path = "/tmp/portcullis-busy-" + std::to_string(getpid());
  const auto first = Listener::create(path);
  ASSERT_TRUE(first);
  const auto second = Listener::create(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
}

TEST(Listener, SomebodyListensToAFullQueue_BusyAtOnce) {
  const std::string path = "/tmp/portcullis-full-" + std::to_string(getpid());
  const auto first = Listener::create(path);
  ASSERT_TRUE(first);
  const auto address = unix_address(path, "path");
  std::array<UniqueFd, 4> waiting;
  for (UniqueFd& client : waiting) {
    client = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    static_cast<void>(connect(client.get(), generic(*address), sizeof *address));
  }
  const auto second = Listener::create(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
}

TEST(Listener, OwnerGoneWithoutAWord_PathTakenOver) {
  const std::string path = "/tmp/portcullis-stale-" + std::to_string(getpid());
  const auto address = unix_address(path, "path");
  ASSERT_TRUE(address);
  {
    const UniqueFd killed(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(killed.get(), generic(*address), sizeof *address), 0);
  }
  EXPECT_TRUE(Listener::create(path));
}

TEST(Listener, PathTooLong_RefusedWithTheLimit) {
  const auto listener = Listener::create(std::string(200, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().text, HasSubstr("107"));
}

}  // namespace
}  // namespace portcullis::model::vfio_user
