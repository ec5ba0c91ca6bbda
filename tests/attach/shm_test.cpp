// SPDX-License-Identifier: BSD-3-Clause
//
// --device=shm:PATH: our driver on a model that somebody else serves, over the socket and the
// memory that two processes would have between them.
#include "attach/shm_function.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "base/clock.hpp"
#include "base/dma_memory.hpp"
#include "base/host_patience.hpp"
#include "lease/lease_manager.hpp"
#include "tests/lease/lease_client.hpp"
#include "tests/model/hca_server/guest.hpp"

namespace portcullis::attach {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

using model::Owner;
using model::testing::ServedFunction;
using namespace std::chrono_literals;

std::string device_of(const ServedFunction& served) { return "shm:" + served.path(); }

/// A driver with a lease manager, and a client that writes on the same port.
struct Driver {
  explicit Driver(const std::string& device)
      : function(
            Function::bring_up(OpenDevice::open(parse_device(device).value()).value()).value()),
        addresses(function->context()) {
    EXPECT_TRUE(addresses.set(0, testing::kPort));
    manager = lease::LeaseManager::create(lease::Host::of(function->driver()), {}).value();
    client.emplace(testing::Client::create(function->context()));
  }
  [[nodiscard]] const Device& device() const { return function->context().device; }
  void grant() { client->connect(manager->grant({.bytes = 8192, .peer = client->peer()}).value()); }

  std::unique_ptr<Function> function;
  pmd::RoceAddressTable addresses;
  std::unique_ptr<lease::LeaseManager> manager;
  std::optional<testing::Client> client;
};

TEST(ShmDevice, Lease_IsWrittenUntilItsRevokeAndNotAfter) {
  ServedFunction served(Owner::Process, 0ms);
  Driver driver(device_of(served));
  driver.grant();
  EXPECT_EQ(driver.client->write(driver.device(), 0x1122334455667788, 5), prm::WcStatus::SUCCESS);
  const auto& lease = driver.client->grant.lease;
  EXPECT_EQ(driver.manager->revoke(lease.id, lease.epoch).outcome, lease::Outcome::TornDown);
  EXPECT_NE(driver.client->write(driver.device(), 1, 6), prm::WcStatus::SUCCESS);
}

TEST(ShmDevice, Description_SaysWhereItIsAndThatItIsEmulated) {
  ServedFunction served(Owner::Process, 0ms);
  const auto spec = parse_device(device_of(served));
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->is_emulated());
  EXPECT_FALSE(spec->is_in_process());
  Driver driver(device_of(served));
  EXPECT_EQ(driver.device().description, "shm " + served.path());
  EXPECT_TRUE(driver.function->driver().is_emulated());
}

TEST(ShmDevice, SecondOwner_IsRefusedInOneLineAndTheFirstGoesOn) {
  ServedFunction served(Owner::Process, 0ms);
  Driver driver(device_of(served));
  const auto refused = OpenDevice::open(parse_device(device_of(served)).value());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::Busy);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr(served.path()), HasSubstr("another process owns the function"),
                    Not(HasSubstr("\n"))));
  driver.grant();
  EXPECT_EQ(driver.client->write(driver.device(), 1), prm::WcStatus::SUCCESS);
}

TEST(ShmDevice, OwnersOneAfterTheOther_EachBringUpAndWrite) {
  ServedFunction served(Owner::Process, 20ms);
  for (int i = 0; i < 5; ++i) {
    Driver driver(device_of(served));
    driver.grant();
    EXPECT_EQ(driver.client->write(driver.device(), 1), prm::WcStatus::SUCCESS);
  }
}

TEST(ShmDevice, MemoryThatIsUnmapped_KeepsItsBytesAndIsReachedNoMore) {
  ServedFunction served(Owner::Process, 0ms);
  {
    auto function = ShmFunction::attach(served.path()).value();
    DmaSpace& space = *function->device().dma;
    auto memory = DmaMemory::create(space, 3 * kPageBytes).value();
    memory.bytes()[kPageBytes] = std::byte{42};
    const Iova before = memory.iova();
    ASSERT_TRUE(memory.unmap());
    EXPECT_EQ(memory.bytes()[kPageBytes], std::byte{42});
    memory.bytes()[0] = std::byte{43};
    ASSERT_TRUE(memory.map());
    EXPECT_EQ(memory.bytes()[0], std::byte{43});
    EXPECT_EQ(memory.bytes()[kPageBytes], std::byte{42});
    ASSERT_TRUE(memory.retire());
    auto other = DmaMemory::create(space, 3 * kPageBytes).value();
    EXPECT_NE(other.iova(), before);
    EXPECT_FALSE(space.unmap(before, 3 * kPageBytes));
    EXPECT_FALSE(space.unmap(other.iova(), kPageBytes));
  }
  EXPECT_EQ(served.stop().census().dma_mappings, 0u);
}

/// Runs `what` on a thread of its own to which the kernel refuses fallocate(2).
void without_fallocate(const std::function<void()>& what) {
  std::thread([&what] {
    std::array program{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
    what();
  }).join();
}

TEST(ShmDevice, PlaceOfMemoryThatIsUnmapped_IsUsedAgainOnceItIsEmpty) {
  ServedFunction served(Owner::Process, 0ms);
  auto function = ShmFunction::attach(served.path()).value();
  auto memory = DmaMemory::create(*function->device().dma, 3 * kPageBytes).value();
  const Iova first = memory.iova();
  ASSERT_TRUE(memory.unmap());
  ASSERT_TRUE(memory.map());
  EXPECT_EQ(memory.iova(), first);
  without_fallocate([&memory] { EXPECT_TRUE(memory.unmap()); });
  ASSERT_TRUE(memory.map());
  EXPECT_NE(memory.iova(), first);
}

TEST(ShmDevice, FenceThatCannotEmptyMemory_IsWithoutAFailedStep) {
  ServedFunction served(Owner::Process, 0ms);
  Driver driver(device_of(served));
  driver.grant();
  const auto& lease = driver.client->grant.lease;
  without_fallocate([&driver, &lease] {
    // Of the plans legacy alone unmaps within the fence.
    const auto answer = driver.manager->revoke(lease.id, lease.epoch, lease::legacy_plan());
    EXPECT_EQ(answer.outcome, lease::Outcome::TornDown);
    EXPECT_EQ(answer.verdict.failed_mask, 0U);
  });
}

TEST(ShmDevice, ThreeThousandMappings_AreOneFileForTheServer) {
  ServedFunction served(Owner::Process, 0ms);
  auto function = ShmFunction::attach(served.path()).value();
  std::vector<DmaMemory> many;
  for (int i = 0; i < 3000; ++i)
    many.push_back(DmaMemory::create(*function->device().dma, kPageBytes).value());
  EXPECT_THAT(many, Each(::testing::Property(&DmaMemory::is_mapped, true)));
}

TEST(ShmDevice, ServerThatGoes_IsToldOnceAndEverAfter) {
  ServedFunction served(Owner::Process, 0ms);
  auto function = ShmFunction::attach(served.path()).value();
  served.stop();
  const auto reset = function->reset();
  ASSERT_FALSE(reset);
  EXPECT_EQ(reset.error().code, Errc::DeviceGone);
  EXPECT_THAT(function->set_bus_master(true).error().text, HasSubstr("its server has gone"));
}

/// A server that reads what it is asked and answers when it is told to.
class LateServer {
 public:
  explicit LateServer(const std::string& path)
      : listener_(model::vfio_user::Listener::create(path).value()) {}
  void accept() { connection_.emplace(listener_.accept().value()); }
  void answer() {
    const auto asked = connection_->receive(Deadline(60'000)).value().value();
    auto header = asked.header;
    header.flags = Header::kTypeReply;
    ASSERT_TRUE(connection_->send(header, asked.payload, Deadline(60'000)));
  }

 private:
  using Deadline = model::vfio_user::Deadline;
  using Header = model::vfio_user::Header;
  model::vfio_user::Listener listener_;
  std::optional<model::vfio_user::Connection> connection_;
};

/// Linked to it: both know the other's version.
struct LateLink {
  LateLink() {
    std::thread greeting([this] {
      server.accept();
      server.answer();
    });
    link = ShmLink::connect(path).value();
    greeting.join();
  }
  [[nodiscard]] Result<ShmLink::Answer> ask_within(std::uint64_t ns) {
    const HostPatience bounded(Clock::wall().now_ns() + ns);
    return link->ask(model::vfio_user::Command::DeviceReset, {});
  }

  /// Once it is no good, or after a minute.
  [[nodiscard]] Result<void> condition_in_the_end() {
    const std::uint64_t until_ns = Clock::wall().now_ns() + 60 * kNsPerSecond;
    auto found = link->condition();
    for (; found && Clock::wall().now_ns() < until_ns; found = link->condition())
      std::this_thread::yield();
    return found;
  }

  std::string path = ::testing::TempDir() + "late-" + std::to_string(::getpid());
  LateServer server{path};
  std::unique_ptr<ShmLink> link;
};

TEST(ShmLink, AskedByWhoHasLittleTime_WaitsNoLongerAndThenNotAtAll) {
  LateLink late;
  const std::uint64_t since_ns = Clock::wall().now_ns();
  for (int i = 0; i < 100; ++i) {
    const auto asked = late.ask_within(50 * kNsPerMs);
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().code, Errc::Timeout);
  }
  EXPECT_LT(Clock::wall().now_ns() - since_ns, ShmLink::kPatienceMs * kNsPerMs);
  EXPECT_TRUE(late.link->condition());
}

TEST(ShmLink, AnswerThatComesLate_IsThrownAwayAndTheNextIsTheNexts) {
  LateLink late;
  ASSERT_FALSE(late.ask_within(kNsPerMs));
  late.server.answer();
  std::thread next([&] { late.server.answer(); });
  EXPECT_TRUE(late.ask_within(60 * kNsPerSecond));
  next.join();
}

TEST(ShmLink, AnswerThatNeverComes_GivesTheServerUp) {
  LateLink late;
  ASSERT_FALSE(late.ask_within(kNsPerMs));
  const auto condition = late.condition_in_the_end();
  ASSERT_FALSE(condition);
  EXPECT_EQ(condition.error().code, Errc::DeviceGone);
  EXPECT_THAT(condition.error().text, HasSubstr("was not answered in 5000 ms"));
  EXPECT_EQ(late.ask_within(kNsPerMs).error().code, Errc::DeviceGone);
}

TEST(ShmDevice, ServerThatGoes_IsNoticedThoughNothingIsAsked) {
  ServedFunction served(Owner::Process, 0ms);
  auto opened = OpenDevice::open(parse_device(device_of(served)).value()).value();
  EXPECT_TRUE(opened.condition());
  served.stop();
  EXPECT_EQ(opened.condition().error().code, Errc::DeviceGone);
}

TEST(ShmDevice, ServerOfGuests_IsRefusedWithWhatIsAccepted) {
  ServedFunction served;
  const auto refused = ShmFunction::attach(served.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::Unsupported);
  EXPECT_THAT(refused.error().text, HasSubstr("started with --shm in place of --socket"));
}

TEST(ShmDevice, NobodyThere_IsNotFoundWithWhatIsAccepted) {
  const auto refused = ShmFunction::attach("/nowhere/hca");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::NotFound);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("/nowhere/hca"), HasSubstr("hca-server --shm")));
}

TEST(ShmDevice, PathTooLong_IsNamed) {
  const auto refused = ShmFunction::attach(std::string(200, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
}

}  // namespace
}  // namespace portcullis::attach
