// SPDX-License-Identifier: BSD-3-Clause
//
// What a grant tells the device and what it tells the client, field by field: both ends of a
// connection must have heard the same, and a lease must be made with what was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "prm/object_commands.hpp"
#include "prm/qp_commands.hpp"
#include "tests/lease/manager_world.hpp"

namespace portcullis::lease {
namespace {

using ::portcullis::testing::kRefused;
using ::portcullis::testing::ManagerWorld;
using ::portcullis::testing::Sent;
using prm::Opcode;
using ::testing::ElementsAreArray;

class GrantOnTheWire : public ManagerWorld {
 protected:
  void SetUp() override {
    request.ack_timeout = 11;
    request.retry_count = 5;
    request.access = {.local_write = true, .remote_read = true, .remote_atomic = true};
    request.log_receives = 3;
    start({.grant = {.mtu = prm::QpcMtu::MTU_2048,
                     .source_address_index = 9,
                     .traffic_class = 0x68,
                     .priority = 5,
                     .counter_set = 0x2a}});
  }
  void grant_another() {
    function.forget();
    grant = manager->grant(request).value();
  }
  /// The `nth` command of that opcode since then.
  template <class In>
  prm::ConstView<In> told(Opcode opcode, std::ptrdiff_t nth = 0) const {
    std::vector<const Sent*> all;
    for (const Sent& command : function.channel.sent)
      if (command.opcode == opcode) all.push_back(&command);
    return prm::ConstView<In>::at(all.at(static_cast<std::size_t>(nth))->in);
  }

  Grant grant;
};

TEST_F(GrantOnTheWire, Connection_IsWithThePeerThatWasNamed) {
  grant_another();
  const auto rtr = told<prm::init2rtr_qp_in>(Opcode::INIT2RTR_QP);
  EXPECT_EQ(rtr.get<"qpn">(), prm::number(grant.qpn));
  EXPECT_EQ(rtr.get<"qpc.remote_qpn">(), 0x77u);
  EXPECT_EQ(rtr.get<"qpc.next_rcv_psn">(), 0x123456u);
  EXPECT_THAT(rtr.bytes<"qpc.primary_address_path.rgid_rip">(),
              ElementsAreArray(request.peer.gid.bytes));
  EXPECT_EQ(rtr.get<"qpc.primary_address_path.rmac_47_32">(), 0x0200u);
  EXPECT_EQ(rtr.get<"qpc.primary_address_path.rmac_31_0">(), 1u);
}

TEST_F(GrantOnTheWire, Path_IsThatOfTheOptions) {
  grant_another();
  const auto rtr = told<prm::init2rtr_qp_in>(Opcode::INIT2RTR_QP);
  EXPECT_EQ(rtr.get<"qpc.primary_address_path.src_addr_index">(), 9u);
  EXPECT_EQ(rtr.get<"qpc.primary_address_path.tclass">(), 0x68u);
  EXPECT_EQ(rtr.get<"qpc.primary_address_path.dscp">(), 0x1au);
  EXPECT_EQ(rtr.get<"qpc.primary_address_path.eth_prio">(), 5u);
  EXPECT_EQ(rtr.get<"qpc.mtu">(), prm::number(prm::QpcMtu::MTU_2048));
}

TEST_F(GrantOnTheWire, InfiniBandPort_PeerIsFoundByItsLid) {
  function.context.caps.port_type = prm::number(prm::PortType::IB);
  request.peer.lid = 0x1234;
  start({});
  grant_another();
  EXPECT_EQ(told<prm::init2rtr_qp_in>(Opcode::INIT2RTR_QP).get<"qpc.primary_address_path.rlid">(),
            0x1234u);
}

TEST_F(GrantOnTheWire, Client_IsToldWhatTheDeviceWasTold) {
  grant_another();
  const auto rts = told<prm::rtr2rts_qp_in>(Opcode::RTR2RTS_QP);
  EXPECT_EQ(rts.get<"qpc.next_send_psn">(), grant.psn);
  EXPECT_EQ(rts.get<"qpc.primary_address_path.ack_timeout">(), 11u);
  EXPECT_EQ(rts.get<"qpc.retry_count">(), 5u);
  EXPECT_EQ(grant.ack_timeout, 11);
  EXPECT_EQ(grant.retry_count, 5);
  EXPECT_EQ(grant.mtu, prm::QpcMtu::MTU_2048);
  EXPECT_EQ(grant.qpn, manager->fence_target(grant.lease)->qpn);
  EXPECT_EQ(grant.rkey, manager->fence_target(grant.lease)->key);
}

TEST_F(GrantOnTheWire, QueuePair_HasTheReceivesAndTheCounters) {
  grant_another();
  const auto create = told<prm::create_qp_in>(Opcode::CREATE_QP);
  EXPECT_EQ(create.get<"qpc.log_rq_size">(), 3u);
  EXPECT_EQ(create.get<"qpc.log_sq_size">(), 0u);
  EXPECT_EQ(create.get<"qpc.no_sq">(), 1u);
  EXPECT_EQ(told<prm::rst2init_qp_in>(Opcode::RST2INIT_QP).get<"qpc.counter_set_id">(), 0x2au);
}

TEST_F(GrantOnTheWire, Rights_AreThoseThatWereAskedFor) {
  grant_another();
  const auto init = told<prm::rst2init_qp_in>(Opcode::RST2INIT_QP);
  EXPECT_EQ(init.get<"qpc.rwe">(), 0u);
  EXPECT_EQ(init.get<"qpc.rre">(), 1u);
  EXPECT_EQ(init.get<"qpc.rae">(), 1u);
  const auto key = told<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.lw">(), 1u);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.rw">(), 0u);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.rr">(), 1u);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.a">(), 1u);
}

TEST_F(GrantOnTheWire, Key_CoversTheRegionFromZeroInTheLeasesDomain) {
  grant_another();
  const auto key = told<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.start_addr">(), 0u);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.len">(), 2 * kPageBytes);
  EXPECT_EQ(key.get<"memory_key_mkey_entry.pd">(),
            prm::number(manager->fence_target(grant.lease)->pdn));
  EXPECT_EQ(told<prm::create_qp_in>(Opcode::CREATE_QP).get<"qpc.pd">(),
            prm::number(manager->fence_target(grant.lease)->pdn));
}

/// An entry against the client's packets must name them as the device sees them.
TEST_F(GrantOnTheWire, SteeringTarget_NamesTheClientAsItsPacketsDo) {
  grant_another();
  const steering::DropTarget target = manager->fence_target(grant.lease)->drop_target();
  EXPECT_EQ(target.slot, grant.lease.slot);
  EXPECT_EQ(target.qpn, grant.qpn);
  EXPECT_EQ(target.client, request.peer.gid);
  EXPECT_EQ(target.client_udp_sport, pmd::udp_source_port(0, prm::QpNumber{0x77}, grant.qpn));
}

TEST_F(GrantOnTheWire, KeyBelowATenantsKey_MayWriteLocallyAsTheTenantMay) {
  request.log_receives = std::nullopt;
  function.forget();
  ASSERT_TRUE(manager->grant_together(std::vector(2, request)));
  const auto own = told<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  EXPECT_EQ(own.get<"memory_key_mkey_entry.lw">(), 1u);
  EXPECT_EQ(own.get<"memory_key_mkey_entry.rr">(), 0u);
  EXPECT_EQ(own.get<"memory_key_mkey_entry.a">(), 0u);
  const auto tenants = told<prm::create_mkey_in>(Opcode::CREATE_MKEY, 2);
  EXPECT_EQ(tenants.get<"memory_key_mkey_entry.rr">(), 1u);
  EXPECT_EQ(tenants.get<"memory_key_mkey_entry.a">(), 1u);
  EXPECT_EQ(tenants.get<"memory_key_mkey_entry.len">(), 4 * kPageBytes);
}

// ---- a device that refuses one of them ----

struct Refused {
  const char* name;
  Opcode opcode;
};

void PrintTo(const Refused& of, std::ostream* out) { *out << of.name; }

class GrantRefused : public ManagerWorld, public ::testing::WithParamInterface<Refused> {};

TEST_P(GrantRefused, LeaseAlone_NotGrantedAndItsSlotFree) {
  function.channel.answer(GetParam().opcode, kRefused, 2);
  EXPECT_FALSE(manager->grant(request));
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

TEST_P(GrantRefused, GroupOfTwo_NeitherGrantedAndBothSlotsFree) {
  function.channel.answer(GetParam().opcode, kRefused);
  const std::vector<GrantRequest> requests(2, request);
  EXPECT_FALSE(manager->grant_together(requests));
  EXPECT_EQ(manager->table().count(State::Free), 3u);
}

INSTANTIATE_TEST_SUITE_P(Commands, GrantRefused,
                         ::testing::Values(Refused{"ALLOC_PD", Opcode::ALLOC_PD},
                                           Refused{"CREATE_QP", Opcode::CREATE_QP},
                                           Refused{"RST2INIT_QP", Opcode::RST2INIT_QP},
                                           Refused{"CREATE_MKEY", Opcode::CREATE_MKEY},
                                           Refused{"INIT2RTR_QP", Opcode::INIT2RTR_QP},
                                           Refused{"RTR2RTS_QP", Opcode::RTR2RTS_QP}));

}  // namespace
}  // namespace portcullis::lease
