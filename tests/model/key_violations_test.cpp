// SPDX-License-Identifier: BSD-3-Clause
//
// What a port counts of packets that queue pairs refused for their key, where drivers look for it:
// PortInfo (mlx5_query_mad_ifc_port of Linux) and the contexts of the vport.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "model/port_link.hpp"
#include "prm/qp_commands.hpp"
#include "prm/vport_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"
#include "tests/model/station.hpp"
#include "tests/model/subnet_datagram.hpp"

namespace portcullis::model::testing {
namespace {

using prm::Opcode;

constexpr Mac kFunctionMac{0x02, 0, 0, 0, 0, 0x31};
constexpr std::uint32_t kQKey = 0xb1b;

/// From RESET to RTR.
void be_ready_for_datagrams(MiniDriver& driver, std::uint32_t qpn) {
  auto init = command<prm::rst2init_qp_in>(Opcode::RST2INIT_QP);
  init.put<"qpn">(qpn)
      .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
      .set<"qpc.primary_address_path.vhca_port_num", 1>()
      .set<"qpc.q_key", kQKey>();
  ASSERT_TRUE(driver.run<prm::rst2init_qp_out>(init).ok());
  auto rtr = command<prm::init2rtr_qp_in>(Opcode::INIT2RTR_QP);
  ASSERT_TRUE(driver.run<prm::init2rtr_qp_out>(rtr.put<"qpn">(qpn)).ok());
}

// ---- InfiniBand --------------------------------------------------------------------------------

/// An InfiniBand port, and a queue pair of UD on it that needs no queues.
class KeyViolationsOfAPort : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_.bring_up();
    driver_.pass(PortLink::kTrainingNs + kNsPerMs);
    Info info = present();
    info.put<"lid">(std::uint16_t{5}).put<"sm_lid">(std::uint16_t{9});
    for (const PortState state : {PortState::Armed, PortState::Active}) {
      info.put<"port_state">(prm::number(state));
      ASSERT_EQ(set(info), 0U);
    }
    make_queue_pair();
    path_.port_type = PortType::InfiniBand;
    path_.transport = transport_bits::kUd;
    path_.dest_lid = 5;
    path_.source_lid = 6;
    path_.dest_qpn = qpn_;
  }

  Info present() {
    Info info = smp(driver_, 1, {}).info;
    info.set<"port_state", 0>();
    return info;
  }
  std::uint32_t set(const Info& info) { return smp(driver_, 2, info).status; }
  void send(std::uint32_t q_key, std::uint16_t pkey = kDefaultPkey) {
    path_.pkey = pkey;
    station_.send_packet(path_, {.opcode = BthOpcode::SendOnly, .q_key = q_key});
    driver_.pass(kNsPerMs);
  }
  void expect_counts(std::uint32_t pkeys, std::uint32_t qkeys) {
    const Info info = present();
    EXPECT_EQ(info.get<"pkey_violations">(), pkeys);
    EXPECT_EQ(info.get<"qkey_violations">(), qkeys);
    const Answer answer = driver_.run<prm::query_hca_vport_context_out>(
        command<prm::query_hca_vport_context_in>(Opcode::QUERY_HCA_VPORT_CONTEXT));
    const auto context = answer.as<prm::query_hca_vport_context_out>();
    EXPECT_EQ(context.get<"hca_vport_context.pkey_violation_counter">(), pkeys);
    EXPECT_EQ(context.get<"hca_vport_context.qkey_violation_counter">(), qkeys);
  }

  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>(0, PortType::InfiniBand);
  Station station_{*wire_};
  MiniDriver driver_{Options{.behaviours = {"eth-offloads", "outside-sm"},
                             .port_type = PortType::InfiniBand,
                             .wire = wire_,
                             .mac = kFunctionMac}};
  std::uint32_t qpn_ = 0;
  Path path_;

 private:
  void make_queue_pair() {
    auto create = command<prm::create_qp_in>(Opcode::CREATE_QP);
    create.put<"qpc.st">(prm::QpServiceType::UD)
        .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
        .put<"qpc.rq_type">(prm::QpRqType::NON_ZERO_RQ)
        .set<"qpc.ulp_stateless_offload_mode", 2>()
        .set<"qpc.primary_address_path.vhca_port_num", 1>();
    qpn_ = driver_.run<prm::create_qp_out>(create).as<prm::create_qp_out>().get<"qpn">();
    be_ready_for_datagrams(driver_, qpn_);
  }
};

TEST_F(KeyViolationsOfAPort, RightKeys_AreNone) {
  send(kQKey);
  expect_counts(0, 0);
}

TEST_F(KeyViolationsOfAPort, EachOfTheTwoKeys_IsCountedApart) {
  send(kQKey + 1);
  send(kQKey + 1);
  send(kQKey, 0x8001);
  expect_counts(1, 2);
}

TEST_F(KeyViolationsOfAPort, WrongKeysBoth_AreAPartitionsViolation) {
  send(kQKey + 1, 0x8001);
  expect_counts(1, 0);
}

TEST_F(KeyViolationsOfAPort, SetThatSaysWhatWasRead_ChangesNoCount) {
  send(kQKey + 1);
  send(kQKey, 0x8001);
  ASSERT_EQ(set(present()), 0U);
  expect_counts(1, 1);
}

TEST_F(KeyViolationsOfAPort, SetThatSaysZeroOfOne_BeginsThatAnew) {
  send(kQKey + 1);
  send(kQKey, 0x8001);
  Info info = present();
  info.set<"pkey_violations", 0>();
  ASSERT_EQ(set(info), 0U);
  expect_counts(0, 1);
}

TEST_F(KeyViolationsOfAPort, SetThatIsRefused_ChangesNoCount) {
  send(kQKey + 1);
  Info info = present();
  info.set<"qkey_violations", 0>().put<"lid">(std::uint16_t{0});
  EXPECT_NE(set(info), 0U);
  expect_counts(0, 1);
}

// ---- Ethernet ----------------------------------------------------------------------------------

/// Of it mlx5_query_port_roce of Linux reads the Q_Keys' count alone, in the context of the vport.
class KeyViolationsOfAnEthernetPort : public ::testing::Test {
 protected:
  void SetUp() override {
    driver_.bring_up();
    eq_.emplace(driver_, std::initializer_list<prm::EventType>{prm::EventType::COMP});
    memory_ = driver_.allocate(3 * kPageBytes);
    auto roce = command<prm::modify_nic_vport_context_in>(Opcode::MODIFY_NIC_VPORT_CONTEXT);
    roce.set<"field_select.roce_en", 1>().set<"nic_vport_context.roce_en", 1>();
    ASSERT_TRUE(driver_.run<prm::modify_nic_vport_context_out>(roce).ok());
    set_address();
    make_queue_pair();
  }

  void send(std::uint32_t q_key) {
    Path path;
    path.transport = transport_bits::kUd;
    path.source_ip = kStationGid;
    path.dest_ip = kFunctionGid;
    path.dest_mac = kFunctionMac;
    path.dest_qpn = qpn_;
    station_.send_packet(path, {.opcode = BthOpcode::SendOnly, .q_key = q_key});
    driver_.pass(kNsPerMs);
  }
  std::uint32_t counted() {
    return driver_
        .run<prm::query_nic_vport_context_out>(
            command<prm::query_nic_vport_context_in>(Opcode::QUERY_NIC_VPORT_CONTEXT))
        .as<prm::query_nic_vport_context_out>()
        .get<"nic_vport_context.qkey_violation_counter">();
  }

 private:
  static constexpr Gid kFunctionGid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  static constexpr Gid kStationGid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 2};

  void set_address() {
    auto in = command<prm::set_roce_address_in>(Opcode::SET_ROCE_ADDRESS);
    in.put<"roce_address.roce_version">(prm::RoceVersion::V2)
        .put<"roce_address.roce_l3_type">(prm::RoceL3Type::IPV4)
        .set<"roce_address.source_mac_47_32", 0x0200>()
        .set<"roce_address.source_mac_31_0", 0x31>();
    std::ranges::copy(std::as_bytes(std::span(kFunctionGid)),
                      in.bytes<"roce_address.source_l3_address">().begin());
    ASSERT_TRUE(driver_.run<prm::set_roce_address_out>(in).ok());
  }
  std::uint32_t make_cq() {
    auto cq = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    cq.set<"cq_context.log_cq_size", 4>()
        .put<"cq_context.uar_page">(eq_->uar())
        .put<"cq_context.c_eqn_or_apu_element">(eq_->eqn())
        .put<"cq_context.dbr_addr">(memory_.iova());
    const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
    return driver_.run<prm::create_cq_out>(cq, pages).as<prm::create_cq_out>().get<"cqn">();
  }
  void make_queue_pair() {
    const std::uint32_t cqn = make_cq();
    auto qp = command<prm::create_qp_in>(Opcode::CREATE_QP);
    qp.put<"qpc.st">(prm::QpServiceType::UD)
        .put<"qpc.pd">(driver_.alloc_pd())
        .put<"qpc.cqn_snd">(cqn)
        .put<"qpc.cqn_rcv">(cqn)
        .put<"qpc.uar_page">(eq_->uar())
        .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
        .put<"qpc.rq_type">(prm::QpRqType::NON_ZERO_RQ)
        .set<"qpc.log_rq_size", 2>()
        .set<"qpc.log_sq_size", 4>()
        .put<"qpc.dbr_addr">(memory_.iova() + 64);
    const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
    qpn_ = driver_.run<prm::create_qp_out>(qp, pages).as<prm::create_qp_out>().get<"qpn">();
    be_ready_for_datagrams(driver_, qpn_);
  }

  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
  Station station_{*wire_};
  MiniDriver driver_{Options{.wire = wire_, .mac = kFunctionMac}};
  std::optional<EventQueue> eq_;
  DmaBuffer memory_;
  std::uint32_t qpn_ = 0;
};

TEST_F(KeyViolationsOfAnEthernetPort, WrongQKey_IsInTheContextOfTheVport) {
  send(kQKey);
  EXPECT_EQ(counted(), 0U);
  send(kQKey + 1);
  EXPECT_EQ(counted(), 1U);
}

// ---- Counting ----------------------------------------------------------------------------------

TEST(KeyViolationCounts, StayAtTheirGreatest) {
  KeyViolations violations{.pkey = 0xfffe, .qkey = 0xfffe};
  for (int i = 0; i < 3; ++i) {
    violations.note_pkey();
    violations.note_qkey();
  }
  EXPECT_EQ(violations.pkey, 0xffff);
  EXPECT_EQ(violations.qkey, 0xffff);
}

}  // namespace
}  // namespace portcullis::model::testing
