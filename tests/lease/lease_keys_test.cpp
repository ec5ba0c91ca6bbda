// SPDX-License-Identifier: BSD-3-Clause
//
// Which keys a lease makes, and what the end of a manager leaves of one that it could not take
// back: memory that such a key may name is never anybody's again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "prm/object_commands.hpp"
#include "tests/lease/lease_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::Client;
using ::portcullis::testing::kPort;
using ::portcullis::testing::LeaseWorld;
using prm::Opcode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;
using FaultKind = model::CommandFaultRule::Kind;

/// Notes the QP number of every key that is asked for.
class NotedKeys final : public pmd::CommandChannel {
 public:
  explicit NotedKeys(pmd::CommandChannel& inner) : inner_(&inner) {}

  Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                             pmd::SlotClass slot_class) override {
    const auto command = prm::ConstView<prm::create_mkey_in>::at(in);
    if (command.get<"opcode">() == prm::number(Opcode::CREATE_MKEY))
      qpns.push_back(static_cast<std::uint32_t>(command.get<"memory_key_mkey_entry.qpn">()));
    return inner_->submit(in, out_bytes, slot_class);
  }
  Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                     std::uint64_t deadline_ns) override {
    return inner_->await(ticket, out, deadline_ns);
  }
  bool is_done(pmd::Ticket ticket) const noexcept override { return inner_->is_done(ticket); }
  std::uint64_t default_deadline_ns() const override { return inner_->default_deadline_ns(); }

  std::vector<std::uint32_t> qpns;

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
  const std::uint32_t first = a.grant.qpn;
  const Client& b = client();
  EXPECT_THAT(keys->qpns, ElementsAre(first, b.grant.qpn));
}

TEST_F(LeaseKeys, LeasesTogether_TheirKeysAreForEveryQpOfTheirDomain) {
  const GrantRequest request{.bytes = kPageBytes, .peer = {.qpn = 0x77, .gid = kPort.gid}};
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  EXPECT_THAT(keys->qpns, ElementsAre(prm::kMkcQpnAny, prm::kMkcQpnAny, prm::kMkcQpnAny));
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
  const GrantRequest request{.bytes = kPageBytes, .peer = {.qpn = 0x77, .gid = kPort.gid}};
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

TEST_F(ManagersEnd, RegionWhoseOwnKeyIsGone_ItsAddressesServeAgain) {
  const Client& a = client();
  break_command(Opcode::QP_2ERR, FaultKind::Status);
  ASSERT_EQ(revoke(a).verdict.proof, Proof::Mkey);
  manager.reset();
  EXPECT_THAT(dma->retired, IsEmpty());
}

}  // namespace
}  // namespace portcullis::lease
