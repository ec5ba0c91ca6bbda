// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of the bench programs: what a user types, and what every mistake is answered
// with.
#include "bench/common/options.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace portcullis::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto kEverything = [] {
  ProgramInfo info;
  info.name = "revoke_bench";
  info.summary = "How long a revoke takes.";
  info.has_plans = info.has_leases = info.has_retry = true;
  return info;
};

Result<CommandLine> parse(std::vector<const char*> arguments,
                          const ProgramInfo& info = kEverything()) {
  arguments.insert(arguments.begin(), "bench");
  return parse_command_line(info, static_cast<int>(arguments.size()), arguments.data());
}

std::string refusal(std::vector<const char*> arguments, const ProgramInfo& info = kEverything()) {
  const Result<CommandLine> line = parse(std::move(arguments), info);
  return line ? "accepted" : line.error().text;
}

TEST(BenchOptions, NoArguments_GiveTheModelAndEveryPlan) {
  const auto line = parse({});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->options.device, "model");
  EXPECT_EQ(line->options.peer, "loopback");
  EXPECT_THAT(line->options.plans, ElementsAre("seed", "nak-first", "legacy", "umr", "access-flags",
                                               "drop-only", "indirect"));
  EXPECT_THAT(line->options.leases, ElementsAre(1, 64, 1024));
  EXPECT_EQ(line->options.timeout, 14U);
  EXPECT_EQ(line->options.retry, 7U);
  EXPECT_EQ(line->options.samples, 1000U);
  EXPECT_THAT(line->options.out_dir, IsEmpty());
  EXPECT_THAT(line->eal, ElementsAre("bench"));
  EXPECT_FALSE(line->text);
}

TEST(BenchOptions, HardwareLine_IsSplitAtTheDashes) {
  const auto line = parse({"-l", "2-3", "-a", "0000:03:00.0", "--", "--device=0000:03:00.0",
                           "--peer=loopback", "--benchmark_filter=seed"});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->eal, ElementsAre("bench", "-l", "2-3", "-a", "0000:03:00.0"));
  EXPECT_EQ(line->options.device, "0000:03:00.0");
  EXPECT_THAT(line->benchmark, ElementsAre("--benchmark_filter=seed"));
}

TEST(BenchOptions, Lists_AreCommaSeparated) {
  const auto line = parse({"--", "--plan=legacy,seed+overlap", "--leases=1,8"});
  ASSERT_TRUE(line);
  EXPECT_THAT(line->options.plans, ElementsAre("legacy", "seed+overlap"));
  EXPECT_THAT(line->options.leases, ElementsAre(1, 8));
}

TEST(BenchOptions, Quick_TakesFewSamplesUnlessTheirNumberIsGiven) {
  EXPECT_EQ(parse({"--", "--quick"})->options.samples, 20U);
  EXPECT_EQ(parse({"--", "--quick", "--samples=7"})->options.samples, 7U);
}

TEST(BenchOptions, Help_IsGivenBeforeOrBehindTheDashes) {
  EXPECT_THAT(parse({"--help"})->text.value_or(""),
              AllOf(HasSubstr("--device"), HasSubstr("0000:03:00.0"), HasSubstr("--out-dir")));
  EXPECT_THAT(parse({"--", "--help"})->text.value_or(""), HasSubstr("--plan"));
}

TEST(BenchOptions, Version_NamesProgramAndProject) {
  EXPECT_THAT(parse({"--version"})->text.value_or(""), HasSubstr("revoke_bench (portcullis "));
}

TEST(BenchOptions, OptionsAProgramHasNot_AreRefusedAndNotInItsHelp) {
  ProgramInfo plain;
  plain.name = "model_bench";
  EXPECT_THAT(refusal({"--", "--plan=seed"}, plain), HasSubstr("--plan=seed"));
  EXPECT_THAT(parse({"--help"}, plain)->text.value_or(""), Not(HasSubstr("--plan")));
}

TEST(BenchOptions, OurOptionBeforeTheDashes_IsToldWhereItBelongs) {
  EXPECT_THAT(refusal({"--device=model"}), AllOf(HasSubstr("--device=model"), HasSubstr("-- ")));
  EXPECT_THAT(refusal({"--benchmark_filter=x", "--"}), HasSubstr("--benchmark_filter=x"));
}

struct Mistake {
  const char* argument;
  const char* value;
  const char* accepted;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.argument; }

class BenchOptionMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(BenchOptionMistakes, AreAnsweredInOneLineWithTheValueAndWhatIsAccepted) {
  EXPECT_THAT(
      refusal({"--", GetParam().argument}),
      AllOf(HasSubstr(GetParam().value), HasSubstr(GetParam().accepted), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    All, BenchOptionMistakes,
    testing::Values(
        Mistake{"--plan=drop", "drop", "seed, nak-first, legacy"},
        Mistake{"--plan=drop-only+overlap", "drop-only+overlap", "one step"},
        Mistake{"--plan=seed,drop", "drop", "seed, nak-first, legacy"},
        Mistake{"--drop=bth_dst_qp=1", "bth_dst_qp=1", "bth_dst_qp=qpn, bth_dst_qp=0"},
        Mistake{"--leases=0", "0", "1 to 4096"}, Mistake{"--leases=x", "x", "1 to 4096"},
        Mistake{"--samples=0", "0", "1 to 1000000000"},
        Mistake{"--samples=-3", "-3", "1 to 1000000000"}, Mistake{"--timeout=0", "0", "1 to 31"},
        Mistake{"--deadline-ms=0", "0", "1 to 600000"}, Mistake{"--retry=8", "8", "0 to 7"},
        Mistake{"--peer=wire", "wire", "loopback"}, Mistake{"--speed=9", "--speed=9", "--help"},
        Mistake{"stray", "stray", "--help"}, Mistake{"--device", "--device", "SPEC"}));

}  // namespace
}  // namespace portcullis::bench
