// SPDX-License-Identifier: BSD-3-Clause
//
// What the doctor says about a function that it has opened: the model in place of a card.
#include <gmock/gmock.h>

#include "attach/open_device.hpp"
#include "prm/enums.hpp"
#include "prm/opcodes.hpp"
#include "tools/doctor/function_checks.hpp"

namespace portcullis::tools::doctor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

attach::OpenDevice open_model(const char* spec = "model") {
  return *attach::OpenDevice::open(*attach::parse_device(spec));
}

/// What a ConnectX-5 in an Ethernet port says.
pmd::Capabilities ethernet() {
  pmd::Capabilities caps;
  caps.port_type = prm::number(prm::PortType::ETH);
  caps.roce = 1;
  caps.roce_address_table_size = 256;
  caps.log_max_qp = 18;
  caps.log_max_mkey = 24;
  caps.log_max_pd = 24;
  caps.log_max_msg = 30;
  return caps;
}

auto check_is(const char* check, Status status) {
  return AllOf(Field(&Finding::check, check), Field(&Finding::status, status));
}

TEST(BringUpFindings, WorkingFunction_AsksForNothingAndIsLeftEmpty) {
  attach::OpenDevice open = open_model();
  EXPECT_THAT(bring_up_findings(open.device()),
              ElementsAre(check_is("firmware", Status::Ok), check_is("port-type", Status::Ok),
                          check_is("roce", Status::Ok), check_is("room", Status::Ok),
                          check_is("ordering", Status::Ok), check_is("tear-down", Status::Ok)));
  EXPECT_EQ(open.model()->census().pages, 0u);
  EXPECT_EQ(open.model()->census().dma_mappings, 0u);
}

TEST(BringUpFindings, FirmwareAndBoard_AreNamed) {
  attach::OpenDevice open = open_model();
  EXPECT_THAT(bring_up_findings(open.device())[0].what,
              HasSubstr("16.35.4506, board PORTCULLIS_MODEL (emulated), "));
}

TEST(BringUpFindings, VirtualFunction_ComesUpToo) {
  attach::OpenDevice open = open_model("model,vf");
  EXPECT_THAT(bring_up_findings(open.device()), Each(Field(&Finding::status, Status::Ok)));
}

TEST(BringUpFindings, FunctionThatRefuses_IsOneFindingThatNamesTheStep) {
  attach::OpenDevice open = open_model();
  open.model()->inject(model::CommandFaultRule{
      .opcode = prm::number(prm::Opcode::ENABLE_HCA), .status = 0x02, .syndrome = 0x1234});
  const Findings findings = bring_up_findings(open.device());
  ASSERT_THAT(findings, ElementsAre(check_is("firmware", Status::Missing)));
  EXPECT_THAT(findings[0].what, AllOf(HasSubstr("ENABLE_HCA"), Not(HasSubstr("\n"))));
  EXPECT_THAT(findings[0].mend, ElementsAre(HasSubstr("/reset")));
}

TEST(BringUpFindings, CardThatIsGone_IsOneFinding) {
  attach::OpenDevice open = open_model();
  open.model()->surprise_remove();
  EXPECT_THAT(bring_up_findings(open.device()),
              ElementsAre(AllOf(check_is("firmware", Status::Missing),
                                Field(&Finding::what, HasSubstr("all ones")))));
}

TEST(BringUpFindings, TearDownThatFails_IsAFinding) {
  attach::OpenDevice open = open_model();
  open.model()->inject(model::CommandFaultRule{
      .opcode = prm::number(prm::Opcode::TEARDOWN_HCA), .status = 0x01, .syndrome = 1});
  const Findings findings = bring_up_findings(open.device());
  EXPECT_THAT(findings.back(), check_is("tear-down", Status::Missing));
  EXPECT_THAT(findings.back().what, HasSubstr("TEARDOWN_HCA"));
}

TEST(BringUpFindings, RelaxedOrdering_IsToldOfDmaAndOfKeys) {
  attach::OpenDevice strict = open_model();
  attach::OpenDevice relaxed = open_model("model,behaviour=relaxed-ordering");
  EXPECT_THAT(bring_up_findings(strict.device()),
              Contains(Field(&Finding::what,
                             "relaxed ordering of DMA off (PCI Express), of keys "
                             "not offered")));
  EXPECT_THAT(bring_up_findings(relaxed.device()),
              Contains(Field(&Finding::what,
                             "relaxed ordering of DMA on (PCI Express), of keys "
                             "offered and never asked for")));
}

TEST(BringUpFindings, RelaxedOrderingOfKeysAlone_IsToldApartFromTheDma) {
  attach::OpenDevice open = open_model("model,behaviour=relaxed-ordering+strict-pci-ordering");
  EXPECT_THAT(bring_up_findings(open.device()),
              Contains(Field(&Finding::what,
                             "relaxed ordering of DMA off (PCI Express), of keys "
                             "offered and never asked for")));
}

TEST(BringUpFindings, RelaxedOrderingOfAVirtualFunction_IsItsPfs) {
  attach::OpenDevice virtual_function = open_model("model,vf,behaviour=relaxed-ordering");
  EXPECT_THAT(bring_up_findings(virtual_function.device()),
              Contains(Field(&Finding::what,
                             "relaxed ordering of DMA unknown (PCI Express), of keys "
                             "offered and never asked for")));
}

TEST(OrderingFinding, FunctionThatCannotBeAsked_IsUnknown) {
  EXPECT_THAT(
      ordering_finding(ethernet(), std::nullopt),
      AllOf(check_is("ordering", Status::Ok), Field(&Finding::what, HasSubstr("of DMA unknown"))));
}

TEST(CapabilityFindings, EthernetPortWithRoce_AsksForNothing) {
  EXPECT_THAT(capability_findings(ethernet()), Each(Field(&Finding::status, Status::Ok)));
}

TEST(CapabilityFindings, InfiniBandPort_IsMissingEthernetWithTheCommand) {
  pmd::Capabilities caps = ethernet();
  caps.port_type = prm::number(prm::PortType::IB);
  const Finding finding = capability_findings(caps)[0];
  EXPECT_THAT(finding, check_is("port-type", Status::Missing));
  EXPECT_THAT(finding.mend[0], HasSubstr("mstconfig -d BDF set LINK_TYPE_P1=2"));
}

TEST(CapabilityFindings, FunctionWithoutRoce_IsMissingIt) {
  pmd::Capabilities caps = ethernet();
  caps.roce = 0;
  EXPECT_THAT(capability_findings(caps)[1], check_is("roce", Status::Missing));
}

TEST(CapabilityFindings, EmptyAddressTable_IsMissing) {
  pmd::Capabilities caps = ethernet();
  caps.roce_address_table_size = 0;
  EXPECT_THAT(
      capability_findings(caps)[1],
      AllOf(check_is("roce", Status::Missing), Field(&Finding::what, HasSubstr("address table"))));
}

TEST(CapabilityFindings, RoomForFewerLeasesThanATableHas_IsAdvice) {
  pmd::Capabilities caps = ethernet();
  caps.log_max_pd = 9;
  EXPECT_THAT(capability_findings(caps)[2],
              AllOf(check_is("room", Status::Advice), Field(&Finding::hint, HasSubstr("2^9"))));
}

}  // namespace
}  // namespace portcullis::tools::doctor
