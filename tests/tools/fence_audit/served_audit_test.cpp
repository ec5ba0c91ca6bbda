// SPDX-License-Identifier: BSD-3-Clause
//
// fence-audit under the load of clients elsewhere, on the model with a scripted peer: lease after
// lease is fenced under WRITEs, a broken promise is found, and a stop ends it with what there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "attach/open_device.hpp"
#include "tests/tools/lease_serve/remote_client.hpp"
#include "tools/fence_audit/report.hpp"
#include "tools/fence_audit/served_audit.hpp"

namespace portcullis::tools::fence_audit {
namespace {

using proof::PlanAudit;
using service::ServedPort;
using ::testing::HasSubstr;
using testing::kOurs;
using testing::Writer;

/// Memory is touched 20 us after the key check, so WRITEs are under way at every fence.
constexpr const char* kPending = "model,execution=stepped,behaviour=data-path-ns=20000";

/// Asks for a lease whenever it has none, and writes with eight outstanding until it is refused.
class TirelessPeer final : public service::exchange::LineChannel {
 public:
  explicit TirelessPeer(ServedPort& port, std::uint64_t offset = 0)
      : port_(&port), offset_(offset) {}

  Result<std::optional<std::string>> poll_line() override {
    constexpr std::uint64_t kDepth = 8;
    writer_ =
        std::make_unique<Writer>(port_->driver().context(), port_->address().mac, kDepth, offset_);
    ++asked;
    return writer_->request();
  }
  Result<void> send_line(std::string_view line) override {
    PORTCULLIS_TRY_ASSIGN(const auto grant, service::exchange::parse_grant(line));
    writer_->connect(grant);
    return {};
  }
  void drop() override { writer_.reset(); }
  bool is_peer_gone() override {
    writer_->go_on();
    return false;
  }
  std::string peer() const override { return "tireless"; }

  int asked = 0;

 private:
  ServedPort* port_;
  std::uint64_t offset_;
  std::unique_ptr<Writer> writer_;
};

PlanAudit run(const std::string& device, const std::string& plan, std::uint64_t offset = 0) {
  const auto port =
      ServedPort::open(attach::parse_device(device).value(), {.address = kOurs}).value();
  TirelessPeer peer(*port, offset);
  PlanAudit found{.plan = plan, .is_served = true};
  proof::AuditOptions options;
  options.watch_ms = 2;
  const auto served = audit_served(
      *port, peer, lease::parse_plan(plan).value(), options, 12, [] { return false; }, found);
  EXPECT_TRUE(served) << served.error().text;
  return found;
}

class EveryServedPlan : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryServedPlan, OnHardwareThatKeepsItsPromises_HoldsUnderLoad) {
  const PlanAudit found = run(kPending, GetParam());
  EXPECT_TRUE(found.holds()) << text_of(found);
  EXPECT_EQ(found.fences, 12u);
  EXPECT_EQ(found.under_load, 12u);
  EXPECT_LE(found.from_answer, found.watched);
}

INSTANTIATE_TEST_SUITE_P(Plans, EveryServedPlan,
                         ::testing::Values("seed", "nak-first", "legacy", "umr", "access-flags",
                                           "drop-only", "indirect", "allow-modify",
                                           "seed+overlap"));

TEST(ServedAudit, KeyDestroyedWhileDmaIsPending_BytesChangedAfterTheOutcome) {
  const PlanAudit found = run(std::string(kPending) + "+a1-off", "seed");
  EXPECT_GT(found.changed, 0u);
  EXPECT_GT(found.executed, 0u);
  EXPECT_EQ(verdict_of({found}), "the fence did not hold");
}

/// The plan lingers behind the key step: what is late has landed before the outcome.
TEST(ServedAudit, LateWriteBetweenTheAnswerForTheKeyAndTheOutcome_IsFound) {
  EXPECT_GT(run(std::string(kPending) + "+a1-off", "nak-first").changed, 0u);
  EXPECT_GT(run(std::string(kPending) + "+a2-off", "umr").changed, 0u);
}

/// As READs would: the Q counters alone say that there is load.
TEST(ServedAudit, LoadThatLeavesTheFirstWordAlone_IsCountedAndWatchedAllTheSame) {
  EXPECT_EQ(run(kPending, "seed", 4096).under_load, 12u);
  EXPECT_GT(run(std::string(kPending) + "+a1-off", "seed", 4096).changed, 0u);
}

TEST(ServedAudit, Indirect_RestsOnTheKeyOfTheTenant) {
  EXPECT_TRUE(run(std::string(kPending) + "+a1-off", "indirect+overlap").holds());
  EXPECT_GT(run(std::string(kPending) + "+a6-off", "indirect+overlap").changed, 0u);
}

TEST(ServedAudit, Report_ClaimsNothingOfClientsThatItDoesNotHear) {
  const PlanAudit found = run(kPending, "seed");
  EXPECT_THAT(text_of(found), HasSubstr("12 (100.0 %) under load of lease-verify"));
  const std::string json = json_of("model", {found});
  EXPECT_THAT(json, HasSubstr("\"load\": \"lease-verify\""));
  EXPECT_THAT(json, HasSubstr("\"last_success_after_outcome_ns\": null"));
}

TEST(ServedAudit, Stopped_EndsBeforeTheNextIsAskedFor) {
  const auto port =
      ServedPort::open(attach::parse_device("model").value(), {.address = kOurs}).value();
  TirelessPeer peer(*port);
  PlanAudit found;
  ASSERT_TRUE(audit_served(
      *port, peer, lease::seed_plan(), {}, 12, [&peer] { return peer.asked > 2; }, found));
  EXPECT_EQ(found.fences, 3u);
  EXPECT_EQ(verdict_of({found}), "the fence held");
}

TEST(ServedAudit, StoppedBeforeAnybodyCame_SaysThatNothingWasFenced) {
  const auto port =
      ServedPort::open(attach::parse_device("model").value(), {.address = kOurs}).value();
  TirelessPeer peer(*port);
  PlanAudit found;
  ASSERT_TRUE(audit_served(
      *port, peer, lease::seed_plan(), {}, 12, [] { return true; }, found));
  EXPECT_EQ(verdict_of({found}), "no evidence: nothing was fenced");
}

}  // namespace
}  // namespace portcullis::tools::fence_audit
