// SPDX-License-Identifier: BSD-3-Clause
//
// Stages of bring-up and teardown, firmware pages, capabilities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/cells.hpp"
#include "prm/driver_version_commands.hpp"
#include "tests/model/event_queue.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using prm::Opcode;
using prm::QueryPagesOpMod;

Answer init(MiniDriver& driver) {
  return driver.run<prm::init_hca_out>(command<prm::init_hca_in>(Opcode::INIT_HCA));
}
Answer disable(MiniDriver& driver) {
  return driver.run<prm::disable_hca_out>(command<prm::disable_hca_in>(Opcode::DISABLE_HCA));
}
Answer teardown(MiniDriver& driver,
                prm::TeardownProfile profile = prm::TeardownProfile::GRACEFUL_CLOSE) {
  auto in = command<prm::teardown_hca_in>(Opcode::TEARDOWN_HCA);
  in.put<"profile">(profile);
  return driver.run<prm::teardown_hca_out>(in);
}
Answer set_issi(MiniDriver& driver, std::uint32_t issi) {
  auto in = command<prm::set_issi_in>(Opcode::SET_ISSI);
  in.put<"current_issi">(issi);
  return driver.run<prm::set_issi_out>(in);
}
Answer query_cap(MiniDriver& driver, std::uint16_t op_mod) {
  auto in = command<prm::query_hca_cap_in>(Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(op_mod);
  return driver.run<prm::query_hca_cap_out>(in);
}
Answer take_pages(MiniDriver& driver, std::uint32_t count, std::size_t room) {
  auto in = command<prm::manage_pages_in>(Opcode::MANAGE_PAGES);
  in.put<"op_mod">(prm::ManagePagesOpMod::HCA_RETURN_PAGES).put<"input_num_entries">(count);
  return driver.execute(in.all(), prm::manage_pages_out::bytes + room * sizeof(Iova));
}
Answer cannot_give(MiniDriver& driver) {
  auto in = command<prm::manage_pages_in>(Opcode::MANAGE_PAGES);
  in.put<"op_mod">(prm::ManagePagesOpMod::ALLOCATION_FAIL);
  return driver.run<prm::manage_pages_out>(in);
}
Answer give(MiniDriver& driver, const std::vector<Iova>& list) {
  auto in = command<prm::manage_pages_in>(Opcode::MANAGE_PAGES);
  in.put<"op_mod">(prm::ManagePagesOpMod::ALLOCATION_SUCCESS).put<"input_num_entries">(list.size());
  return driver.run<prm::manage_pages_out>(in, list);
}
std::uint32_t taken(const Answer& answer) {
  return answer.as<prm::manage_pages_out>().get<"output_num_entries">();
}
std::set<Iova> pages_in(const Answer& answer) {
  std::set<Iova> pages;
  for (std::uint32_t i = 0; i < taken(answer); ++i) {
    std::uint64_t raw;
    std::memcpy(&raw, answer.out.data() + prm::manage_pages_out::bytes + i * 8, sizeof raw);
    pages.insert(cells::be64(raw));
  }
  return pages;
}
prm::Buffer<prm::set_hca_cap_in> caps_as_they_are(MiniDriver& driver, prm::CapType type) {
  auto set = command<prm::set_hca_cap_in>(Opcode::SET_HCA_CAP);
  set.put<"op_mod">(prm::cap_op_mod(type));
  const Answer now = query_cap(driver, prm::cap_op_mod(type, prm::CapMode::GET_CUR));
  std::ranges::copy(now.as<prm::query_hca_cap_out>().bytes<"capability">(),
                    set.bytes<"capability">().begin());
  return set;
}

TEST(BringUp, BeforeEnable_EverythingElseIsOutOfOrder) {
  MiniDriver driver;
  driver.program_queue();
  EXPECT_EQ(set_issi(driver, 1).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(query_cap(driver, 1).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(init(driver).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(disable(driver).status, CommandStatus::BAD_SYS_STATE_ERR);
}

TEST(BringUp, UnknownOpcode_IsABadOperation) {
  MiniDriver driver;
  driver.program_queue();
  EXPECT_EQ(driver.run<prm::enable_hca_out>(command<prm::enable_hca_in>(Opcode{0x7777})).status,
            CommandStatus::BAD_OP_ERR);
}

TEST(BringUp, EnableTwice_IsOutOfOrder) {
  MiniDriver driver;
  driver.program_queue();
  EXPECT_TRUE(driver.enable().ok());
  EXPECT_EQ(driver.enable().status, CommandStatus::BAD_SYS_STATE_ERR);
}

TEST(BringUp, EnableOfAnotherFunction_IsABadParameter) {
  MiniDriver driver;
  driver.program_queue();
  auto in = command<prm::enable_hca_in>(Opcode::ENABLE_HCA);
  in.set<"function_id", 1>();
  EXPECT_EQ(driver.run<prm::enable_hca_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(BringUp, ReservedBitInACommand_IsABadParameter) {
  MiniDriver driver;
  driver.program_queue();
  auto in = command<prm::enable_hca_in>(Opcode::ENABLE_HCA);
  in.all()[prm::enable_hca_in::bytes - 1] = std::byte{1};
  EXPECT_EQ(driver.run<prm::enable_hca_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(BringUp, InitOfADriverFromBeforeSwOwnerId_IsAccepted) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  ASSERT_TRUE(driver.give_pages(driver.pages_wanted(QueryPagesOpMod::INIT_PAGES)).ok());
  constexpr std::size_t kBytes = 16;  // init_hca_in of rdma-core's providers/mlx5/mlx5_ifc.h
  const auto in = command<prm::init_hca_in>(Opcode::INIT_HCA);
  EXPECT_EQ(driver.execute(in.all().first(kBytes - 1), prm::init_hca_out::bytes).status,
            CommandStatus::BAD_INP_LEN_ERR);
  EXPECT_TRUE(driver.execute(in.all().first(kBytes), prm::init_hca_out::bytes).ok());
}

TEST(BringUp, OpModWhereThereIsNone_IsABadParameter) {
  MiniDriver driver;
  driver.program_queue();
  auto in = command<prm::enable_hca_in>(Opcode::ENABLE_HCA);
  in.set<"op_mod", 1>();
  EXPECT_EQ(driver.run<prm::enable_hca_out>(in).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(BringUp, ShortInput_IsTold) {
  MiniDriver driver;
  driver.program_queue();
  const auto in = command<prm::enable_hca_in>(Opcode::ENABLE_HCA);
  EXPECT_EQ(driver.execute(in.all().first<12>(), 16).status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST(BringUp, LongerInput_IsTakenWhenItSaysNothing) {
  MiniDriver driver;
  driver.program_queue();
  std::vector<std::byte> in(64);
  std::ranges::copy(command<prm::enable_hca_in>(Opcode::ENABLE_HCA).all(), in.begin());
  in[63] = std::byte{1};
  EXPECT_EQ(driver.execute(in, 16).status, CommandStatus::BAD_INP_LEN_ERR);
  in[63] = std::byte{0};
  EXPECT_TRUE(driver.execute(in, 16).ok());
}

TEST(BringUp, Issi_OneAndZeroAreOffered) {
  MiniDriver driver;
  driver.program_queue();
  ASSERT_TRUE(driver.enable().ok());
  EXPECT_TRUE(set_issi(driver, 1).ok());
  const Answer now =
      driver.run<prm::query_issi_out>(command<prm::query_issi_in>(Opcode::QUERY_ISSI));
  EXPECT_EQ(now.as<prm::query_issi_out>().get<"current_issi">(), 1U);
  EXPECT_EQ(set_issi(driver, 2).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(BringUp, BootPagesMissing_KeepsCapabilitiesClosed) {
  MiniDriver driver;
  driver.program_queue();
  ASSERT_TRUE(driver.enable().ok());
  EXPECT_EQ(query_cap(driver, 1).status, CommandStatus::BAD_SYS_STATE_ERR);
  ASSERT_TRUE(driver.give_pages(driver.pages_wanted(QueryPagesOpMod::BOOT_PAGES)).ok());
  EXPECT_TRUE(query_cap(driver, 1).ok());
}

TEST(BringUp, InitPagesMissing_InitIsRefused) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_EQ(init(driver).status, CommandStatus::BAD_SYS_STATE_ERR);
  ASSERT_TRUE(driver.give_pages(driver.pages_wanted(QueryPagesOpMod::INIT_PAGES) - 1).ok());
  EXPECT_EQ(init(driver).status, CommandStatus::BAD_SYS_STATE_ERR);
  ASSERT_TRUE(driver.give_pages(1).ok());
  EXPECT_TRUE(init(driver).ok());
}

TEST(BringUp, ObjectsBeforeInit_AreOutOfOrder) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_EQ(driver.run<prm::alloc_pd_out>(command<prm::alloc_pd_in>(Opcode::ALLOC_PD)).status,
            CommandStatus::BAD_SYS_STATE_ERR);
}

TEST(BringUp, InitTwiceAndCapabilitiesAfterInit_AreOutOfOrder) {
  MiniDriver driver;
  driver.bring_up();
  EXPECT_EQ(init(driver).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(driver.set_checksum(0).status, CommandStatus::BAD_SYS_STATE_ERR);
  EXPECT_EQ(set_issi(driver, 1).status, CommandStatus::BAD_SYS_STATE_ERR);
}

TEST(BringUp, CleanTeardown_LeavesNothing) {
  MiniDriver driver;
  driver.bring_up();
  ASSERT_TRUE(teardown(driver).ok());
  EXPECT_EQ(taken(take_pages(driver, 64, 64)), 64U);
  EXPECT_TRUE(disable(driver).ok());
  EXPECT_EQ(driver.model().census().pages, 0U);
  EXPECT_EQ(driver.model().counters().objects_at_teardown, 0U);
  EXPECT_EQ(driver.model().counters().pages_at_disable, 0U);
}

TEST(BringUp, TeardownWithObjects_DropsAndCountsThem) {
  MiniDriver driver;
  driver.bring_up();
  static_cast<void>(driver.alloc_uar());
  static_cast<void>(driver.alloc_pd());
  EXPECT_TRUE(teardown(driver, prm::TeardownProfile::FORCE_CLOSE).ok());
  EXPECT_EQ(driver.model().census().objects(), 0U);
  EXPECT_EQ(driver.model().counters().objects_at_teardown, 2U);
}

TEST(BringUp, FastTeardownOfAVirtualFunction_IsNotOffered) {
  MiniDriver driver({.virtual_function = true});
  driver.bring_up();
  EXPECT_EQ(teardown(driver, prm::TeardownProfile::PREPARE_FAST_TEARDOWN).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST(BringUp, DisableBeforeTeardown_IsOutOfOrder) {
  MiniDriver driver;
  driver.bring_up();
  EXPECT_EQ(disable(driver).status, CommandStatus::BAD_SYS_STATE_ERR);
}

TEST(BringUp, DisableWithPages_CountsThem) {
  MiniDriver driver;
  driver.bring_up();
  ASSERT_TRUE(teardown(driver).ok());
  ASSERT_TRUE(disable(driver).ok());
  EXPECT_EQ(driver.model().counters().pages_at_disable, 64U);
}

TEST(BringUp, DisabledFunction_CanBeEnabledAgain) {
  MiniDriver driver;
  driver.bring_up();
  ASSERT_TRUE(teardown(driver).ok());
  ASSERT_TRUE(disable(driver).ok());
  EXPECT_TRUE(driver.enable().ok());
  EXPECT_GT(driver.pages_wanted(QueryPagesOpMod::BOOT_PAGES), 0);
}

TEST(BringUp, VirtualFunction_WantsNoPages) {
  MiniDriver driver({.virtual_function = true});
  driver.program_queue();
  ASSERT_TRUE(driver.enable().ok());
  EXPECT_EQ(driver.pages_wanted(QueryPagesOpMod::BOOT_PAGES), 0);
  EXPECT_EQ(driver.pages_wanted(QueryPagesOpMod::INIT_PAGES), 0);
  EXPECT_TRUE(init(driver).ok());
}

TEST(BringUp, HostEndianness_IsAPhysicalFunctionsRegister) {
  auto in = command<prm::access_register_in>(Opcode::ACCESS_REG);
  in.put<"register_id">(prm::RegisterId::HOST_ENDIANNESS);
  std::vector<std::byte> all(in.all().begin(), in.all().end());
  all.resize(all.size() + prm::register_host_endianness::bytes);
  constexpr std::size_t kOut =
      prm::access_register_out::bytes + prm::register_host_endianness::bytes;
  MiniDriver pf;
  pf.bring_up_to_boot_pages();
  EXPECT_TRUE(pf.execute(all, kOut).ok());
  MiniDriver vf({.virtual_function = true});
  vf.bring_up_to_boot_pages();
  EXPECT_EQ(vf.execute(all, kOut).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(BringUp, Adapter_SaysThatItIsNoCard) {
  MiniDriver driver;
  driver.bring_up();
  const Answer answer =
      driver.run<prm::query_adapter_out>(command<prm::query_adapter_in>(Opcode::QUERY_ADAPTER));
  const auto psid =
      answer.as<prm::query_adapter_out>().bytes<"query_adapter_struct.vsd_contd_psid">();
  std::string text;
  for (const std::byte b : psid) text += std::to_integer<char>(b);
  EXPECT_EQ(text, "PORTCULLIS_MODEL");
}

/// mcx_set_driver_version of OpenBSD's if_mcx.c sends it without asking driver_version.
TEST(BringUp, DriverVersion_IsTakenFromInitHcaOn) {
  auto in = command<prm::set_driver_version_in>(Opcode::SET_DRIVER_VERSION);
  in.bytes<"driver_version">()[0] = std::byte{'O'};
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_FALSE(driver.run<prm::set_driver_version_out>(in).ok());
  MiniDriver initialised;
  initialised.bring_up();
  EXPECT_TRUE(initialised.run<prm::set_driver_version_out>(in).ok());
}

TEST(FirmwarePages, MoreThanAsked_IsRefused) {
  MiniDriver driver;
  driver.program_queue();
  ASSERT_TRUE(driver.enable().ok());
  EXPECT_EQ(driver.give_pages(driver.pages_wanted(QueryPagesOpMod::BOOT_PAGES) + 1).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver.model().census().pages, 0U);
}

TEST(FirmwarePages, BadAddresses_AreRefusedAndNothingIsKept) {
  MiniDriver driver;
  driver.program_queue();
  ASSERT_TRUE(driver.enable().ok());
  const DmaBuffer page = driver.allocate(kPageBytes);
  EXPECT_EQ(give(driver, {page.iova() + 8}).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(give(driver, {page.iova(), page.iova()}).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(give(driver, {Iova{1} << 36}).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(driver.model().census().pages, 0U);
  EXPECT_TRUE(give(driver, {page.iova()}).ok());
  EXPECT_EQ(give(driver, {page.iova()}).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(FirmwarePages, ListShorterThanItsCount_IsAnInputLengthError) {
  MiniDriver driver;
  driver.program_queue();
  ASSERT_TRUE(driver.enable().ok());
  auto in = command<prm::manage_pages_in>(Opcode::MANAGE_PAGES);
  in.put<"op_mod">(prm::ManagePagesOpMod::ALLOCATION_SUCCESS).set<"input_num_entries", 5>();
  EXPECT_EQ(driver.run<prm::manage_pages_out>(in).status, CommandStatus::BAD_INP_LEN_ERR);
}

TEST(FirmwarePages, GivenPages_AreWrittenByFirmware) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_NE(driver.given_pages()[0].bytes()[0], std::byte{0});
}

TEST(FirmwarePages, AfterTeardown_ExactlyTheGivenPagesComeBack) {
  MiniDriver driver;
  driver.bring_up();
  ASSERT_TRUE(teardown(driver).ok());
  std::set<Iova> given;
  for (const DmaBuffer& page : driver.given_pages()) given.insert(page.iova());
  EXPECT_EQ(pages_in(take_pages(driver, 64, 64)), given);
  EXPECT_EQ(taken(take_pages(driver, 64, 64)), 0U);
}

TEST(FirmwarePages, WorkingFunction_GivesNothingBackUnasked) {
  MiniDriver driver;
  driver.bring_up();
  EXPECT_EQ(taken(take_pages(driver, 8, 8)), 0U);
}

TEST(FirmwarePages, OutputTooShortForTheList_GivesThoseThatHaveRoom) {
  MiniDriver driver;
  driver.bring_up();
  ASSERT_TRUE(teardown(driver).ok());
  EXPECT_EQ(taken(take_pages(driver, 8, 7)), 7U);
  EXPECT_EQ(driver.model().census().pages, 57U);
}

TEST(FirmwarePages, Request_IsAnEventAndRaisesWhatMayBeGiven) {
  MiniDriver driver;
  driver.bring_up();
  EventQueue eq(driver, {prm::EventType::PAGE_REQUEST});
  driver.model().request_pages(3);
  const auto event = eq.poll();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->type, prm::EventType::PAGE_REQUEST);
  EXPECT_EQ(event->as<prm::mlx5_eqe_page_req>().get<"num_pages">(), 3U);
  EXPECT_EQ(driver.give_pages(4).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_TRUE(driver.give_pages(3).ok());
  EXPECT_EQ(driver.model().census().pages, 67U);
}

TEST(FirmwarePages, RequestBeforeTheEventQueue_WaitsForIt) {
  MiniDriver driver;
  driver.bring_up();
  driver.model().request_pages(2);
  EventQueue eq(driver, {prm::EventType::PAGE_REQUEST});
  const auto event = eq.poll();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->as<prm::mlx5_eqe_page_req>().get<"num_pages">(), 2U);
}

TEST(FirmwarePages, Offer_IsANegativeRequestAndAllowsTaking) {
  MiniDriver driver;
  driver.bring_up();
  EventQueue eq(driver, {prm::EventType::PAGE_REQUEST});
  driver.model().request_pages(-5);
  const auto event = eq.poll();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(static_cast<std::int32_t>(event->as<prm::mlx5_eqe_page_req>().get<"num_pages">()), -5);
  EXPECT_EQ(taken(take_pages(driver, 8, 8)), 5U);
  EXPECT_EQ(taken(take_pages(driver, 8, 8)), 0U);
}

TEST(FirmwarePages, PageStarved_FourthCreateWaitsUntilThePageComes) {
  MiniDriver driver({.behaviours = {"page-starved"}});
  driver.bring_up();
  EventQueue eq(driver, {prm::EventType::PAGE_REQUEST});
  auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  in.put<"memory_key_mkey_entry.pd">(driver.alloc_pd());
  in.set<"memory_key_mkey_entry.length64", 1>();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.run<prm::create_mkey_out>(in).ok());
  const Posted fourth = driver.lay_out(5, in.all(), prm::create_mkey_out::bytes);
  driver.hand_over(fourth);
  driver.ring(5);
  EXPECT_FALSE(driver.await(fourth).returned);
  ASSERT_TRUE(eq.poll().has_value());
  ASSERT_TRUE(driver.give_pages(1).ok());
  EXPECT_TRUE(driver.await(fourth).ok());
}

TEST(FirmwarePages, PageStarved_CommandFailsWhenThereAreNone) {
  MiniDriver driver({.behaviours = {"page-starved"}});
  driver.bring_up();
  auto in = command<prm::create_mkey_in>(Opcode::CREATE_MKEY);
  in.put<"memory_key_mkey_entry.pd">(driver.alloc_pd());
  in.set<"memory_key_mkey_entry.length64", 1>();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver.run<prm::create_mkey_out>(in).ok());
  const Posted fourth = driver.lay_out(5, in.all(), prm::create_mkey_out::bytes);
  driver.hand_over(fourth);
  driver.ring(5);
  driver.pass(kNsPerMs);
  ASSERT_TRUE(cannot_give(driver).ok());
  EXPECT_EQ(driver.await(fourth).status, CommandStatus::NO_RES_ERR);
  EXPECT_TRUE(driver.run<prm::create_mkey_out>(in).ok());
}

TEST(Capabilities, General_OffersWhatTheModelDoes) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  const Answer answer =
      query_cap(driver, prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const auto page = prm::ConstView<prm::cmd_hca_cap>::at(
      answer.as<prm::query_hca_cap_out>().bytes<"capability">());
  EXPECT_EQ(page.get<"port_type">(), prm::number(prm::PortType::ETH));
  EXPECT_EQ(page.get<"roce">(), 1U);
  EXPECT_EQ(page.get<"cmdif_checksum">(), 0U);
  EXPECT_EQ(page.get<"log_bf_reg_size">(), 9U);
  EXPECT_GE(page.get<"log_max_mkey">(), 17U);
  EXPECT_EQ(page.get<"nic_flow_table">(), 1U);
  EXPECT_EQ(page.get<"driver_version">(), 1U);
}

TEST(Capabilities, TypeThatIsNotOffered_IsABadParameter) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_EQ(query_cap(driver, prm::cap_op_mod(prm::CapType::ODP)).status,
            CommandStatus::BAD_PARAM_ERR);
}

TEST(Capabilities, AsTheyAre_CanBeSet) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_TRUE(
      driver.run<prm::set_hca_cap_out>(caps_as_they_are(driver, prm::CapType::GENERAL)).ok());
}

TEST(Capabilities, UpToTheMaximum_TakesEffect) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  auto set = caps_as_they_are(driver, prm::CapType::ROCE);
  prm::View<prm::roce_cap>::at(set.bytes<"capability">()).set<"sw_r_roce_src_udp_port", 1>();
  ASSERT_TRUE(driver.run<prm::set_hca_cap_out>(set).ok());
  const auto now = caps_as_they_are(driver, prm::CapType::ROCE);
  EXPECT_EQ(
      prm::ConstView<prm::roce_cap>::at(now.bytes<"capability">()).get<"sw_r_roce_src_udp_port">(),
      1U);
}

TEST(Capabilities, AboveTheMaximum_IsABadParameter) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  auto set = caps_as_they_are(driver, prm::CapType::GENERAL);
  prm::View<prm::cmd_hca_cap>::at(set.bytes<"capability">()).set<"log_max_qp", 31>();
  EXPECT_EQ(driver.run<prm::set_hca_cap_out>(set).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(Capabilities, LargerUarPages_AreABadParameter) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  auto set = caps_as_they_are(driver, prm::CapType::GENERAL);
  prm::View<prm::cmd_hca_cap>::at(set.bytes<"capability">()).set<"log_uar_page_sz", 4>();
  EXPECT_EQ(driver.run<prm::set_hca_cap_out>(set).status, CommandStatus::BAD_PARAM_ERR);
}

TEST(Capabilities, HalfAChecksum_IsABadParameter) {
  MiniDriver driver;
  driver.bring_up_to_boot_pages();
  EXPECT_EQ(driver.set_checksum(1).status, CommandStatus::BAD_PARAM_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
