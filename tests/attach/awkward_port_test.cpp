// SPDX-License-Identifier: BSD-3-Clause
//
// Ports as cards may have them: each pair of the model's awkward sides brings up a port that
// carries a lease's WRITE, or says in one line what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
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
  peer.is_forced_back = port.path().is_forced_back;
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
constexpr const char* kNoKeyOfAQp = ",behaviour=mkc-qpn=refused";
constexpr const char* kStrictKeys = ",behaviour=mkc-qpn=strict";
constexpr const char* kUnboundKeys = ",mkc-qpn=off";
constexpr const char* kForcedOnly = ",behaviour=loopback=forced-only,loopback=forced";
constexpr const char* kForced = ",behaviour=loopback=needs-link,loopback=forced";
constexpr const char* kNeverForced = ",behaviour=loopback=refused";
constexpr const char* kRelaxed = ",behaviour=relaxed-ordering";
constexpr const char* kNone = "";

constexpr std::array kSides{kNone,     kVf,          kLate,       kShort,       kSlow,
                            kUnsigned, kNoKeyOfAQp,  kStrictKeys, kUnboundKeys, kForcedOnly,
                            kForced,   kNeverForced, kRelaxed};

/// Two that say how packets come back are no pair.
bool is_pair(std::string_view one, std::string_view other) {
  constexpr std::string_view kLoopback = "loopback=";
  return one.find(kLoopback) == std::string_view::npos ||
         other.find(kLoopback) == std::string_view::npos;
}

std::vector<Sides> pairs() {
  std::vector<Sides> all;
  for (std::size_t i = 0; i < kSides.size(); ++i)
    for (std::size_t j = i + 1; j < kSides.size(); ++j)
      if (is_pair(kSides[i], kSides[j])) all.push_back({kSides[i], kSides[j]});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Pairs, AwkwardPort, ::testing::ValuesIn(pairs()));

TEST(AwkwardPorts, ForcedOnlyWithoutForce_IsSilence) {
  EXPECT_EQ(write_on("model,behaviour=loopback=forced-only", prm::QpcMtu::MTU_1024).value(),
            "IBV_WC_RETRY_EXC_ERR");
}

TEST(AwkwardPorts, ForceThatTheDeviceDoesNotOffer_IsRefusedInOneLine) {
  const auto refused =
      write_on("model,behaviour=loopback=refused,loopback=forced", prm::QpcMtu::MTU_1024);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("fl_rc_qp_when_roce_enabled"),
                                          HasSubstr("loopback=plain"), Not(HasSubstr("\n"))));
}

TEST(AwkwardPorts, KeysThatAreNotToNameAQp_DoNot) {
  auto opened = OpenDevice::open(parse_device("model,mkc-qpn=off").value());
  const auto function = Function::bring_up(std::move(opened).value());
  const auto manager =
      lease::LeaseManager::create(lease::Host::of(function.value()->driver()), {}).value();
  EXPECT_EQ(manager->key_binding(), lease::KeyBinding::NotWanted);
}

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
