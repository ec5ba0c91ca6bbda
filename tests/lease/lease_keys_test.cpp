// SPDX-License-Identifier: BSD-3-Clause
//
// Which keys a lease makes, and what the end of a manager leaves of one that it could not take
// back: memory that such a key may name is never anybody's again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "prm/object_commands.hpp"
#include "tests/lease/lease_world.hpp"
#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Client;
using ::portcullis::testing::kPort;
using ::portcullis::testing::LeaseWorld;
using ::portcullis::testing::ManagerWorld;
using prm::Opcode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;
using FaultKind = model::CommandFaultRule::Kind;

constexpr prm::QpNumber kAnyQp = pmd::MemoryKey::kAnyQp;

/// Notes the QP number of every key that is asked for.
class NotedKeys final : public pmd::CommandChannel {
 public:
  explicit NotedKeys(pmd::CommandChannel& inner) : inner_(&inner) {}

  Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                             pmd::SlotClass slot_class) override {
    const auto command = prm::ConstView<prm::create_mkey_in>::at(in);
    if (command.get<"opcode">() == prm::number(Opcode::CREATE_MKEY))
      qpns.push_back(
          prm::QpNumber{static_cast<std::uint32_t>(command.get<"memory_key_mkey_entry.qpn">())});
    return inner_->submit(in, out_bytes, slot_class);
  }
  Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                     std::uint64_t deadline_ns) override {
    return inner_->await(ticket, out, deadline_ns);
  }
  bool is_done(pmd::Ticket ticket) const noexcept override { return inner_->is_done(ticket); }
  std::uint64_t default_deadline_ns() const override { return inner_->default_deadline_ns(); }

  std::vector<prm::QpNumber> qpns;

 private:
  pmd::CommandChannel* inner_;
};

class LeaseKeys : public LeaseWorld {
 protected:
  void SetUp() override {
    LeaseWorld::SetUp();
    manager.reset();
    keys.emplace(*hca->context().commands);
    context = hca->context();
    context->commands = &*keys;
    Host noted = host();
    noted.context = &*context;
    manager = LeaseManager::create(noted, {.table = {.slots = 8}}).value();
  }
  void TearDown() override { stop(); }

  std::optional<NotedKeys> keys;
  std::optional<pmd::Context> context;
};

TEST_F(LeaseKeys, LeaseOfItsOwn_ItsKeyIsForItsQpAlone) {
  const Client& a = client();
  const prm::QpNumber first = a.grant.qpn;
  const Client& b = client();
  EXPECT_THAT(keys->qpns, ElementsAre(first, b.grant.qpn));
}

TEST_F(LeaseKeys, LeasesTogether_TheirKeysAreForEveryQpOfTheirDomain) {
  const GrantRequest request{.bytes = kPageBytes,
                             .peer = {.qpn = prm::QpNumber{0x77}, .gid = kPort.gid}};
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  EXPECT_THAT(keys->qpns, ElementsAre(kAnyQp, kAnyQp, kAnyQp));
}

// ---- low bytes ----

TEST(KeyByte, Drawn_NoneOfThe128BeforeIt) {
  KeyBytes bytes(0);
  std::vector<std::uint8_t> drawn;
  for (std::size_t i = 0; i < 20'000; ++i) {
    const std::uint8_t byte = bytes.draw().value();
    const auto recent = std::span(drawn).last(std::min(drawn.size(), KeyBytes::kRested));
    ASSERT_THAT(recent, Not(Contains(byte)));
    drawn.push_back(byte);
  }
}

TEST(KeyByte, DrawnAfterTheSameOnes_OneOfManyAndNoSequence) {
  KeyBytes bytes(0);
  std::array<std::uint32_t, 256> steps{};  // how often so much was between two that follow
  std::uint8_t last = bytes.draw().value();
  for (int i = 0; i < 25'600; ++i) {
    const std::uint8_t byte = bytes.draw().value();
    ++steps[static_cast<std::uint8_t>(byte - last)];
    last = byte;
  }
  EXPECT_EQ(steps[0], 0u);
  EXPECT_LT(*std::ranges::max_element(steps), 400u);  // 100 expected
}

TEST(KeyByte, FirstOnesOfTwoManagers_AreNotTheSame) {
  std::set<std::uint8_t> firsts;
  for (int i = 0; i < 256; ++i) firsts.insert(KeyBytes(0).draw().value());
  EXPECT_GT(firsts.size(), 64u);  // 162 expected
}

class KeysOfScript : public ManagerWorld {
 protected:
  /// The numbers that firmware gives for the next grant, its key's index among them.
  std::uint32_t grant_and_end(std::uint32_t from) {
    function.channel.next_id = from;
    const Lease lease = granted_noting();
    const prm::Rkey key = manager->fence_target(lease)->key;
    (void)manager->revoke(lease.id, lease.epoch, legacy_plan());
    return prm::number(key);
  }
  Lease granted_noting() {
    function.forget();
    const Lease lease = manager->grant(request).value().lease;
    creates = std::ranges::count(opcodes(), Opcode::CREATE_MKEY);
    return lease;
  }
  std::ptrdiff_t creates = 0;  // in the last grant
};

TEST_F(KeysOfScript, IndexThatComesWithTheByteItHad_GivenBackAndAnotherTaken) {
  KeyBytes twin(7);  // the seed of the world's manager
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 1'000; ++i) bytes.push_back(twin.draw().value());
  // The first that came before; the very first one was the world's own.
  const auto again = std::adjacent_find(bytes.begin(), bytes.end(), [&](auto&, auto& next) {
    const auto at = bytes.begin() + (&next - bytes.data());
    return std::find(bytes.begin() + 1, at, next) != at;
  });
  const auto second = static_cast<std::uint32_t>(again - bytes.begin()) + 1;
  const auto first_time = static_cast<std::uint32_t>(
      std::find(bytes.begin() + 1, bytes.end(), bytes[second]) - bytes.begin());
  std::uint32_t before = 0;
  for (std::uint32_t n = 1; n < second; ++n) {
    const std::uint32_t key = grant_and_end(n == first_time ? 0x1000 : 0x2000 + 16 * n);
    before = n == first_time ? key : before;
  }
  EXPECT_EQ(before & 0xff, bytes[second]);
  const std::uint32_t after = grant_and_end(0x1000);
  EXPECT_NE(after & 0xff, before & 0xff);
  EXPECT_EQ(creates, 2);
}

TEST_F(KeysOfScript, ByteThatSomebodyChooses_IsThatOfEveryKey) {
  start({.grant = {.key_byte = [] { return std::uint8_t{0x5a}; }}});
  EXPECT_EQ(prm::number(first.rkey) & 0xff, 0x5aU);
  EXPECT_EQ(grant_and_end(0x1000) & 0xff, 0x5aU);
  EXPECT_EQ(grant_and_end(0x1000) & 0xff, 0x5aU);
}

class ManagersEnd : public LeaseWorld {
 protected:
  Iova iova_of(const Lease& lease) { return manager->fence_target(lease)->region->iova(); }
};

TEST_F(ManagersEnd, RegionThatNothingProved_ItsAddressesAreRetired) {
  const Client& a = client();
  const Iova alive = iova_of(a.grant.lease);
  break_command(Opcode::DESTROY_MKEY, FaultKind::Status);
  dma->refuse = true;
  ASSERT_EQ(revoke(a).verdict.proof, Proof::None);
  dma->refuse = false;
  ASSERT_THAT(dma->retired, IsEmpty());
  manager.reset();
  EXPECT_THAT(dma->retired, ElementsAre(alive));
}

/// The tenant's key is gone and proves the memory; the lease's own, which it led to, is alive.
TEST_F(ManagersEnd, RegionThatTheTenantsKeyProved_ItsAddressesAreRetired) {
  const GrantRequest request{.bytes = kPageBytes,
                             .peer = {.qpn = prm::QpNumber{0x77}, .gid = kPort.gid}};
  const auto grants = manager->grant_together(std::vector(2, request)).value();
  std::vector<Iova> alive;
  std::vector<LeaseName> names;
  for (const Grant& grant : grants) {
    alive.push_back(iova_of(grant.lease));
    names.push_back({grant.lease.id, grant.lease.epoch});
  }
  break_command(Opcode::QP_2ERR, FaultKind::Status);
  const auto answers = manager->revoke_batch(names, indirect_plan());
  ASSERT_EQ(answers.front().outcome, Outcome::Fenced);
  ASSERT_EQ(answers.front().verdict.proof, Proof::TenantMkey);
  ASSERT_THAT(dma->retired, IsEmpty());
  manager.reset();
  EXPECT_THAT(dma->retired, UnorderedElementsAreArray(alive));
}

TEST_F(ManagersEnd, LeasesInEveryState_LeaveNothingOnTheDevice) {
  manager.reset();
  const std::uint64_t before = model->census().objects();
  manager = LeaseManager::create(host(), {.table = {.slots = 8}}).value();
  const GrantRequest request{.bytes = kPageBytes,
                             .peer = {.qpn = prm::QpNumber{0x77}, .gid = kPort.gid}};
  const Grant pending = manager->grant(request).value();
  ASSERT_TRUE(manager->grant(request));
  ASSERT_EQ(manager->revoke(pending.lease.id, pending.lease.epoch).outcome, Outcome::TornDown);
  EXPECT_GT(model->census().objects(), before);
  manager.reset();
  EXPECT_EQ(model->census().objects(), before);
}

TEST_F(ManagersEnd, RegionWhoseOwnKeyIsGone_ItsAddressesServeAgain) {
  const Client& a = client();
  break_command(Opcode::QP_2ERR, FaultKind::Status);
  ASSERT_EQ(revoke(a).verdict.proof, Proof::Mkey);
  manager.reset();
  EXPECT_THAT(dma->retired, IsEmpty());
}

}  // namespace
}  // namespace portcullis::lease
