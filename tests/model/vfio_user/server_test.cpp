// SPDX-License-Identifier: BSD-3-Clause
//
// The server as a client sees it: raw messages over a socket pair, built here from
// docs/interop/vfio-user.rst of QEMU and not from our own structures.
#include "model/vfio_user/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace portcullis::model::vfio_user {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Bytes = std::vector<std::uint8_t>;

/// Little-endian bytes of a list of (value, width) pairs.
struct Word {
  std::uint64_t value;
  unsigned bytes;
};
Bytes words(std::initializer_list<Word> list) {
  Bytes out;
  for (const Word& word : list)
    for (unsigned i = 0; i < word.bytes; ++i)
      out.push_back(static_cast<std::uint8_t>(word.value >> (8 * i)));
  return out;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class RecordingBackend final : public Backend {
 public:
  std::uint64_t region_bytes(std::uint32_t region) const override {
    return region == VFIO_PCI_BAR0_REGION_INDEX ? 4096 : 0;
  }
  std::uint32_t interrupts(std::uint32_t index) const override {
    return index == VFIO_PCI_MSIX_IRQ_INDEX ? 4 : 0;
  }
  void read(std::uint32_t, std::uint64_t offset, std::span<std::byte> to) override {
    std::memset(to.data(), static_cast<int>(offset), to.size());
  }
  void write(std::uint32_t, std::uint64_t offset, std::span<const std::byte> from) override {
    writes.emplace_back(offset, from.size());
  }
  Result<void> mapped(const GuestRange& range) override {
    ranges.push_back(range);
    return {};
  }
  void unmapped(const GuestRange& range) override {
    std::erase_if(ranges, [&](const GuestRange& r) { return r.address == range.address; });
  }
  void reset() override { ++resets; }

  std::vector<std::pair<std::uint64_t, std::size_t>> writes;
  std::vector<GuestRange> ranges;
  int resets = 0;
};

struct RawReply {
  std::uint32_t flags = 0;
  std::uint32_t error = 0;
  Bytes payload;
};

class VfioUserServer : public ::testing::Test {
 protected:
  VfioUserServer() {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    client_ = UniqueFd(pair[0]);
    // A reply that does not come fails its test instead of hanging it.
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    EXPECT_EQ(setsockopt(client_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    server_.emplace(backend_, UniqueFd(pair[1]));
  }

  void send_raw(const Bytes& bytes, std::vector<int> fds = {}) const {
    iovec part{.iov_base = const_cast<std::uint8_t*>(bytes.data()), .iov_len = bytes.size()};
    std::array<char, CMSG_SPACE(64 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    }
    EXPECT_EQ(sendmsg(client_.get(), &message, 0), static_cast<ssize_t>(bytes.size()));
  }

  void send_command(std::uint16_t command, const Bytes& payload, std::vector<int> fds = {},
                    std::uint32_t flags = 0) {
    send_raw(words({{7, 2}, {command, 2}, {16 + payload.size(), 4}, {flags, 4}, {0, 4}}) + payload,
             std::move(fds));
  }

  RawReply receive_reply() const {
    std::array<std::uint8_t, 8192> raw{};
    const ssize_t got = recv(client_.get(), raw.data(), raw.size(), MSG_DONTWAIT);
    EXPECT_GE(got, 16);
    RawReply reply;
    std::memcpy(&reply.flags, raw.data() + 8, 4);
    std::memcpy(&reply.error, raw.data() + 12, 4);
    reply.payload.assign(raw.begin() + 16, raw.begin() + std::max<ssize_t>(got, 16));
    return reply;
  }

  /// One command, served, and its reply.
  RawReply call(std::uint16_t command, const Bytes& payload, std::vector<int> fds = {}) {
    send_command(command, payload, std::move(fds));
    const auto served = server_->serve_one();
    EXPECT_TRUE(served && *served);
    return receive_reply();
  }

  void negotiate() {
    const std::string json = R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":65536}})";
    Bytes payload = words({{0, 2}, {1, 2}});
    payload.insert(payload.end(), json.c_str(), json.c_str() + json.size() + 1);
    EXPECT_EQ(call(1, payload).flags, 1U);
  }

  RawReply map(std::uint64_t address, std::uint64_t bytes, int fd, std::uint64_t offset = 0) {
    return call(2, words({{32, 4}, {3, 4}, {offset, 8}, {address, 8}, {bytes, 8}}),
                fd < 0 ? std::vector<int>{} : std::vector<int>{fd});
  }

  static UniqueFd guest_file(std::size_t bytes) {
    UniqueFd fd(memfd_create("guest", 0));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    return fd;
  }

  RecordingBackend backend_;
  UniqueFd client_;
  std::optional<Server> server_;
};

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

TEST(Listener, PathTooLong_RefusedWithTheLimit) {
  const auto listener = Listener::create(std::string(200, 'x'));
  ASSERT_FALSE(listener);
  EXPECT_THAT(listener.error().text, HasSubstr("107"));
}

}  // namespace
}  // namespace portcullis::model::vfio_user
