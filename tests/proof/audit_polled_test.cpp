// SPDX-License-Identifier: BSD-3-Clause
//
// The audit with three threads at work: the model, the load and whoever fences, each on an lcore of
// its own. The EAL is for the whole process, so this is a program of its own.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "pmd/eal.hpp"
#include "proof/audit.hpp"

namespace portcullis::proof {
namespace {

/// Three lcores over all cores that there are, be it one.
std::string lcores() {
  return "(0-2)@(0-" + std::to_string(std::thread::hardware_concurrency() - 1) + ")";
}

class AuditPolled : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = pmd::Eal::start(
        {"proof_polled_test", "--no-huge", "--no-pci", "--no-shconf", "-m", "64", "--no-telemetry",
         "--file-prefix=portcullis-audit-" + std::to_string(getpid()), "--lcores", lcores()},
        true);
    ASSERT_TRUE(started) << started.error().text;
    eal.emplace(*std::move(started));
    std::filesystem::remove_all(rte_eal_get_runtime_dir());
  }
  static void TearDownTestSuite() { eal.reset(); }

  static inline std::optional<pmd::Eal> eal;
};

/// The path takes longer than the clients' patience: whoever waits for them hears of that, and has
/// not a silence as long as the deadline before, which no machine is too slow for.
TEST_F(AuditPolled, ClientsThatFailBeforeAnyRevoke_EndItAtOnce) {
  AuditOptions options;
  options.warm_up_deadline_s = 800;
  const auto began = std::chrono::steady_clock::now();
  const auto found =
      audit(attach::parse_device("model,execution=polled,behaviour=data-path-ns=20000000").value(),
            lease::parse_plan("seed").value(), options);
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.error().text.starts_with("before any revoke: ")) << found.error().text;
  EXPECT_LT(std::chrono::steady_clock::now() - began,
            std::chrono::seconds(options.warm_up_deadline_s));
}

TEST_F(AuditPolled, LoadOnACoreOfItsOwn_HoldsAndSaysWhere) {
  AuditOptions options;
  options.fences = 16;
  options.timeout = 20;  // 4 s: on a core for all three the model may be away for long
  const auto found =
      audit(attach::parse_device("model,execution=polled,behaviour=data-path-ns=20000").value(),
            lease::parse_plan("nak-first").value(), options);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_TRUE(found->holds());
  EXPECT_EQ(found->fences, 16u);
  EXPECT_EQ(found->load_lcore, 2u);
  EXPECT_EQ(found->load.in_flight_at_command.count(), 16u);
}

}  // namespace
}  // namespace portcullis::proof
