// SPDX-License-Identifier: BSD-3-Clause
//
// Reports: what people read, what JSON and CSV hold.
#include "pfc/cbd/report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "pfc/cbd/generators.hpp"

namespace portcullis::pfc::cbd {
namespace {

using ::testing::HasSubstr;

struct Case {
  Topology topology = *ring(3, 2);
  std::vector<Analysis> analyses{analyse(topology, 0, {})};
};

TEST(Report, Text_NamesTheCycleItsFlowsAndWhatBreaksIt) {
  const Case ring;
  const std::string text = analysis_text(ring.topology, ring.analyses);
  EXPECT_THAT(text, HasSubstr("sw0-sw1 waits for sw1-sw2   (flow f0)"));
  EXPECT_THAT(text, HasSubstr("reroute (1, the fewest): flow f0"));
}

TEST(Report, TextOfAFabricWithoutCycle_SaysThatItCannotDeadlock) {
  const Topology topology = *ring(3, 1);
  const Analysis analysis = analyse(topology, 0, {});
  EXPECT_THAT(analysis_text(topology, std::span(&analysis, 1)), HasSubstr("cannot deadlock"));
}

TEST(Report, Json_HoldsComponentsByName) {
  const Case ring;
  const auto json = nlohmann::json::parse(analysis_json(ring.topology, ring.analyses));
  const auto& component = json.at("priorities").at(0).at("components").at(0);
  EXPECT_EQ(component.at("shortest_cycle").at(1).at("link"), "sw1-sw2");
  EXPECT_EQ(component.at("breaks").at("turns").at("exactness"), "smallest");
  EXPECT_EQ(component.at("cycles"), 1);
}

TEST(Report, Csv_HasARowForEveryEdgeOfTheCycle) {
  const Case ring;
  EXPECT_EQ(analysis_csv(ring.topology, ring.analyses),
            "priority,component,position,from,to,users\n"
            "0,0,0,sw0-sw1,sw1-sw2,flow f0\n"
            "0,0,1,sw1-sw2,sw2-sw0,flow f1\n"
            "0,0,2,sw2-sw0,sw0-sw1,flow f2\n");
}

TEST(Report, CsvNamesWithCommas_AreQuoted) {
  Case ring;
  ring.topology.flows[0].name = "a,\"b\"";
  EXPECT_THAT(analysis_csv(ring.topology, ring.analyses), HasSubstr("\"flow a,\"\"b\"\"\"\n"));
}

TEST(Report, Failures_NameTheirCablesAndCycles) {
  const Topology topology = *leaf_spine({.leaves = 3, .spines = 2, .hosts = 1});
  const FailureOptions options{.failures = 1, .reaction = Reaction::Local};
  const FailureSweep sweep = *sweep_failures(topology, options);
  EXPECT_THAT(failures_text(topology, sweep, options), HasSubstr("6 of 9 sets of 1 failed cables"));
  EXPECT_THAT(failures_csv(topology, sweep), HasSubstr("\nleaf0-spine0,"));
  const auto json = nlohmann::json::parse(failures_json(topology, sweep, options));
  EXPECT_EQ(json.at("cyclic"), 6);
  EXPECT_EQ(json.at("outcomes").size(), 9u);
}

}  // namespace
}  // namespace portcullis::pfc::cbd
