// SPDX-License-Identifier: BSD-3-Clause
//
// A domain's capabilities, each read from its own bit of its own block.
#include "steering/flow_caps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/steering/noted_world.hpp"

namespace portcullis::testing {
namespace {

using prm::FlowTableType;
using steering::DomainCaps;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As they stand in DomainCaps.
std::vector<bool> bits_of(const DomainCaps& caps) {
  return {caps.ft_support, caps.flow_modify_en,  caps.modify_root,     caps.bth_dst_qp,
          caps.outer_sip,  caps.outer_udp_sport, caps.outer_udp_dport, caps.bth_opcode};
}

class FlowCaps : public NotedSteering {
 protected:
  void SetUp() override { start_noted({}); }
  std::vector<bool> bits(FlowTableType domain) {
    return bits_of(steering::query_domain(*context, domain).value());
  }
  /// A page of zeroes but for what `edit` puts there.
  void let_only(const std::function<void(Page)>& edit) {
    let_page([edit](Page page) {
      std::ranges::fill(page.all(), std::byte{0});
      edit(page);
    });
  }
  template <prm::Name Name>
  void let_only_domain(FlowTableType domain) {
    let_only([domain](Page page) {
      Domain block(domain == FlowTableType::NIC_RX
                       ? page.bytes<"flow_table_properties_nic_receive">()
                       : page.bytes<"flow_table_properties_nic_receive_rdma">());
      block.template set<Name, 1>();
    });
  }
};

TEST_F(FlowCaps, EveryBitOfADomain_IsThatCapabilityAndNoOther) {
  for (const FlowTableType domain : {FlowTableType::NIC_RX, FlowTableType::RDMA_RX}) {
    let_only_domain<"ft_support">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
    let_only_domain<"flow_modify_en">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(0, 1, 0, 0, 0, 0, 0, 0));
    let_only_domain<"modify_root">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(0, 0, 1, 0, 0, 0, 0, 0));
    let_only_domain<"ft_field_support.bth_dst_qp">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
    let_only_domain<"ft_field_support.outer_sip">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0));
    let_only_domain<"ft_field_support.outer_udp_sport">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(0, 0, 0, 0, 0, 1, 0, 0));
    let_only_domain<"ft_field_support.outer_udp_dport">(domain);
    EXPECT_THAT(bits(domain), ElementsAre(0, 0, 0, 0, 0, 0, 1, 0));
  }
}

TEST_F(FlowCaps, BitOfTheOtherDomain_IsNotRead) {
  let_only_domain<"ft_support">(FlowTableType::NIC_RX);
  EXPECT_FALSE(steering::query_domain(*context, FlowTableType::RDMA_RX)->ft_support);
  let_only_domain<"ft_support">(FlowTableType::RDMA_RX);
  EXPECT_FALSE(steering::query_domain(*context, FlowTableType::NIC_RX)->ft_support);
}

TEST_F(FlowCaps, BthOpcode_IsOfRdmaRxAlone) {
  let_only([](Page page) { page.set<"ft_field_support_2_nic_receive_rdma.bth_opcode", 1>(); });
  EXPECT_THAT(bits(FlowTableType::RDMA_RX), ElementsAre(0, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(bits(FlowTableType::NIC_RX), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(FlowCaps, FunctionWithoutFlowTables_IsNotAskedForThePage) {
  channel->on_answer = [](const NotedChannel::Sent&, std::span<std::byte> out) {
    const auto answer = prm::View<prm::query_hca_cap_out>::at(out);
    prm::View<prm::cmd_hca_cap>::at(answer.bytes<"capability">()).set<"nic_flow_table", 0>();
  };
  EXPECT_THAT(bits(FlowTableType::RDMA_RX), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(channel->sent.size(), 1U);
}

TEST_F(FlowCaps, AnotherDomain_IsRefusedWithThoseAccepted) {
  EXPECT_THAT(steering::query_domain(*context, FlowTableType::FDB).error().text,
              HasSubstr("accepted are NIC_RX and RDMA_RX"));
}

TEST_F(FlowCaps, RefusedQuery_IsToldAndNothingIsTakenForGranted) {
  refuse(prm::Opcode::QUERY_HCA_CAP);
  EXPECT_EQ(steering::query_domain(*context, FlowTableType::RDMA_RX).error().code,
            Errc::CommandFailed);
}

}  // namespace
}  // namespace portcullis::testing
