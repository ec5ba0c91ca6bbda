// SPDX-License-Identifier: BSD-3-Clause
//
// Medians and the JSON of latencies.
#include "tools/vfio_peer/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace portcullis::tools::vfio_peer {
namespace {

TEST(Median, OfAnOddNumber_IsTheOneInTheMiddle) { EXPECT_EQ(median({9, 1, 5}), 5U); }
TEST(Median, OfAnEvenNumber_IsTheMeanOfTwo) { EXPECT_EQ(median({9, 1, 5, 6}), 5U); }
TEST(Median, OfNone_IsZero) { EXPECT_EQ(median({}), 0U); }

TEST(LatencyJson, Document_NamesDeviceClockAndEachMedian) {
  const Latencies latencies{{"fw_rev", {40, 30, 50}},
                            {{"2ERR_QP", {100, 300, 200}}, {"QUERY_ISSI", {10}}}};
  const auto json = nlohmann::json::parse(
      to_json({"0000:01:00.0", "16.35.4506", "libmlx5.so.1", "LID 3"}, latencies));
  EXPECT_EQ(json["device"], "vfio 0000:01:00.0 fw 16.35.4506");
  EXPECT_EQ(json["clock"], "wall");
  EXPECT_EQ(json["register_read"]["median_ns"], 40);
  EXPECT_EQ(json["commands"]["2ERR_QP"]["median_ns"], 200);
  EXPECT_EQ(json["commands"]["2ERR_QP"]["min_ns"], 100);
  EXPECT_EQ(json["commands"]["2ERR_QP"]["max_ns"], 300);
  EXPECT_EQ(json["commands"]["2ERR_QP"]["samples"], 3);
  EXPECT_EQ(json["commands"]["2ERR_QP"]["median_less_register_read_ns"], 160);
}

TEST(LatencyJson, CommandFasterThanATrap_LeavesNothing) {
  const Latencies latencies{{"fw_rev", {40}}, {{"QUERY_ISSI", {10}}}};
  const auto json = nlohmann::json::parse(to_json({}, latencies));
  EXPECT_EQ(json["commands"]["QUERY_ISSI"]["median_less_register_read_ns"], 0);
}

}  // namespace
}  // namespace portcullis::tools::vfio_peer
