// SPDX-License-Identifier: BSD-3-Clause
//
// What a fabric's file makes of the time for which a queue pair's number rests.
#include "tools/fabric_residence.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "pfc/bound/residence_bound.hpp"
#include "pfc/cbd/generators.hpp"
#include "pfc/topology_json.hpp"

namespace portcullis::tools {
namespace {

using ::testing::HasSubstr;

/// A file in this test's own name, gone with it.
class FabricFile {
 public:
  explicit FabricFile(const pfc::Topology& topology)
      : path_(::testing::TempDir() + "fabric_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json") {
    std::ofstream(path_) << pfc::to_json(topology);
  }
  FabricFile(const FabricFile&) = delete;
  FabricFile& operator=(const FabricFile&) = delete;
  ~FabricFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

pfc::Topology clos() { return *pfc::cbd::leaf_spine({.leaves = 3, .spines = 2, .hosts = 2}); }

/// Leaves and spines in a circle: what is for leaf0 goes up again at leaf1.
pfc::Topology circle() {
  pfc::Topology ring = *pfc::cbd::ring(4, 2);
  for (const pfc::Flow& flow : ring.flows)
    for (const pfc::LinkId link : flow.path)
      if (link % 4 != 0) ring.routes.push_back({ring.links[link].from, flow.to, link});
  return ring;
}

TEST(FabricResidence, OfAClos_IsItsBoundRoundedUp) {
  const pfc::Topology fabric = clos();
  const FabricFile file(fabric);
  pfc::bound::BoundOptions options;
  options.pause.packet_bytes = 4214;
  const double bound_ms =
      pfc::bound::bound_residence(fabric, options)->most * fabric.units.time_s * 1e3;
  const auto residence = residence_of({.file = file.path()});
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_EQ(residence->ms, static_cast<std::uint64_t>(std::ceil(bound_ms)));
  EXPECT_THAT(residence->text, HasSubstr("a packet of 4214 bytes comes at most"));
}

TEST(FabricResidence, LongerThanTheBound_IsWhatWasTold) {
  const FabricFile file(clos());
  EXPECT_EQ(residence_of({.file = file.path(), .told_ms = 9000})->ms, 9000u);
}

TEST(FabricResidence, CircleWithoutAValue_IsRefusedWithTheCircle) {
  const FabricFile file(circle());
  const auto residence = residence_of({.file = file.path()});
  ASSERT_FALSE(residence.has_value());
  EXPECT_THAT(residence.error().text, HasSubstr("no bound on how late a packet may be: sw0-sw1 "
                                                "waits for sw1-sw2"));
  EXPECT_THAT(residence.error().text, HasSubstr("--residence-ms is accepted"));
}

TEST(FabricResidence, CircleWithAValue_TakesItAndSaysWhy) {
  const FabricFile file(circle());
  const auto residence = residence_of({.file = file.path(), .told_ms = 700});
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_EQ(residence->ms, 700u);
  EXPECT_THAT(residence->text, HasSubstr("as told; ring-4 has no bound: sw0-sw1 waits"));
}

TEST(FabricResidence, CircleWithWatchdogs_HasABound) {
  const FabricFile file(circle());
  const auto residence = residence_of({.file = file.path(), .watchdog_ms = 5});
  ASSERT_TRUE(residence.has_value()) << residence.error().text;
  EXPECT_GT(residence->ms, 5u);
}

TEST(FabricResidence, FabricOfFlowsAlone_IsRefused) {
  const FabricFile file(*pfc::cbd::ring(4, 1));
  EXPECT_THAT(residence_of({.file = file.path()}).error().text,
              HasSubstr("nothing bounds data that is none of its flows"));
}

TEST(FabricResidence, FileThatIsNotThere_IsNamed) {
  EXPECT_EQ(residence_of({.file = "/nowhere/f.json"}).error().text,
            "--fabric /nowhere/f.json cannot be read: No such file or directory");
}

TEST(FabricResidence, WithoutAFabric_IsNothingOrWhatWasTold) {
  EXPECT_EQ(residence_of({})->ms, 0u);
  EXPECT_EQ(residence_of({.file = "", .told_ms = 250})->ms, 250u);
}

}  // namespace
}  // namespace portcullis::tools
