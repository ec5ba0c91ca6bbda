// SPDX-License-Identifier: BSD-3-Clause
//
// Ports as cards may have them: each pair of the model's awkward sides brings up a port that
// carries a lease's WRITE, or says in one line what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "attach/port.hpp"
#include "lease/lease_manager.hpp"
#include "tests/lease/lease_client.hpp"

namespace portcullis::attach {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kValue = 0x1122334455667788;

/// "ok" when a WRITE of a client on this port arrives, else what was said.
Result<std::string> write_on(const std::string& device, prm::QpcMtu mtu,
                             const Port::Options& address = {}) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, parse_device(device));
  PORTCULLIS_TRY_ASSIGN(auto opened, OpenDevice::open(spec));
  PORTCULLIS_TRY_ASSIGN(const auto function, Function::bring_up(std::move(opened)));
  PORTCULLIS_TRY_ASSIGN(const Port port, Port::create(function->context(), address));
  lease::LeaseManager::Options options;
  options.grant.mtu = mtu;
  PORTCULLIS_TRY_ASSIGN(const auto manager,
                        lease::LeaseManager::create(lease::Host::of(function->driver()), options));
  auto client = testing::Client::create(function->context());
  lease::Peer peer = client.peer();
  peer.gid = port.address().gid;
  peer.mac = port.address().mac;
  PORTCULLIS_TRY_ASSIGN(const auto grant, manager->grant({.bytes = kPageBytes, .peer = peer}));
  client.connect(grant, port.path());
  const auto status = client.write(function->context().device, kValue);
  return status == prm::WcStatus::SUCCESS ? "ok" : std::string(prm::name(status));
}

struct Sides {
  const char* one;
  const char* other;
};

struct AwkwardPort : ::testing::TestWithParam<Sides> {};

TEST_P(AwkwardPort, CarriesALeasesWrite) {
  const auto found =
      write_on(std::string("model") + GetParam().one + GetParam().other, prm::QpcMtu::MTU_1024);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(*found, "ok");
}

constexpr const char* kVf = ",vf,behaviour=vf-needs-uc-list";
constexpr const char* kLate = ",behaviour=link-up-ms=3000";
constexpr const char* kShort = ",behaviour=pmtu=1522";
constexpr const char* kSlow = ",behaviour=slow-init";
constexpr const char* kUnsigned = ",checksum=off";
constexpr const char* kNone = "";

INSTANTIATE_TEST_SUITE_P(
    Pairs, AwkwardPort,
    ::testing::Values(Sides{kVf, kNone}, Sides{kLate, kNone}, Sides{kShort, kNone},
                      Sides{kSlow, kNone}, Sides{kUnsigned, kNone}, Sides{kVf, kLate},
                      Sides{kVf, kShort}, Sides{kVf, kSlow}, Sides{kVf, kUnsigned},
                      Sides{kLate, kShort}, Sides{kLate, kSlow}, Sides{kLate, kUnsigned},
                      Sides{kShort, kSlow}, Sides{kShort, kUnsigned}, Sides{kSlow, kUnsigned}));

TEST(AwkwardPorts, AddressThatTheUserChose_IsAnnouncedToo) {
  const auto found = write_on("model,vf,behaviour=vf-needs-uc-list", prm::QpcMtu::MTU_1024,
                              {.mac = pmd::Mac{{2, 0, 0, 0, 7, 7}}});
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(*found, "ok");
}

TEST(AwkwardPorts, PathMtuThatDoesNotFit_IsRefusedInOneLine) {
  const auto refused = write_on("model,behaviour=pmtu=2000", prm::QpcMtu::MTU_2048);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::InvalidArgument);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("path MTU 2048"), HasSubstr("2000"),
                                          HasSubstr("at most 1024"), Not(HasSubstr("\n"))));
}

TEST(AwkwardPorts, LinkLaterThanTheWait_IsToldAndTheFunctionIsUp) {
  std::vector<std::string> log;
  auto opened =
      OpenDevice::open(parse_device("model,behaviour=link-up-ms=3000,link-wait-ms=100").value());
  Function::Options options;
  options.bring_up.log = [&log](auto line) { log.emplace_back(line); };
  const auto function = Function::bring_up(std::move(opened).value(), options);
  ASSERT_TRUE(function) << function.error().text;
  EXPECT_THAT(log, ::testing::ElementsAre(HasSubstr("the link of port 1 is down after 100 ms")));
}

}  // namespace
}  // namespace portcullis::attach
