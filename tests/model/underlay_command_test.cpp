// SPDX-License-Identifier: BSD-3-Clause
//
// Underlay queue pairs by command, as mlx5i_create_underlay_qp and mlx5i_init_underlay_qp of
// mlx5/core/ipoib/ipoib.c give them: what is offered, what refers to what, and what is refused.
#include <gtest/gtest.h>

#include "prm/ethernet_cap.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/hca_cap.hpp"
#include "prm/qp_commands.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using prm::QpServiceType;

Options port_of(PortType type, std::vector<std::string> behaviours) {
  Options options;
  options.port_type = type;
  options.behaviours = std::move(behaviours);
  return options;
}

class UnderlayCommands : public ::testing::Test {
 protected:
  explicit UnderlayCommands(const Options& options = port_of(PortType::InfiniBand,
                                                             {"eth-offloads"}))
      : driver_(options) {
    driver_.bring_up();
  }

  Answer create_qp(QpServiceType service = QpServiceType::UD,
                   prm::QpRqType rq_type = prm::QpRqType::NON_ZERO_RQ) {
    auto in = command<prm::create_qp_in>(Opcode::CREATE_QP);
    in.put<"qpc.st">(service).put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED);
    in.put<"qpc.rq_type">(rq_type).set<"qpc.ulp_stateless_offload_mode", 2>();
    in.set<"qpc.primary_address_path.grh", 1>();
    in.set<"qpc.primary_address_path.vhca_port_num", 1>();
    return driver_.run<prm::create_qp_out>(in);
  }
  std::uint32_t created() { return create_qp().as<prm::create_qp_out>().get<"qpn">(); }
  CommandStatus destroy_qp(std::uint32_t qpn) {
    return driver_
        .run<prm::destroy_qp_out>(command<prm::destroy_qp_in>(Opcode::DESTROY_QP).put<"qpn">(qpn))
        .status;
  }
  template <class In, class Out>
  CommandStatus modify(Opcode opcode, std::uint32_t qpn) {
    auto in = command<In>(opcode);
    return driver_.run<Out>(in.template put<"qpn">(qpn)).status;
  }
  CommandStatus to_init(std::uint32_t qpn) {
    auto in = command<prm::rst2init_qp_in>(Opcode::RST2INIT_QP);
    in.put<"qpn">(qpn).put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED);
    in.set<"qpc.primary_address_path.vhca_port_num", 1>().set<"qpc.q_key", 0xb1b>();
    return driver_.run<prm::rst2init_qp_out>(in).status;
  }
  Answer create_tis(std::uint32_t underlay) {
    const auto domain =
        driver_
            .run<prm::alloc_transport_domain_out>(
                command<prm::alloc_transport_domain_in>(Opcode::ALLOC_TRANSPORT_DOMAIN))
            .as<prm::alloc_transport_domain_out>()
            .get<"transport_domain">();
    auto in = command<prm::create_tis_in>(Opcode::CREATE_TIS);
    in.put<"ctx.transport_domain">(domain).put<"ctx.underlay_qpn">(underlay);
    return driver_.run<prm::create_tis_out>(in);
  }
  CommandStatus destroy_tis(std::uint32_t tisn) {
    return driver_
        .run<prm::destroy_tis_out>(
            command<prm::destroy_tis_in>(Opcode::DESTROY_TIS).put<"tisn">(tisn))
        .status;
  }

  MiniDriver driver_;
};

TEST_F(UnderlayCommands, QueuePair_NeedsNeitherDomainNorQueues) {
  const Answer made = create_qp();
  ASSERT_TRUE(made.ok());
  const std::uint32_t qpn = made.as<prm::create_qp_out>().get<"qpn">();
  EXPECT_EQ(to_init(qpn), CommandStatus::OK);
  EXPECT_EQ((modify<prm::init2rtr_qp_in, prm::init2rtr_qp_out>(Opcode::INIT2RTR_QP, qpn)),
            CommandStatus::OK);
  EXPECT_EQ((modify<prm::rtr2rts_qp_in, prm::rtr2rts_qp_out>(Opcode::RTR2RTS_QP, qpn)),
            CommandStatus::OK);
  EXPECT_EQ((modify<prm::qp_2rst_in, prm::qp_2rst_out>(Opcode::QP_2RST, qpn)), CommandStatus::OK);
  EXPECT_EQ((modify<prm::qp_2rst_in, prm::qp_2rst_out>(Opcode::QP_2RST, qpn)), CommandStatus::OK);
  EXPECT_EQ(destroy_qp(qpn), CommandStatus::OK);
}

TEST_F(UnderlayCommands, QueuePairOfAnotherService_IsRefused) {
  EXPECT_EQ(create_qp(QpServiceType::RC).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_qp(QpServiceType::UC).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(create_qp(QpServiceType{0x8}).status, CommandStatus::BAD_PARAM_ERR);  // QP 1
}

TEST_F(UnderlayCommands, QueuePairWithSharedReceives_IsRefused) {
  EXPECT_EQ(create_qp(QpServiceType::UD, prm::QpRqType::SRQ_RQ).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(UnderlayCommands, QueuePairThatATisNames_IsNotDestroyed) {
  const std::uint32_t qpn = created();
  const Answer tis = create_tis(qpn);
  ASSERT_TRUE(tis.ok());
  EXPECT_EQ(destroy_qp(qpn), CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_tis(tis.as<prm::create_tis_out>().get<"tisn">()), CommandStatus::OK);
  EXPECT_EQ(destroy_qp(qpn), CommandStatus::OK);
}

TEST_F(UnderlayCommands, TisOfNoUnderlay_IsABadResource) {
  EXPECT_EQ(create_tis(0x777).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(UnderlayCommands, Capability_HasNoTags) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::IPOIB_ENHANCED_OFFLOADS));
  const Answer answer = driver_.run<prm::query_hca_cap_out>(in);
  const auto page = prm::ConstView<prm::per_protocol_networking_offload_caps>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"csum_cap">(), 1U);
  EXPECT_EQ(page.get<"vlan_cap">(), 0U);
}

class WithoutOffloads : public UnderlayCommands {
 protected:
  WithoutOffloads() : UnderlayCommands(port_of(PortType::InfiniBand, {})) {}
};
TEST_F(WithoutOffloads, QueuePair_IsRefused) {
  EXPECT_EQ(create_qp().status, CommandStatus::BAD_PARAM_ERR);
}

class OnEthernet : public UnderlayCommands {
 protected:
  OnEthernet() : UnderlayCommands(port_of(PortType::Ethernet, {"eth-offloads"})) {}
};
TEST_F(OnEthernet, QueuePair_IsRefused) {
  EXPECT_EQ(create_qp().status, CommandStatus::BAD_PARAM_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
