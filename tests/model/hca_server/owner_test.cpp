// SPDX-License-Identifier: BSD-3-Clause
//
// Who owns a function that processes may own: one at a time, alone, and behind it the function is
// reset. The client here drops its connection as a killed one does, with everything as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "base/unix_socket.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::model::testing {
namespace {

using namespace std::chrono_literals;
using vfio_user::Command;
using vfio_user::Deadline;
using vfio_user::Header;

/// A connection that has said its version, and what was answered.
struct Caller {
  explicit Caller(const std::string& path) : connection(connected(path)) {
    std::vector<std::byte> payload;
    vfio_user::encode(payload, vfio_user::Version{.major = 0, .minor = 1});
    EXPECT_TRUE(connection.send({.message_id = 77, .command = Command::Version}, payload,
                                Deadline(60'000)));
  }
  static UniqueFd connected(const std::string& path) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = unix_address(path, "path").value();
    EXPECT_EQ(connect(fd.get(), generic(address), sizeof address), 0);
    return fd;
  }
  /// The errno of the next answer; none when nothing comes in `most_ms`.
  std::optional<std::uint32_t> answer(int most_ms = 60'000) {
    const auto got = connection.receive(Deadline(most_ms));
    if (!got || !*got) return std::nullopt;
    EXPECT_EQ((*got)->header.message_id, 77);
    return ((*got)->header.flags & Header::kError) != 0 ? (*got)->header.error : 0;
  }
  vfio_user::Connection connection;
};

TEST(Owner, ThatWent_LeavesAFunctionThatIsReset) {
  ServedFunction served(Owner::Process, 0ms);
  {
    Guest owner(served.path());
    ASSERT_EQ(owner.map(true), 0u);
    ASSERT_TRUE(owner.bring_up());
    ASSERT_TRUE(alloc_uar(owner).ok());
  }
  EXPECT_TRUE(served.says("function reset"));
  const Census left = served.stop().census();
  EXPECT_EQ(left.objects(), 0u);
  EXPECT_EQ(left.pages, 0u);
}

TEST(Owner, ThatWent_IsFollowedByOneThatBringsUpCleanly) {
  ServedFunction served(Owner::Process, 10ms);
  for (int i = 0; i < 3; ++i) {
    Guest owner(served.path());
    EXPECT_EQ(owner.read_config(4) & 4, 0);  // bus mastering is off
    ASSERT_EQ(owner.map(true), 0u);
    ASSERT_TRUE(owner.bring_up());
    ASSERT_TRUE(alloc_uar(owner).ok());
  }
}

TEST(Owner, WhileItIsThere_OthersAreToldThatItIs) {
  ServedFunction served(Owner::Process, 0ms);
  Guest owner(served.path());
  for (int i = 0; i < 40; ++i) {
    Caller other(served.path());
    EXPECT_EQ(other.answer(), EBUSY);
  }
  EXPECT_EQ(owner.read_config(0), 0x15b3);
}

TEST(Owner, OthersThatSayNothing_KeepNobodyWaiting) {
  ServedFunction served(Owner::Process, 0ms);
  Guest owner(served.path());
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 60; ++i) {
    silent.push_back(Caller::connected(served.path()));
    EXPECT_EQ(owner.read_config(0), 0x15b3);
  }
  Caller other(served.path());
  EXPECT_EQ(other.answer(), EBUSY);
}

TEST(Owner, WhoComesBeforeTheResetOfTheLastOnes_WaitsForIt) {
  ServedFunction served(Owner::Process, 300ms);
  { Guest owner(served.path()); }
  ASSERT_TRUE(served.says("owner gone"));
  Caller next(served.path());
  EXPECT_EQ(next.answer(), 0u);
  EXPECT_TRUE(served.says("function reset"));
}

TEST(Owner, ThatBreaksTheFraming_IsHungUpOnAndTheFunctionReset) {
  ServedFunction served(Owner::Process, 1'000'000ms);
  Guest owner(served.path());
  ASSERT_EQ(owner.map(true), 0u);
  ASSERT_TRUE(owner.bring_up());
  owner.send_raw(std::vector<std::byte>(64));
  EXPECT_TRUE(served.says("owner hung up on"));
  EXPECT_TRUE(served.says("function reset"));
}

TEST(Owner, ThatCutsItsMemoryShort_IsHungUpOnAndTheNextIsServed) {
  ServedFunction served(Owner::Process, 1'000'000ms);
  Guest owner(served.path());
  ASSERT_EQ(owner.map(true), 0u);
  owner.start();
  owner.cut_memory_short();
  owner.post_bar(Guest::kCommandDoorbell, 1);
  Guest next(served.path());
  EXPECT_EQ(next.read_config(0), 0x15b3);
}

TEST(Owner, DmaToWhatIsNotMapped_IsAFaultAndNoMessage) {
  ServedFunction served(Owner::Process, 0ms);
  {
    Guest owner(served.path());
    owner.start();  // its command queue is mapped nowhere
    owner.post_bar(Guest::kCommandDoorbell, 1);
    owner.settle();
    EXPECT_EQ(owner.dma_reads() + owner.dma_refused(), 0u);
  }
  EXPECT_TRUE(served.says("function reset"));
  EXPECT_GT(served.stop().counters().dma_faults, 0u);
}

TEST(Owner, FileOfTheBar_KeepsItsLengthWhoeverHasIt) {
  ServedFunction served(Owner::Process, 0ms);
  Caller owner(served.path());
  ASSERT_EQ(owner.answer(), 0u);
  std::vector<std::byte> payload;
  vfio_user::encode(payload, vfio_user::RegionInfo{.argsz = sizeof(vfio_user::RegionInfo)});
  ASSERT_TRUE(
      owner.connection.send({.command = Command::DeviceGetRegionInfo}, payload, Deadline(60'000)));
  const auto answer = owner.connection.receive(Deadline(60'000));
  ASSERT_TRUE(answer && *answer);
  ASSERT_EQ((*answer)->fds.size(), 1u);
  EXPECT_NE(ftruncate((*answer)->fds[0].get(), 0), 0);
}

}  // namespace
}  // namespace portcullis::model::testing
