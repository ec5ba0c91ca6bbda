// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/lcores.hpp"

#include <gmock/gmock.h>

#include "tests/pmd/fake_tree.hpp"

namespace portcullis::pmd {
namespace {

using portcullis::testing::FakeTree;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two nodes of four CPUs; CPU n and n + 1 share a core when n is even.
CpuTopology two_nodes() {
  CpuTopology topology;
  for (unsigned cpu = 0; cpu < 8; ++cpu) topology.cpus[cpu] = {cpu / 2, static_cast<int>(cpu / 4)};
  return topology;
}

CpuTopology two_nodes_isolated(const CpuSet& isolated) {
  CpuTopology topology = two_nodes();
  topology.isolated = isolated;
  topology.nohz_full = isolated;
  return topology;
}

TEST(CpuList, IsReadAsTheKernelWritesIt) {
  EXPECT_THAT(*parse_cpu_list("2-4,7"), ElementsAre(2, 3, 4, 7));
  EXPECT_THAT(*parse_cpu_list(""), IsEmpty());
}

TEST(CpuList, Nonsense_IsRefusedWithTheWord) {
  for (const char* text : {"x", "3-1", "1-", "-", "1,,2", "99999999999"})
    EXPECT_EQ(parse_cpu_list(text).error().code, Errc::Malformed) << text;
  EXPECT_THAT(parse_cpu_list("0,x-2").error().text, HasSubstr("\"x-2\""));
}

TEST(CpuList, IsWrittenWithRanges) { EXPECT_EQ(format_cpu_list({0, 2, 3, 4, 9}), "0,2-4,9"); }

TEST(LcoreFindings, IsolatedLcoresOnTheNicsNode_AreFine) {
  EXPECT_THAT(lcore_findings(two_nodes_isolated({4, 6}), {{0, {4}}, {1, {6}}}, 1), IsEmpty());
}

TEST(LcoreFindings, LcoreThatIsNotIsolated_IsNamedWithAListThatIs) {
  const auto lines = lcore_findings(two_nodes_isolated({4, 6}), {{1, {1}}}, -1);
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("lcore 1 (CPU 1) is not isolated"), "use instead: -l 4"));
}

TEST(LcoreFindings, LcoreOfAnotherNode_IsNamedWithAListOfTheNics) {
  const auto lines = lcore_findings(two_nodes_isolated({0, 2, 4, 6}), {{0, {0}}, {2, {2}}}, 1);
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("lcore 0 (CPU 0) is on NUMA node 0, the NIC on node 1"),
                          HasSubstr("lcore 2 (CPU 2) is on NUMA node 0"), "use instead: -l 4,6"));
}

TEST(LcoreFindings, LcoresOnOneCore_AreNamedWithAListOfTwoCores) {
  const auto lines = lcore_findings(two_nodes_isolated({4, 5, 6}), {{0, {4}}, {1, {5}}}, 1);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("lcore 1 (CPU 5) shares its core with lcore 0"),
                                 "use instead: -l 4,6"));
}

TEST(LcoreFindings, WhereNothingIsIsolated_SaysWhatToBootWith) {
  const auto lines = lcore_findings(two_nodes(), {{0, {0}}, {1, {1}}}, -1);
  EXPECT_EQ(lines.back(),
            "too few CPUs are isolated: boot with isolcpus=2,4 nohz_full=2,4, then "
            "use -l 2,4");
}

TEST(LcoreFindings, MoreLcoresThanTheNodeHas_SaysHowManyItHas) {
  std::vector<Lcore> lcores;
  for (unsigned i = 0; i < 5; ++i) lcores.push_back({i, {i}});
  EXPECT_EQ(lcore_findings(two_nodes(), lcores, 1).back(),
            "5 lcores of NUMA node 1 cannot be had: 4 can");
}

TEST(LcoreFindings, IsolatedLcoreWithTicks_IsToldToBootWithoutThem) {
  CpuTopology topology = two_nodes();
  topology.isolated = {4};
  EXPECT_THAT(lcore_findings(topology, {{0, {4}}}, 1),
              ElementsAre(HasSubstr("takes timer ticks"), HasSubstr("boot with nohz_full=4")));
}

TEST(LcoreFindings, LcoreThatMayMove_IsNamed) {
  EXPECT_THAT(lcore_findings(two_nodes_isolated({4, 6}), {{0, {4, 6}}}, 1),
              Contains(HasSubstr("lcore 0 (CPU 4,6) may move between CPUs")));
}

TEST(ReadCpuTopology, TakesTheKernelsListsFromSys) {
  const FakeTree sys;
  sys.file("devices/system/cpu/isolated", "2-3\n");
  sys.file("devices/system/cpu/nohz_full", "3\n");
  const auto topology = read_cpu_topology(sys.root());
  ASSERT_TRUE(topology.has_value());
  EXPECT_THAT(topology->isolated, ElementsAre(2, 3));
  EXPECT_THAT(topology->nohz_full, ElementsAre(3));
  EXPECT_FALSE(topology->cpus.empty()) << "hwloc knows this machine's CPUs";
}

TEST(ReadCpuTopology, KernelBootedWithoutNohzFull_HasNone) {
  const FakeTree sys;
  sys.file("devices/system/cpu/nohz_full", " (null)\n");
  EXPECT_THAT(read_cpu_topology(sys.root())->nohz_full, IsEmpty());
}

TEST(ReadCpuTopology, WithoutTheFiles_NothingIsIsolated) {
  const FakeTree sys;
  EXPECT_THAT(read_cpu_topology(sys.root())->isolated, IsEmpty());
}

TEST(NumaNodeOf, IsTheDevicesOwn) {
  const FakeTree sys;
  sys.file("bus/pci/devices/0000:03:00.0/numa_node", "1\n");
  EXPECT_EQ(numa_node_of("0000:03:00.0", sys.root()), 1);
}

TEST(NumaNodeOf, WhatTheKernelDoesNotKnow_IsNone) {
  const FakeTree sys;
  sys.file("bus/pci/devices/0000:03:00.0/numa_node", "-1\n");
  EXPECT_EQ(numa_node_of("0000:03:00.0", sys.root()), -1);
  EXPECT_EQ(numa_node_of("0000:04:00.0", sys.root()), -1);
}

}  // namespace
}  // namespace portcullis::pmd
