// SPDX-License-Identifier: BSD-3-Clause
//
// Which ports can be served at all.
#include "service/served_port.hpp"

#include <gmock/gmock.h>

namespace portcullis::service {
namespace {

using ::testing::HasSubstr;

constexpr pmd::Gid kOurs = pmd::Gid::from_ipv4(192, 0, 2, 1);

TEST(ServedPort, InfiniBandPort_IsRefusedInOneLine) {
  EXPECT_EQ(ServedPort::open(attach::parse_device("model,port=ib").value(), {.address = kOurs})
                .error()
                .text,
            "port_type is 0 (InfiniBand), and what is served here is addressed by RoCE; a port of "
            "type 1 (Ethernet) is accepted");
}

TEST(ServedPort, VlanOnTheModel_IsRefusedByName) {
  const auto port =
      ServedPort::open(attach::parse_device("model").value(), {.address = kOurs, .vlan = 5});

  EXPECT_EQ(port.error().code, Errc::Unsupported);
  EXPECT_THAT(port.error().text, HasSubstr("--vlan 5: not supported on the model"));
}

}  // namespace
}  // namespace portcullis::service
