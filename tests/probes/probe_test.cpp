// SPDX-License-Identifier: BSD-3-Clause
//
// Each probe on a device that is as the floor document saw its firmware and on one that is not: the
// verdict can come out either way, and nothing is left behind.
#include "probes/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/steering/steering_world.hpp"

namespace portcullis::testing {
namespace {

using probes::Probe;
using probes::Report;
using ::testing::HasSubstr;

class Probes : public SteeringWorld {
 protected:
  Result<Report> run(Probe probe, std::vector<std::string> behaviours,
                     const std::string& timing = "cx5-16.35.4506") {
    start(std::move(behaviours), timing);
    auto report = probes::run(probe, hca->context(), {.loopback = path});
    const model::Census census = model->census();
    EXPECT_EQ(census.flow_tables + census.flow_groups + census.flow_entries, 0U);
    EXPECT_EQ(census.qps, 0U);
    return report;
  }
};

TEST_F(Probes, ThatFirmware_GivesEveryVerdictOfTheFloorDocument) {
  for (const Probe probe : probes::kProbes) EXPECT_TRUE(run(probe, {})->as_seen) << name(probe);
}

TEST_F(Probes, NicRxBypassed_WriteSucceeds) {
  EXPECT_THAT(run(Probe::NicRxDrop, {})->verdict, HasSubstr("BYPASSED"));
}

TEST_F(Probes, NicRxInPath_WriteMeetsSilence) {
  const auto report = run(Probe::NicRxDrop, {"nic-rx-bypassed-for-roce=off"});
  EXPECT_EQ(report->observed, "a WRITE met silence");
  EXPECT_THAT(report->verdict, HasSubstr("in the path of RoCEv2"));
  EXPECT_FALSE(report->as_seen);
}

TEST_F(Probes, RdmaRxTable_IsCreated) {
  EXPECT_THAT(run(Probe::RdmaRxFt, {})->verdict, HasSubstr("SUCCEEDS"));
}

TEST_F(Probes, RdmaRxRefused_IsTheFinding) {
  const auto report = run(Probe::RdmaRxFt, {"rdma-rx-refused"});
  EXPECT_THAT(report->verdict, HasSubstr("REFUSED"));
  EXPECT_THAT(report->observed, HasSubstr("BAD_PARAM_ERR"));
}

TEST_F(Probes, RdmaRxSilentNull_IsTheFinding) {
  EXPECT_THAT(run(Probe::RdmaRxFt, {"rdma-rx-silent-null"})->verdict, HasSubstr("SILENT NULL"));
}

TEST_F(Probes, Catchall_ShowsThatTheTableIsInThePath) {
  EXPECT_THAT(run(Probe::RdmaRxCatchallDrop, {})->verdict, HasSubstr("IS in the active"));
}

TEST_F(Probes, CatchallOutsideOfThePath_ShowsThat) {
  EXPECT_THAT(run(Probe::RdmaRxCatchallDrop, {"rdma-rx-in-path=off"})->verdict,
              HasSubstr("NOT in the active"));
}

TEST_F(Probes, BthMismatch_DropsWriteOnlyAndNotTheControl) {
  const auto report = run(Probe::RdmaRxBthMismatch, {});
  EXPECT_EQ(report->observed, "a WRITE met silence, one of several packets succeeded");
  EXPECT_THAT(report->verdict, HasSubstr("all work"));
}

TEST_F(Probes, BthOpcodeNotParsed_DropsNothing) {
  EXPECT_THAT(run(Probe::RdmaRxBthMismatch, {"bth-opcode-not-parsed"})->verdict,
              HasSubstr("NOT parsed"));
}

TEST_F(Probes, BthOpcodeNotOffered_CannotRunInOneLine) {
  const auto report = run(Probe::RdmaRxBthMismatch, {"no-bth-opcode"});
  EXPECT_THAT(report.error().text, HasSubstr("probe rdma-rx-bth-mismatch cannot run: CREATE_FLOW_"
                                             "GROUP"));
}

TEST_F(Probes, RdmaRxRefused_CatchallCannotRunInOneLine) {
  EXPECT_THAT(run(Probe::RdmaRxCatchallDrop, {"rdma-rx-refused"}).error().text,
              HasSubstr("cannot run"));
}

TEST_F(Probes, LoopbackThatCarriesNothing_CannotRunInsteadOfAVerdict) {
  const auto report = run(Probe::RdmaRxCatchallDrop, {"loss=1"});
  EXPECT_THAT(report.error().text, HasSubstr("met silence without the entry too"));
}

TEST(ProbeBuild, Note_NamesTheProbesOfThisBuild) {
  const std::string built = PORTCULLIS_PROBES_BUILT;
  EXPECT_EQ(probes::build_note(), built.empty() ? "" : "probes " + built);
}

TEST(ProbeReport, ThreeIndentedLinesFollowTheName) {
  EXPECT_EQ(describe(Report{Probe::RdmaRxFt, "a", "b", "c", true}),
            "rdma-rx-ft\n  installed: a\n  observed:  b\n  verdict:   c (as on firmware "
            "16.35.4506)");
}

}  // namespace
}  // namespace portcullis::testing
