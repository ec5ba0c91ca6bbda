// SPDX-License-Identifier: BSD-3-Clause
//
// Which ports can be served at all.
#include "service/served_port.hpp"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

namespace portcullis::service {
namespace {

using ::testing::HasSubstr;

constexpr pmd::Gid kOurs = pmd::Gid::from_ipv4(192, 0, 2, 1);

TEST(ServedPort, InfiniBandPort_IsRefusedInOneLine) {
  EXPECT_EQ(ServedPort::open(attach::parse_device("model,port=ib").value(), {.address = kOurs})
                .error()
                .text,
            "port_type is 0 (InfiniBand), and what is served here is addressed by RoCE; a port of "
            "type 1 (Ethernet) is accepted");
}

TEST(ServedPort, Vlan_IsThatOfItsAddress) {
  const auto port =
      ServedPort::open(attach::parse_device("model").value(), {.address = kOurs, .vlan = 5});
  ASSERT_TRUE(port.has_value()) << port.error().text;
  EXPECT_EQ((*port)->address().vlan_id, 5);
}

TEST(ServedPort, PortThatAnswersItsNeighbours_NeedsNoEntry) {
  const auto port =
      ServedPort::open(attach::parse_device("model,behaviour=eth-offloads,neighbour=on").value(),
                       {.address = kOurs});
  ASSERT_TRUE(port.has_value()) << port.error().text;
  EXPECT_TRUE((*port)->idle(kNsPerMs));
  EXPECT_EQ((*port)->neighbour_advice(), "no entry needed: the port answers for itself");
}

TEST(ServedPort, ModelThatOffersNothing_SaysSoOnlyToWhoAsks) {
  std::vector<std::string> lines;
  const auto log = [&lines](std::string_view line) { lines.emplace_back(line); };
  EXPECT_TRUE(
      ServedPort::open(attach::parse_device("model").value(), {.address = kOurs, .log = log}));
  EXPECT_THAT(lines, ::testing::IsEmpty());
  EXPECT_TRUE(ServedPort::open(attach::parse_device("model,neighbour=on").value(),
                               {.address = kOurs, .log = log}));
  EXPECT_THAT(lines, ::testing::ElementsAre(HasSubstr("the capability eth_net_offloads is 0")));
}

TEST(ServedPort, PortThatIsToldNotTo_NeedsAnEntry) {
  std::vector<std::string> lines;
  const auto port = ServedPort::open(
      attach::parse_device("model,behaviour=eth-offloads,neighbour=off").value(),
      {.address = kOurs, .log = [&lines](std::string_view line) { lines.emplace_back(line); }});
  ASSERT_TRUE(port.has_value()) << port.error().text;
  EXPECT_THAT((*port)->neighbour_advice(), HasSubstr("ip neigh replace 192.0.2.1 lladdr"));
  EXPECT_THAT(lines, ::testing::IsEmpty());
}

}  // namespace
}  // namespace portcullis::service
