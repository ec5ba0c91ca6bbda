// SPDX-License-Identifier: BSD-3-Clause
//
// GraphML as the Internet Topology Zoo has it.
#include <gmock/gmock.h>

#include <string>

#include "tests/pfc/import/samples.hpp"

namespace portcullis::pfc::import {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::sample;
using ::testing::SizeIs;

TEST(GraphMl, Sample_HasItsPlacesAndLinks) {
  const auto imported = from_graphml(sample("nordu1997.graphml"));
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->notes, IsEmpty());
  const Topology& fabric = imported->topology;
  EXPECT_THAT(fabric.nodes, SizeIs(14));
  EXPECT_THAT(fabric.links, SizeIs(2 * 13));
  const TopologyIndex index(fabric);
  EXPECT_EQ(fabric.nodes[*index.node("St Petersburg")].kind, NodeKind::Host);  // one link alone
  EXPECT_EQ(fabric.nodes[*index.node("Helsinki")].kind, NodeKind::Switch);
  EXPECT_DOUBLE_EQ(fabric.links[*index.link("Stockholm-Oslo")].capacity, 0.034);
}

std::string graph(const std::string& body) {
  return "<?xml version='1.0'?>\n<!DOCTYPE graphml>\n<g:graphml xmlns:g=\"x\">\n"
         "<g:key attr.name=\"label\" for=\"node\" id=\"n\"/>\"\n"  // the Zoo has such a quote
         "<g:key attr.name=\"LinkSpeed\" for=\"edge\" id=\"s\"/>\n"
         "<g:key attr.name=\"LinkSpeedUnits\" for=\"edge\" id=\"u\"/>\n" +
         body + "</g:graphml>\n";
}

TEST(GraphMl, LabelsThatAreAlike_StayTwoNodes) {
  const auto imported = from_graphml(
      {"g", graph("<graph edgedefault='directed'><node id='1'><data key='n'>A &amp; B</data></node>"
                  "<node id='2'><data key='n'>A &amp; B</data></node><node id='3'/>"
                  "<edge source='1' target='2'><data key='s'>10</data><data key='u'>G</data></edge>"
                  "<edge source='2' target='1'><data key='s'>10</data><data key='u'>G</data></edge>"
                  "<edge source='3' target='3'/><edge source='2' target='3'/></graph>")});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_EQ(imported->topology.nodes[1].name, "A & B (2)");
  EXPECT_THAT(imported->topology.links, SizeIs(4));
  EXPECT_EQ(imported->topology.links[0].capacity, 10);
  EXPECT_THAT(imported->notes,
              ElementsAre("1 edges from a node to itself, left out", HasSubstr("directions"),
                          HasSubstr("1 cables of which nobody says how fast")));
}

TEST(GraphMl, PartsThatAreNoNodeOrEdge_AreTold) {
  const auto imported = from_graphml(
      {"g", graph("<graph><node id='1'><graph><node id='9'/></graph></node><node id='2'/>"
                  "<edge source='1' target='2'/><hyperedge><endpoint node='1'/></hyperedge></graph>"
                  "<graph><node id='7'/></graph>")});
  ASSERT_TRUE(imported.has_value()) << error_of(imported);
  EXPECT_THAT(imported->topology.nodes, SizeIs(2));
  EXPECT_THAT(imported->notes, ::testing::IsSupersetOf({HasSubstr("2 graphs beside the first"),
                                                        HasSubstr("1 hyperedges, left out")}));
}

/// As yEd breaks a long label.
TEST(GraphMl, LabelOverLines_IsANameOnOne) {
  const auto imported = from_graphml(
      {"g", graph("<graph><node id='1'><data key='n'>Stock\nholm</data></node><node id='2'/>"
                  "<edge source='1' target='2'/></graph>")});
  ASSERT_TRUE(imported) << error_of(imported);
  EXPECT_EQ(imported->topology.nodes[0].name, "Stock holm");
}

TEST(GraphMl, ReferenceToHalfAPair_IsRefused) {
  const auto imported = from_graphml(
      {"g", graph("<graph><node id='1'><data key='n'>A&#xD800;</data></node></graph>")});
  EXPECT_THAT(error_of(imported), HasSubstr("&#xD800;"));
}

struct Mistake {
  const char* name;
  const char* body;
  const char* answer;
};

class GraphMlMistake : public ::testing::TestWithParam<Mistake> {};

TEST_P(GraphMlMistake, IsOneLineWithFileLineAndField) {
  EXPECT_EQ(error_of(from_graphml({"g", graph(GetParam().body)})), GetParam().answer);
}

constexpr Mistake kMistakes[] = {
    {"NoGraph", "", "g:3: graph: none; one is needed"},
    {"NoEdge", "<graph>\n<node id='1'/></graph>", "g:7: edge: none; one or more are needed"},
    {"UnknownEnd", "<graph><node id='1'/>\n<edge source='1' target='2'/></graph>",
     "g:8: target: \"2\"; the id of a node is accepted"},
    {"IdTwice", "<graph><node id='1'/>\n<node id='1'/></graph>",
     "g:8: node: id \"1\" a second time"},
    {"SpeedThatIsNone",
     "<graph><node id='1'/><node id='2'/>\n<edge source='1' target='2'><data key='s'>ten</data>"
     "<data key='u'>G</data></edge></graph>",
     "g:8: LinkSpeed: \"ten\"; a number above 0 is accepted"},
    {"SpeedOverLines",
     "<graph><node id='1'/><node id='2'/>\n<edge source='1' target='2'><data "
     "key='s'>ten\n&#27;2</data>"
     "<data key='u'>G</data></edge></graph>",
     "g:8: LinkSpeed: \"ten  2\"; a number above 0 is accepted"},
    {"SpeedBeyondAllNumbers",
     "<graph><node id='1'/><node id='2'/>\n<edge source='1' target='2'><data key='s'>1e308</data>"
     "<data key='u'>T</data></edge></graph>",
     "g:8: LinkSpeed: \"1e308\"; 1e-50 to 1e+50 Gb/s are accepted"},
    {"UnitsThatAreNone",
     "<graph><node id='1'/><node id='2'/>\n<edge source='1' target='2'><data key='s'>10</data>"
     "<data key='u'>Gbps</data></edge></graph>",
     "g:8: LinkSpeedUnits: \"Gbps\"; K, M, G or T is accepted"},
    {"NeverClosed", "<graph>\n<node id='1'>",
     "g:8: </g:graphml> where </node> (line 8) is expected"},
    {"AttributeTwice", "<graph id='1'\n id='2'/>", "g:8: id: a second time"},
    {"EntityOfADtd", "<graph>&lol;</graph>", "g:7: &lol; is no entity of XML"},
};

INSTANTIATE_TEST_SUITE_P(All, GraphMlMistake, ::testing::ValuesIn(kMistakes),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(GraphMl, OtherTexts_AreRefused) {
  EXPECT_EQ(error_of(from_graphml({"g", ""})), "g:1: an element expected");
  EXPECT_EQ(error_of(from_graphml({"g", "<svg/>"})), "g:1: graphml: <svg> instead");
  EXPECT_EQ(error_of(from_graphml({"g", "<a/>\n<b/>"})), "g:2: text behind the outermost element");
  EXPECT_EQ(error_of(from_graphml({"g", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"})),
            "g:1: a DTD inside the file; none is accepted");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_EQ(error_of(from_graphml({"g", deep})), "g:1: elements deeper than 100");
}

}  // namespace
}  // namespace portcullis::pfc::import
