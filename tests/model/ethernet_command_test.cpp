// SPDX-License-Identifier: BSD-3-Clause
//
// The Ethernet data path by command, as a driver gives them: what refers to what, and what the port
// takes and answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "prm/ethernet_cap.hpp"
#include "prm/ethernet_commands.hpp"
#include "prm/ethernet_port_commands.hpp"
#include "prm/ethernet_registers.hpp"
#include "prm/module_registers.hpp"
#include "prm/port_registers.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;

class EthernetCommands : public ::testing::Test {
 protected:
  EthernetCommands() { driver_.bring_up(); }

  std::uint32_t create_cq(const EventQueue& eq) {
    auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
    in.set<"cq_context.log_cq_size", 4>().put<"cq_context.uar_page">(eq.uar());
    in.put<"cq_context.c_eqn_or_apu_element">(eq.eqn()).put<"cq_context.dbr_addr">(memory_.iova());
    const std::array<Iova, 1> pages{memory_.iova() + kPageBytes};
    return driver_.run<prm::create_cq_out>(in, pages).as<prm::create_cq_out>().get<"cqn">();
  }
  std::uint32_t alloc_domain() {
    return driver_
        .run<prm::alloc_transport_domain_out>(
            command<prm::alloc_transport_domain_in>(Opcode::ALLOC_TRANSPORT_DOMAIN))
        .as<prm::alloc_transport_domain_out>()
        .get<"transport_domain">();
  }
  Answer create_tis(std::uint32_t domain) {
    auto in = command<prm::create_tis_in>(Opcode::CREATE_TIS);
    return driver_.run<prm::create_tis_out>(in.put<"ctx.transport_domain">(domain));
  }
  Answer create_sq(std::uint32_t pd, std::uint32_t cqn, std::uint32_t uar, std::uint32_t tisn) {
    auto in = command<prm::create_sq_in>(Opcode::CREATE_SQ);
    in.put<"ctx.cqn">(cqn).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC).put<"ctx.wq.pd">(pd);
    in.put<"ctx.wq.uar_page">(uar).put<"ctx.wq.dbr_addr">(memory_.iova() + 64);
    in.set<"ctx.wq.log_wq_stride", 6>().set<"ctx.tis_lst_sz", 1>().put<"ctx.tis_num_0">(tisn);
    const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
    return driver_.run<prm::create_sq_out>(in, pages);
  }
  template <class In, class Out, prm::Name Field>
  CommandStatus destroy(Opcode opcode, std::uint32_t number) {
    auto in = command<In>(opcode);
    return driver_.run<Out>(in.template put<Field>(number)).status;
  }
  CommandStatus destroy_cq(std::uint32_t cqn) {
    return destroy<prm::destroy_cq_in, prm::destroy_cq_out, "cqn">(Opcode::DESTROY_CQ, cqn);
  }
  CommandStatus dealloc_pd(std::uint32_t pd) {
    return destroy<prm::dealloc_pd_in, prm::dealloc_pd_out, "pd">(Opcode::DEALLOC_PD, pd);
  }
  CommandStatus destroy_sq(std::uint32_t sqn) {
    return destroy<prm::destroy_sq_in, prm::destroy_sq_out, "sqn">(Opcode::DESTROY_SQ, sqn);
  }
  CommandStatus destroy_tis(std::uint32_t tisn) {
    return destroy<prm::destroy_tis_in, prm::destroy_tis_out, "tisn">(Opcode::DESTROY_TIS, tisn);
  }

  /// `data` of a register, read or written.
  template <class L>
  Answer access(std::uint16_t id, prm::AccessRegisterOpMod op_mod, const prm::Buffer<L>& data) {
    auto in = command<prm::access_register_in>(Opcode::ACCESS_REG);
    in.put<"op_mod">(op_mod).put<"register_id">(id);
    std::vector<std::byte> message(in.all().begin(), in.all().end());
    message.insert(message.end(), data.all().begin(), data.all().end());
    return driver_.execute(message, prm::access_register_out::bytes + L::bytes);
  }
  template <class L>
  static prm::ConstView<L> data_of(const Answer& answer) {
    return prm::ConstView<L>::at(answer.out, prm::access_register_out::bytes);
  }

  MiniDriver driver_{Options{.behaviours = {"eth-offloads"}}};
  DmaBuffer memory_ = driver_.allocate(4 * kPageBytes);
};

TEST_F(EthernetCommands, Sq_KeepsWhatItRefersTo) {
  const EventQueue eq(driver_, {});
  const std::uint32_t pd = driver_.alloc_pd(), cqn = create_cq(eq), uar = driver_.alloc_uar();
  const std::uint32_t tisn = create_tis(alloc_domain()).as<prm::create_tis_out>().get<"tisn">();
  const Answer made = create_sq(pd, cqn, uar, tisn);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(dealloc_pd(pd), CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_cq(cqn), CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_tis(tisn), CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ(destroy_sq(made.as<prm::create_sq_out>().get<"sqn">()), CommandStatus::OK);
  EXPECT_EQ(destroy_tis(tisn), CommandStatus::OK);
  EXPECT_EQ(destroy_cq(cqn), CommandStatus::OK);
  EXPECT_EQ(dealloc_pd(pd), CommandStatus::OK);
}

TEST_F(EthernetCommands, SqOfWhatIsNotThere_IsABadResource) {
  const EventQueue eq(driver_, {});
  const std::uint32_t pd = driver_.alloc_pd(), cqn = create_cq(eq), uar = driver_.alloc_uar();
  const std::uint32_t tisn = create_tis(alloc_domain()).as<prm::create_tis_out>().get<"tisn">();
  EXPECT_EQ(create_sq(99, cqn, uar, tisn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_sq(pd, 0xfff, uar, tisn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_sq(pd, cqn, 4000, tisn).status, CommandStatus::BAD_RES_ERR);
  EXPECT_EQ(create_sq(pd, cqn, uar, 99).status, CommandStatus::BAD_RES_ERR);
}

TEST_F(EthernetCommands, Offloads_AreOfferedByTheBehaviourAlone) {
  const auto asked = [](MiniDriver& driver) {
    auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
    in.put<"op_mod">(prm::cap_op_mod(prm::CapType::ETHERNET_OFFLOADS));
    const Answer answer = driver.run<prm::query_hca_cap_out>(in);
    const auto page = answer.as<prm::query_hca_cap_out>().bytes<"capability">();
    return prm::ConstView<prm::per_protocol_networking_offload_caps>::at(page).get<"csum_cap">();
  };
  EXPECT_EQ(asked(driver_), 1U);
  MiniDriver plain;
  plain.bring_up();
  EXPECT_EQ(asked(plain), 0U);
}

/// By the first of them mlx5_ib judges a user's work queue (set_user_rq_size), and Snabb's
/// connectx.lua its own.
TEST_F(EthernetCommands, SizesOfWorkQueues_AreThoseOfAConnectX4) {
  const Answer answer =
      driver_.run<prm::query_hca_cap_out>(command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP));
  const auto page = prm::ConstView<prm::cmd_hca_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"log_max_wq_sz">(), 15U);
  EXPECT_EQ(page.get<"log_min_stride_sz_rq">(), 4U);
  EXPECT_EQ(page.get<"log_max_stride_sz_rq">(), 9U);
  EXPECT_EQ(page.get<"log_min_stride_sz_sq">(), 6U);
  EXPECT_EQ(page.get<"log_max_stride_sz_sq">(), 6U);
  EXPECT_EQ(page.get<"basic_cyclic_rcv_wqe">(), 1U);
}

/// Snabb's query_hca_general_cap reads the one, Linux the other.
TEST_F(EthernetCommands, Frequency_IsSaidInBothUnits) {
  const Answer answer =
      driver_.run<prm::query_hca_cap_out>(command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP));
  const auto page = prm::ConstView<prm::cmd_hca_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"device_frequency_khz">(), 156'250U);
  EXPECT_EQ(page.get<"device_frequency_mhz">(), 156U);
}

TEST_F(EthernetCommands, L2TableEntry_ReadsBackUntilItIsDeleted) {
  auto set = command<prm::set_l2_table_entry_in>(Opcode::SET_L2_TABLE_ENTRY);
  set.set<"table_index", 5>().set<"mac_address.mac_addr_47_32", 0x0211>();
  set.set<"mac_address.mac_addr_31_0", 0x22334455>();
  ASSERT_TRUE(driver_.run<prm::set_l2_table_entry_out>(set).ok());
  auto ask = command<prm::query_l2_table_entry_in>(Opcode::QUERY_L2_TABLE_ENTRY);
  ask.set<"table_index", 5>();
  const Answer answer = driver_.run<prm::query_l2_table_entry_out>(ask);
  EXPECT_EQ(answer.as<prm::query_l2_table_entry_out>().get<"mac_address.mac_addr_31_0">(),
            0x22334455U);
  auto gone = command<prm::delete_l2_table_entry_in>(Opcode::DELETE_L2_TABLE_ENTRY);
  gone.set<"table_index", 5>();
  EXPECT_TRUE(driver_.run<prm::delete_l2_table_entry_out>(gone).ok());
  EXPECT_EQ(driver_.run<prm::delete_l2_table_entry_out>(gone).status, CommandStatus::BAD_RES_ERR);
  set.set<"table_index", 128>();
  EXPECT_EQ(driver_.run<prm::set_l2_table_entry_out>(set).status, CommandStatus::IX_ERR);
  set.set<"table_index", 0>().set<"mac_address.mac_addr_47_32", 0x0100>();
  EXPECT_EQ(driver_.run<prm::set_l2_table_entry_out>(set).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(EthernetCommands, VportThatIsDown_SaysSo) {
  const auto state = [this] {
    return driver_
        .run<prm::query_vport_state_out>(
            command<prm::query_vport_state_in>(Opcode::QUERY_VPORT_STATE))
        .as<prm::query_vport_state_out>()
        .get<"state">();
  };
  EXPECT_EQ(state(), 1U);
  auto in = command<prm::modify_vport_state_in>(Opcode::MODIFY_VPORT_STATE);
  ASSERT_TRUE(driver_.run<prm::modify_vport_state_out>(in).ok());
  EXPECT_EQ(state(), 0U);
  in.set<"admin_state", 1>();
  ASSERT_TRUE(driver_.run<prm::modify_vport_state_out>(in).ok());
  EXPECT_EQ(state(), 1U);
  in.set<"admin_state", 3>();
  EXPECT_EQ(driver_.run<prm::modify_vport_state_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(EthernetCommands, FlowControl_ReadsBack) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PFCC);
  prm::Buffer<prm::pfcc_reg> data;
  data.set<"local_port", 1>().set<"pptx", 1>().set<"pprx", 1>();
  ASSERT_TRUE(access(kId, prm::AccessRegisterOpMod::WRITE, data).ok());
  data.set<"pptx", 0>().set<"pprx", 0>();
  const Answer read = access(kId, prm::AccessRegisterOpMod::READ, data);
  EXPECT_EQ(data_of<prm::pfcc_reg>(read).get<"pptx">(), 1U);
  EXPECT_EQ(data_of<prm::pfcc_reg>(read).get<"pprx">(), 1U);
}

/// As mlx5_set_port_pfc of mlx5/core/port.c writes it: every mask set, no bit for PAUSE.
TEST_F(EthernetCommands, FlowControlPerPriority_IsWrittenWhereItsMaskIs) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PFCC);
  prm::Buffer<prm::pfcc_reg> data;
  data.set<"local_port", 1>().set<"prio_mask_tx", 0xff>().set<"prio_mask_rx", 0xff>();
  data.set<"pfctx", 0x28>().set<"pfcrx", 0x08>();
  ASSERT_TRUE(access(kId, prm::AccessRegisterOpMod::WRITE, data).ok());
  data.set<"prio_mask_tx", 0x0f>().set<"prio_mask_rx", 0>().set<"pfctx", 0>().set<"pfcrx", 0>();
  const Answer written = access(kId, prm::AccessRegisterOpMod::WRITE, data);
  EXPECT_EQ(data_of<prm::pfcc_reg>(written).get<"pfctx">(), 0x20U);
  EXPECT_EQ(data_of<prm::pfcc_reg>(written).get<"pfcrx">(), 0x08U);
  EXPECT_EQ(data_of<prm::pfcc_reg>(written).get<"pptx">(), 0U);
}

TEST_F(EthernetCommands, ReceiveBuffers_ReadBackAndFitIntoWhatThereIs) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PBMC);
  prm::Buffer<prm::pbmc_reg> data;
  data.set<"local_port", 1>();
  const Answer first = access(kId, prm::AccessRegisterOpMod::READ, data);
  const auto there = data_of<prm::pbmc_reg>(first);
  EXPECT_EQ(there.get<"port_buffer_size">(), 2048U);
  EXPECT_EQ(there.get<"xoff_timer_value">(), 0xffffU);
  const auto buffer = [&data](std::size_t index) {
    return prm::View<prm::bufferx_reg>::at(data.bytes<"buffer">(), index * prm::bufferx_reg::bytes);
  };
  buffer(3).put<"size">(std::uint16_t{2000});
  buffer(3).put<"xoff_threshold">(std::uint16_t{900});
  buffer(3).put<"xon_threshold">(std::uint16_t{800});
  ASSERT_TRUE(access(kId, prm::AccessRegisterOpMod::WRITE, data).ok());
  const Answer second = access(kId, prm::AccessRegisterOpMod::READ, data);
  const auto now = prm::ConstView<prm::bufferx_reg>::at(
      data_of<prm::pbmc_reg>(second).bytes<"buffer">(), 3 * prm::bufferx_reg::bytes);
  EXPECT_EQ(now.get<"size">(), 2000U);
  EXPECT_EQ(now.get<"xoff_threshold">(), 900U);
  buffer(4).put<"size">(std::uint16_t{49});
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
  buffer(4).put<"size">(std::uint16_t{0});
  buffer(3).put<"xon_threshold">(std::uint16_t{901});
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(EthernetCommands, PrioritiesOfBuffers_AreMovedWhereTheirBitIs) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PPTB);
  prm::Buffer<prm::pptb_reg> data;
  data.set<"local_port", 1>().set<"pm", 0x0c>().set<"prio_x_buff", 0x77775277>();
  const Answer written = access(kId, prm::AccessRegisterOpMod::WRITE, data);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(data_of<prm::pptb_reg>(written).get<"prio_x_buff">(), 0x00005200U);
  data.set<"prio_x_buff", 0x00000800>();
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(EthernetCommands, TrustAndDscp_ReadBack) {
  constexpr auto kTrust = prm::number(prm::EthernetRegisterId::QPTS);
  prm::Buffer<prm::qpts_reg> trust;
  trust.set<"local_port", 1>().set<"trust_state", 2>();
  const Answer trusted = access(kTrust, prm::AccessRegisterOpMod::WRITE, trust);
  EXPECT_EQ(data_of<prm::qpts_reg>(trusted).get<"trust_state">(), 2U);
  trust.set<"trust_state", 3>();
  EXPECT_EQ(access(kTrust, prm::AccessRegisterOpMod::WRITE, trust).status,
            CommandStatus::BAD_PARAM_ERR);
  constexpr auto kMap = prm::number(prm::EthernetRegisterId::QPDPM);
  prm::Buffer<prm::qpdpm_reg> map;
  map.set<"local_port", 1>();
  map.bytes<"dscp">()[2 * 46] = std::byte{0x80};  // of EF: e, and priority 5
  map.bytes<"dscp">()[2 * 46 + 1] = std::byte{5};
  map.bytes<"dscp">()[2 * 47 + 1] = std::byte{6};  // without e
  const Answer mapped = access(kMap, prm::AccessRegisterOpMod::WRITE, map);
  EXPECT_EQ(data_of<prm::qpdpm_reg>(mapped).bytes<"dscp">()[2 * 46 + 1], std::byte{5});
  EXPECT_EQ(data_of<prm::qpdpm_reg>(mapped).bytes<"dscp">()[2 * 47 + 1], std::byte{0});
  map.bytes<"dscp">()[2 * 46 + 1] = std::byte{8};
  EXPECT_EQ(access(kMap, prm::AccessRegisterOpMod::WRITE, map).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// As mlx5_set_port_prio_tc, _tc_group and _tc_bw_alloc of mlx5/core/port.c write them.
TEST_F(EthernetCommands, TrafficClasses_ReadBack) {
  constexpr auto kClass = prm::number(prm::EthernetRegisterId::QTCT);
  prm::Buffer<prm::qtct_reg> of;
  of.set<"prio", 4>().set<"tclass", 2>();
  ASSERT_TRUE(access(kClass, prm::AccessRegisterOpMod::WRITE, of).ok());
  of.set<"tclass", 0>();
  const Answer read = access(kClass, prm::AccessRegisterOpMod::READ, of);
  EXPECT_EQ(data_of<prm::qtct_reg>(read).get<"tclass">(), 2U);
  constexpr auto kShares = prm::number(prm::EthernetRegisterId::QETCR);
  prm::Buffer<prm::qetc_reg> shares;
  const auto one = prm::View<prm::ets_tcn_config_reg>::at(shares.bytes<"tc_configuration">(),
                                                          2 * prm::ets_tcn_config_reg::bytes);
  one.set<"g", 1>();
  one.set<"b", 1>();
  one.set<"group", 1>();
  one.set<"bw_allocation", 60>();
  const Answer written = access(kShares, prm::AccessRegisterOpMod::WRITE, shares);
  const auto now = prm::ConstView<prm::ets_tcn_config_reg>::at(
      data_of<prm::qetc_reg>(written).bytes<"tc_configuration">(),
      2 * prm::ets_tcn_config_reg::bytes);
  EXPECT_EQ(now.get<"group">(), 1U);
  EXPECT_EQ(now.get<"bw_allocation">(), 60U);
  one.set<"bw_allocation", 101>();
  EXPECT_EQ(access(kShares, prm::AccessRegisterOpMod::WRITE, shares).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST_F(EthernetCommands, ErrorCorrection_IsOffAndMayBeAskedFor) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PPLM);
  prm::Buffer<prm::pplm_reg> data;
  data.set<"local_port", 1>().set<"fec_override_admin_100g", 4>();
  const Answer written = access(kId, prm::AccessRegisterOpMod::WRITE, data);
  const auto now = data_of<prm::pplm_reg>(written);
  EXPECT_EQ(now.get<"fec_override_cap_100g">(), 5U);
  EXPECT_EQ(now.get<"fec_override_admin_100g">(), 4U);
  EXPECT_EQ(now.get<"fec_mode_active">(), 1U);
  data.set<"fec_override_admin_100g", 2>();  // MLX5E_FEC_FIRECODE
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// As mlxcx_mac_setprop of illumos sets it, and mlx5e_set_fecparam of Linux.
TEST_F(EthernetCommands, ErrorCorrectionAskedFor_IsActiveOnceTheLinkIsUpAgain) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PPLM);
  constexpr auto kState = prm::number(prm::RegisterId::PAOS);
  prm::Buffer<prm::pplm_reg> data;
  data.set<"local_port", 1>().set<"fec_override_admin_100g", 4>();
  ASSERT_TRUE(access(kId, prm::AccessRegisterOpMod::WRITE, data).ok());
  prm::Buffer<prm::paos_reg> state;
  state.set<"local_port", 1>().set<"ase", 1>().put<"admin_status">(prm::PortStatus::DOWN);
  ASSERT_TRUE(access(kState, prm::AccessRegisterOpMod::WRITE, state).ok());
  const Answer while_down = access(kId, prm::AccessRegisterOpMod::READ, data);
  EXPECT_EQ(data_of<prm::pplm_reg>(while_down).get<"fec_mode_active">(), 0U);
  state.put<"admin_status">(prm::PortStatus::UP);
  ASSERT_TRUE(access(kState, prm::AccessRegisterOpMod::WRITE, state).ok());
  const Answer now = access(kId, prm::AccessRegisterOpMod::READ, data);
  EXPECT_EQ(data_of<prm::pplm_reg>(now).get<"fec_mode_active">(), 4U);
}

/// mlxcx_mac_txr_info of illumos asks whether there is one.
TEST_F(EthernetCommands, Module_IsUnplugged) {
  constexpr auto kId = prm::number(prm::ModuleRegisterId::PMAOS);
  prm::Buffer<prm::pmaos_reg> data;
  const Answer answer = access(kId, prm::AccessRegisterOpMod::READ, data);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::pmaos_reg>(answer).get<"admin_status">(), 1U);
  EXPECT_EQ(data_of<prm::pmaos_reg>(answer).get<"oper_status">(), 2U);
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
  data.set<"module", 1>();
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::READ, data).status, CommandStatus::BAD_PARAM_ERR);
}

/// mlx5_query_module_num of mlx5/core/port.c takes the low byte of the first lane's mapping.
TEST_F(EthernetCommands, LanesOfThePort_LeadToTheFirstModule) {
  constexpr auto kId = prm::number(prm::ModuleRegisterId::PMLP);
  prm::Buffer<prm::pmlp_reg> data;
  data.set<"local_port", 1>();
  const Answer answer = access(kId, prm::AccessRegisterOpMod::READ, data);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::pmlp_reg>(answer).get<"width">(), 4U);
  EXPECT_EQ(data_of<prm::pmlp_reg>(answer).get<"lane0_module_mapping">(), 0U);
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// mcx_get_sffpage of OpenBSD's if_mcx.c gives up where the register is refused; mlx5_query_mcia
/// of mlx5/core/port.c reads the status.
TEST_F(EthernetCommands, EepromOfTheModule_IsOfOneThatIsNotConnected) {
  constexpr auto kId = prm::number(prm::ModuleRegisterId::MCIA);
  prm::Buffer<prm::mcia_reg> data;
  data.set<"i2c_device_address", 0x50>().set<"size", 32>();
  const Answer answer = access(kId, prm::AccessRegisterOpMod::READ, data);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::mcia_reg>(answer).get<"status">(), prm::kModuleNotConnected);
  EXPECT_EQ(data_of<prm::mcia_reg>(answer).get<"i2c_device_address">(), 0x50U);
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// Where mlx5_ifc_pcam_regs_5000_to_507f_bits of Linux has pplm, pbmc, pptb and ppcnt.
TEST_F(EthernetCommands, RegistersOfThePort_AreListed) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::PCAM);
  const Answer answer = access(kId, prm::AccessRegisterOpMod::READ, prm::Buffer<prm::pcam_reg>{});
  const auto mask = data_of<prm::pcam_reg>(answer).bytes<"port_access_reg_cap_mask">();
  const auto has = [&mask](std::size_t bit) {
    return mask[15 - bit / 8] >> bit % 8 & std::byte{1};
  };
  EXPECT_EQ(has(127 - 92), std::byte{1});   // pplm: 0x20 + 0x20 + 0x1c
  EXPECT_EQ(has(127 - 115), std::byte{1});  // pbmc, pptb, ppcnt
  EXPECT_EQ(has(127 - 116), std::byte{1});
  EXPECT_EQ(has(127 - 119), std::byte{1});
  EXPECT_EQ(has(1), std::byte{0});
  // rx_icrc_encapsulated_counter, at 0x6d of mlx5_ifc_pcam_enhanced_features_bits, and no other.
  const auto features = data_of<prm::pcam_reg>(answer).bytes<"feature_cap_mask">();
  EXPECT_EQ(features[0x6d / 8], std::byte{1} << (7 - 0x6d % 8));
  EXPECT_EQ(std::ranges::count(features, std::byte{0}), 15);
}

/// Where mlx5_ifc_qcam_access_reg_cap_mask of Linux has qpdpm and qpts, by which mlx5e_trust_
/// initialize goes (MLX5_DSCP_SUPPORTED of en_dcbnl.c).
TEST_F(EthernetCommands, RegistersOfPriorities_AreListed) {
  constexpr auto kId = prm::number(prm::EthernetRegisterId::QCAM);
  prm::Buffer<prm::qcam_reg> data;
  const Answer answer = access(kId, prm::AccessRegisterOpMod::READ, data);
  ASSERT_TRUE(answer.ok());
  const auto mask = data_of<prm::qcam_reg>(answer).bytes<"qos_access_reg_cap_mask">();
  EXPECT_EQ(mask[0x6c / 8] >> (7 - 0x6c % 8) & std::byte{1}, std::byte{1});  // qpdpm
  EXPECT_EQ(mask[0x7d / 8] >> (7 - 0x7d % 8) & std::byte{1}, std::byte{1});  // qpts
  EXPECT_EQ(mask[0x7e / 8] >> (7 - 0x7e % 8) & std::byte{1}, std::byte{0});  // qcap
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::WRITE, data).status,
            CommandStatus::BAD_PARAM_ERR);
  data.set<"access_reg_group", 1>();
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::READ, data).status, CommandStatus::BAD_PARAM_ERR);
}

/// By these mlx5e makes its interface for traffic classes and flow control of priorities
/// (mlx5e_dcbnl_build_netdev): a physical function's, with the behaviour.
TEST_F(EthernetCommands, PrioritiesOfThePort_AreOfferedToAPhysicalFunctionWithOffloads) {
  const auto asked = [](MiniDriver& driver, auto name) {
    const Answer answer =
        driver.run<prm::query_hca_cap_out>(command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP));
    const auto page = answer.as<prm::query_hca_cap_out>().bytes<"capability">();
    return name(prm::ConstView<prm::cmd_hca_cap>::at(page));
  };
  const auto set = [](const prm::ConstView<prm::cmd_hca_cap>& c) {
    return c.get<"vport_group_manager">() + c.get<"qos">() + c.get<"ets">();
  };
  const auto lists = [](const prm::ConstView<prm::cmd_hca_cap>& c) {
    return c.get<"pcam_reg">() + c.get<"qcam_reg">();
  };
  EXPECT_EQ(asked(driver_, set), 3U);
  EXPECT_EQ(asked(driver_, lists), 2U);
  MiniDriver plain;
  plain.bring_up();
  EXPECT_EQ(asked(plain, set) + asked(plain, lists), 0U);
  MiniDriver virtual_function{Options{.behaviours = {"eth-offloads"}, .virtual_function = true}};
  virtual_function.bring_up();
  EXPECT_EQ(asked(virtual_function, set), 1U);  // qos, for the rates of its queues
  EXPECT_EQ(asked(virtual_function, lists), 2U);
}

/// mlx5_query_hca_caps of fw.c asks for that page where qos is said, and fails without it.
TEST_F(EthernetCommands, PageOfQualities_IsThereWhereItIsSaid) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::QOS, prm::CapMode::GET_CUR));
  EXPECT_TRUE(driver_.run<prm::query_hca_cap_out>(in).ok());
  MiniDriver plain;
  plain.bring_up();
  EXPECT_EQ(plain.run<prm::query_hca_cap_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(EthernetCommands, Counters_AreZeroAtFirstAndOfKnownGroups) {
  constexpr auto kId = prm::number(prm::RegisterId::PPCNT);
  prm::Buffer<prm::ppcnt_reg> data;
  data.set<"local_port", 1>().put<"grp">(prm::number(prm::PpcntGroup::IEEE_802_3));
  const Answer read = access(kId, prm::AccessRegisterOpMod::READ, data);
  ASSERT_TRUE(read.ok());
  const auto group = prm::ConstView<prm::eth_802_3_cntrs_grp_data_layout>::at(
      data_of<prm::ppcnt_reg>(read).bytes<"counter_set">());
  EXPECT_EQ(group.get<"a_frames_transmitted_ok_low">(), 0U);
  data.set<"grp", 0x3f>();
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::READ, data).status, CommandStatus::BAD_PARAM_ERR);
  data.set<"grp", 0>().set<"local_port", 2>();
  EXPECT_EQ(access(kId, prm::AccessRegisterOpMod::READ, data).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(driver_
                  .run<prm::query_vport_counter_out>(
                      command<prm::query_vport_counter_in>(Opcode::QUERY_VPORT_COUNTER))
                  .ok());
}

/// As mlx5_toggle_port_link and set_admin_status of Snabb's connectx.lua switch the port;
/// counters.rst of Linux has link_down_events_phy.
TEST_F(EthernetCommands, LinkThatWentDown_IsCountedUntilTheGroupsAreCleared) {
  constexpr auto kState = prm::number(prm::RegisterId::PAOS);
  constexpr auto kId = prm::number(prm::RegisterId::PPCNT);
  prm::Buffer<prm::paos_reg> state;
  state.set<"local_port", 1>().set<"ase", 1>().put<"admin_status">(prm::PortStatus::DOWN);
  ASSERT_TRUE(access(kState, prm::AccessRegisterOpMod::WRITE, state).ok());
  state.put<"admin_status">(prm::PortStatus::UP);
  ASSERT_TRUE(access(kState, prm::AccessRegisterOpMod::WRITE, state).ok());
  prm::Buffer<prm::ppcnt_reg> data;
  data.set<"local_port", 1>().put<"grp">(prm::number(prm::PpcntGroup::PHYSICAL_LAYER));
  const auto downs = [&](prm::AccessRegisterOpMod op_mod) {
    const Answer answer = access(kId, op_mod, data);
    return prm::ConstView<prm::phys_layer_cntrs>::at(
               data_of<prm::ppcnt_reg>(answer).bytes<"counter_set">())
        .get<"link_down_events">();
  };
  EXPECT_EQ(downs(prm::AccessRegisterOpMod::READ), 1U);
  data.set<"clr", 1>();
  EXPECT_EQ(downs(prm::AccessRegisterOpMod::WRITE), 1U);
  data.set<"clr", 0>();
  EXPECT_EQ(downs(prm::AccessRegisterOpMod::READ), 0U);
}

TEST_F(EthernetCommands, CountersOfAQueue_AreHeldByIt) {
  const EventQueue eq(driver_, {});
  const std::uint32_t set =
      driver_
          .run<prm::alloc_q_counter_out>(command<prm::alloc_q_counter_in>(Opcode::ALLOC_Q_COUNTER))
          .as<prm::alloc_q_counter_out>()
          .get<"counter_set_id">();
  auto in = command<prm::create_rq_in>(Opcode::CREATE_RQ);
  in.put<"ctx.cqn">(create_cq(eq)).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
  in.put<"ctx.wq.pd">(driver_.alloc_pd()).put<"ctx.counter_set_id">(set);
  in.put<"ctx.wq.dbr_addr">(memory_.iova() + 64).set<"ctx.wq.log_wq_stride", 6>();
  const std::array<Iova, 1> pages{memory_.iova() + 2 * kPageBytes};
  const Answer made = driver_.run<prm::create_rq_out>(in, pages);
  ASSERT_TRUE(made.ok());
  const auto free_set = [&] {
    return destroy<prm::dealloc_q_counter_in, prm::dealloc_q_counter_out, "counter_set_id">(
        Opcode::DEALLOC_Q_COUNTER, set);
  };
  EXPECT_EQ(free_set(), CommandStatus::BAD_RES_STATE_ERR);
  EXPECT_EQ((destroy<prm::destroy_rq_in, prm::destroy_rq_out, "rqn">(
                Opcode::DESTROY_RQ, made.as<prm::create_rq_out>().get<"rqn">())),
            CommandStatus::OK);
  EXPECT_EQ(free_set(), CommandStatus::OK);
  in.set<"ctx.counter_set_id", 200>();
  EXPECT_EQ(driver_.run<prm::create_rq_out>(in, pages).status, CommandStatus::BAD_RES_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
