// SPDX-License-Identifier: BSD-3-Clause
//
// A device brought up as Options say, and what address its port then has.
#include "attach/port.hpp"

#include <gmock/gmock.h>

#include "attach/function.hpp"
#include "pmd/port_mac.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::attach {
namespace {

std::unique_ptr<Function> function_of(std::string_view device, const Function::Options& options) {
  return Function::bring_up(OpenDevice::open(parse_device(device).value()).value(), options)
      .value();
}

TEST(Function, Present_DriverWaitsThroughTheDeviceItReturns) {
  struct Waits {
    std::uint32_t count = 0;
    std::optional<Device> opened;
  } waits;
  const auto present = [&waits](Device device) {
    waits.opened = device;
    device.relax = Relax(
        [](void* context, std::uint64_t until_ns) noexcept {
          auto& seen = *static_cast<Waits*>(context);
          ++seen.count;
          seen.opened->relax(until_ns);
        },
        &waits);
    return device;
  };

  const auto function = function_of("model", {.present = present});

  EXPECT_GT(waits.count, 0U);
  EXPECT_NE(function->model(), nullptr);
}

TEST(Function, DeviceThatDoesNotComeUp_IsAnErrorAndGone) {
  auto opened = OpenDevice::open(parse_device("model").value()).value();
  opened.model()->inject({.opcode = prm::number(prm::Opcode::INIT_HCA), .status = 1});

  const auto refused = Function::bring_up(std::move(opened));

  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().text, ::testing::HasSubstr("INIT_HCA"));
}

TEST(Port, NothingGiven_IsTheLinkLocalAddressOfItsOwnMac) {
  const auto function = function_of("model", {});
  const pmd::Mac mac = pmd::port_mac(function->context()).value();

  const Port port = Port::create(function->context(), {}).value();

  EXPECT_EQ(port.address(), (pmd::RoceAddress{.gid = pmd::Gid::link_local(mac), .mac = mac}));
  EXPECT_EQ(port.path().remote_gid, port.address().gid);
  EXPECT_EQ(port.path().remote_mac, mac);
}

TEST(Port, AddressGiven_StandsInTheTableWhileThePortLives) {
  constexpr pmd::Mac kMac{{0x02, 0, 0, 0, 0, 0x01}};
  const auto function = function_of("model", {});
  const pmd::RoceAddressTable table(function->context());
  auto port = std::make_optional(
      Port::create(function->context(), {.gid = kLoopbackGid, .mac = kMac}).value());
  EXPECT_EQ(table.query(0).value(), (pmd::RoceAddress{.gid = kLoopbackGid, .mac = kMac}));

  port.reset();

  EXPECT_EQ(table.query(0).value(), pmd::RoceAddress{});
}

TEST(Port, InfiniBand_IsReachedByItsLid) {
  const auto function = function_of("model,port=ib", {});

  const Port port = Port::create(function->context(), {}).value();

  EXPECT_NE(port.path().remote_lid, 0);
  EXPECT_EQ(port.address(), pmd::RoceAddress{});
}

class AddressOfNoPort : public ::testing::TestWithParam<const char*> {};

TEST_P(AddressOfNoPort, IsRefusedInOneLineThatNamesIt) {
  const auto refused = parse_port_address(GetParam());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, ::testing::HasSubstr(GetParam()));
  EXPECT_THAT(refused.error().text, ::testing::Not(::testing::HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(Addresses, AddressOfNoPort,
                         ::testing::Values("", "db1", "0.0.0.0", "0.1.2.3", "127.0.0.1",
                                           "127.255.0.9", "224.0.0.1", "255.255.255.255",
                                           "::", "::1", "ff02::1", "192.0.2.1 "));

TEST(Port, AddressOfOneHost_IsAccepted) {
  for (const char* const text :
       {"192.0.2.1", "10.0.0.1", "223.255.255.255", "fe80::1", "2001:db8::7", "::ffff:192.0.2.1"})
    EXPECT_TRUE(parse_port_address(text)) << text;
}

}  // namespace
}  // namespace portcullis::attach
