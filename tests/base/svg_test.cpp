// SPDX-License-Identifier: BSD-3-Clause
//
// The picture read back: an XML parser that is not ours must accept it, and what a reader would
// look for must stand where the numbers say.
#include "base/svg.hpp"

#include <gmock/gmock.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <map>
#include <sstream>

namespace portcullis {
namespace {

using boost::property_tree::ptree;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

Histogram equal_samples(std::uint64_t value_ns, int count) {
  Histogram histogram;
  for (int i = 0; i < count; ++i) histogram.record(value_ns);
  return histogram;
}

Histogram rising_samples(std::uint64_t step_ns, std::uint64_t count) {
  Histogram histogram;
  for (std::uint64_t i = 1; i <= count; ++i) histogram.record(i * step_ns);
  return histogram;
}

PercentilePlot plot_of(std::vector<PlotSeries> series, std::vector<ReferenceLine> references = {}) {
  return {"revoke", "device: model (emulated); clock: wall", std::move(series),
          std::move(references)};
}

ptree parsed(const PercentilePlot& plot) {
  std::istringstream stream(percentile_svg(plot));
  ptree tree;
  read_xml(stream, tree);
  return tree.get_child("svg");
}

/// Every text of the picture and its y.
std::multimap<std::string, double> texts(const ptree& svg) {
  std::multimap<std::string, double> found;
  for (const auto& [tag, node] : svg)
    if (tag == "text") found.emplace(node.data(), node.get<double>("<xmlattr>.y", -1));
  return found;
}

/// y of the end of each curve (the dot on its last sample).
std::vector<double> curve_ends(const ptree& svg) {
  std::vector<double> ends;
  for (const auto& [tag, node] : svg)
    if (tag == "circle") ends.push_back(node.get<double>("<xmlattr>.cy"));
  return ends;
}

TEST(Svg, HostileText_IsStillOneXmlDocument) {
  PercentilePlot plot = plot_of({{"<plan> & \"co\"", rising_samples(1'000, 50)}});
  plot.title = "a <b> & 'c' \"d\" ]]> \x01 \xff";
  plot.subtitle = "<!-- -- >&amp;";
  const ptree svg = parsed(plot);
  EXPECT_EQ(svg.get<std::string>("title"), "a <b> & 'c' \"d\" ]]> ? ?");
  EXPECT_EQ(svg.get<std::string>("desc"), "<!-- -- >&amp;");
  EXPECT_THAT(texts(svg), Contains(Key("<plan> & \"co\"")));
}

TEST(Svg, TitleAndSubtitle_AreShown) {
  const auto shown = texts(parsed(plot_of({{"seed", rising_samples(1'000, 50)}})));
  EXPECT_THAT(shown, Contains(Key("revoke")));
  EXPECT_THAT(shown, Contains(Key("device: model (emulated); clock: wall")));
}

TEST(Svg, LongSubtitle_IsWrappedAndNothingIsLost) {
  PercentilePlot plot = plot_of({{"seed", rising_samples(1'000, 50)}});
  plot.subtitle = std::string(100, 'a') + " " + std::string(100, 'b') + " " + std::string(300, 'c');
  const auto shown = texts(parsed(plot));
  EXPECT_THAT(shown, Contains(Key(std::string(100, 'a'))));
  EXPECT_THAT(shown, Contains(Key(std::string(100, 'b'))));
  EXPECT_THAT(shown, Contains(Key(std::string(125, 'c'))));
  EXPECT_THAT(shown, Contains(Key(std::string(50, 'c'))));
}

TEST(Svg, FewSamples_AxisReachesThreeNinesAndNoFurther) {
  const auto shown = texts(parsed(plot_of({{"seed", rising_samples(1'000, 10)}})));
  EXPECT_THAT(shown, Contains(Key("0 %")));
  EXPECT_THAT(shown, Contains(Key("50 %")));
  EXPECT_THAT(shown, Contains(Key("90 %")));
  EXPECT_THAT(shown, Contains(Key("99 %")));
  EXPECT_THAT(shown, Contains(Key("99.9 %")));
  EXPECT_THAT(shown, Not(Contains(Key("99.99 %"))));
}

TEST(Svg, ManySamples_AxisReachesAsFarAsTheyDo) {
  const auto shown = texts(parsed(plot_of({{"seed", rising_samples(10, 100'000)}})));
  EXPECT_THAT(shown, Contains(Key("99.999 %")));
}

TEST(Svg, LongerLatency_EndsHigherInThePicture) {
  const auto ends = curve_ends(parsed(
      plot_of({{"fast", rising_samples(1'000, 50)}, {"slow", rising_samples(100'000, 50)}})));
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_GT(ends[0], ends[1]);
}

TEST(Svg, EqualDecades_AreEqualDistances) {
  const auto ends = curve_ends(parsed(plot_of({{"1 us", equal_samples(1'000, 9)},
                                               {"10 us", equal_samples(10'000, 9)},
                                               {"100 us", equal_samples(100'000, 9)}})));
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_NEAR(ends[0] - ends[1], ends[1] - ends[2], 0.2);
}

TEST(Svg, ReferenceLines_LieWithinThePictureAndTheirLabelsApart) {
  const auto shown = texts(parsed(
      plot_of({{"seed", rising_samples(1'000, 50)}},
              {{"12 ms", 12'000'000}, {"2000 ms", 2'000'000'000}, {"1.4 s", 1'400'000'000}})));
  const double budget = shown.find("2000 ms")->second;
  const double floor = shown.find("1.4 s")->second;
  const double recall = shown.find("12 ms")->second;
  EXPECT_GE(floor - budget, 14);
  EXPECT_GE(recall - floor, 14);
}

TEST(Svg, Table_GivesPercentilesAndCount) {
  const auto shown = texts(parsed(plot_of({{"seed", rising_samples(1'000, 100)}})));
  EXPECT_THAT(shown, Contains(Key("p99.9")));
  EXPECT_THAT(shown, Contains(Key("50.2 us")));  // 50 us within 0.8 %
  EXPECT_THAT(shown, Contains(Key("100 us")));
  EXPECT_THAT(shown, Contains(Key("100")));
  EXPECT_THAT(shown, Contains(Key("-")));  // p99.9 of a hundred
}

TEST(Svg, VirtualClock_SaysDeterministicOneValue) {
  const auto shown = texts(parsed(plot_of({{"seed", equal_samples(1'500'000, 3), true}})));
  EXPECT_THAT(shown, Contains(Key("1.5 ms (deterministic, one value)")));
}

TEST(Svg, VirtualClockWithSeveralValues_IsDrawnAsADistribution) {
  const auto shown = texts(parsed(plot_of({{"seed", rising_samples(1'000, 3), true}})));
  EXPECT_THAT(shown, Not(Contains(Key(HasSubstr("one value")))));
}

TEST(Svg, ZeroNanoseconds_LieOnTheLowerEdge) {
  const ptree svg = parsed(plot_of({{"instant", equal_samples(0, 3)}}));
  EXPECT_THAT(texts(svg), Contains(Key("0 ns")));
  EXPECT_EQ(curve_ends(svg).size(), 1U);
}

TEST(Svg, SeriesWithoutSamples_SaysSo) {
  const ptree svg = parsed(plot_of({{"censored", Histogram()}}));
  EXPECT_THAT(texts(svg), Contains(Key("no samples")));
  EXPECT_TRUE(curve_ends(svg).empty());
}

TEST(Svg, NoSeriesAtAll_IsAnEmptyPicture) {
  EXPECT_THAT(texts(parsed(plot_of({}))), Contains(Key("99.9 %")));
}

TEST(Svg, Document_RefersToNothingOutside) {
  const std::string svg = percentile_svg(plot_of({{"seed", rising_samples(1'000, 50)}}));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
  EXPECT_THAT(svg, Not(HasSubstr("url(")));
}

}  // namespace
}  // namespace portcullis
