// SPDX-License-Identifier: BSD-3-Clause
//
// The two lines of an exchange: what is written is read back, and what no peer should send is
// refused by name.
#include "service/exchange/exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace portcullis::service::exchange {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string request_line =
    "lease-request version=1 qpn=0x11 psn=0x3a51b2 gid=192.0.2.2 mac=02:50:43:00:00:02 mtu=1024";
const std::string grant_line =
    "lease-grant version=1 qpn=0x41 psn=0x90127c gid=192.0.2.1 mac=02:50:43:00:00:01 mtu=1024 "
    "rkey=0x1c02 address=0x1000 length=65536 timeout=14 retry=6 access=write+read";

std::string with(std::string line, const std::string& from, const std::string& to) {
  return line.replace(line.find(from), from.size(), to);
}

TEST(Exchange, RequestIsReadAsItWasWritten) {
  const Request request{.client = {.qpn = 0x11,
                                   .psn = 0x3a51b2,
                                   .gid = pmd::Gid::from_ipv4(192, 0, 2, 2),
                                   .mac = {{2, 0x50, 0x43, 0, 0, 2}}},
                        .mtu = 1024};

  EXPECT_EQ(to_line(request), request_line);
  EXPECT_EQ(parse_request(request_line).value(), request);
}

TEST(Exchange, GrantIsReadAsItWasWritten) {
  const Grant grant = parse_grant(grant_line).value();

  EXPECT_EQ(grant.rkey, 0x1c02U);
  EXPECT_EQ(grant.address, 0x1000U);
  EXPECT_EQ(grant.length, 65536U);
  EXPECT_EQ(grant.timeout, 14);
  EXPECT_EQ(grant.retry, 6);
  EXPECT_TRUE(grant.access.remote_write && grant.access.remote_read);
  EXPECT_FALSE(grant.access.remote_atomic);
  EXPECT_EQ(to_line(grant), grant_line);
}

TEST(Exchange, WordsInAnotherOrder_AreTheSameRequest) {
  const auto request = parse_request(
      "lease-request mtu=1024 mac=02:50:43:00:00:02 gid=::ffff:192.0.2.2 psn=3822002 qpn=17 "
      "version=1");

  EXPECT_EQ(request.value(), parse_request(request_line).value());
}

TEST(Exchange, RefusalIsTheServersText) {
  const auto grant = parse_grant(refusal("no slot\nis free"));

  EXPECT_EQ(grant.error().text, "the server refused: no slot is free");
}

TEST(Exchange, RefusalOfAPeerThatIsNoText_IsMadeFitForAMessage) {
  const auto grant = parse_grant("lease-refused \x1b[2J\r");

  EXPECT_EQ(grant.error().text, "the server refused: ?[2J?");
}

struct BadLine {
  const char* name;
  std::string line;
  std::string told;  // what the one line about it names
};

class BadRequest : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadRequest, IsOneLineThatNamesTheWord) {
  const auto request = parse_request(GetParam().line);

  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Errc::Malformed);
  EXPECT_THAT(request.error().text, HasSubstr(GetParam().told));
  EXPECT_THAT(request.error().text, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadRequest,
    ::testing::Values(
        BadLine{"Empty", "", "begins with lease-request"},
        BadLine{"OtherProtocol", "GET / HTTP/1.0\r", "\"GET / HTTP/1.0?\""},
        BadLine{"Binary", std::string("\x16\x03\x01\x02\0\x01", 6), "\"??????\""},
        BadLine{"AGrant", grant_line, "begins with lease-request"},
        BadLine{"CutInAWord", request_line.substr(0, request_line.size() - 5), "word \"mtu\""},
        BadLine{"CutInAMac", request_line.substr(0, request_line.size() - 12), "mac=02:50:43"},
        BadLine{"CutBetweenWords", with(request_line, " mtu=1024", ""), "mtu is missing"},
        BadLine{"OtherVersion", with(request_line, "version=1", "version=2"), "version=2; 1 is"},
        BadLine{"NoNumber", with(request_line, "qpn=0x11", "qpn=eleven"), "qpn=eleven"},
        BadLine{"Negative", with(request_line, "qpn=0x11", "qpn=-1"), "qpn=-1"},
        BadLine{"HexWithoutDigits", with(request_line, "qpn=0x11", "qpn=0x"), "qpn=0x;"},
        BadLine{"SpecialQp", with(request_line, "qpn=0x11", "qpn=1"), "qpn=1;"},
        BadLine{"QpnOf25Bits", with(request_line, "qpn=0x11", "qpn=0x1000000"), "qpn=0x1000000"},
        BadLine{"PsnOf25Bits", with(request_line, "psn=0x3a51b2", "psn=0x1000000"), "psn="},
        BadLine{"NumberOf65Bits", with(request_line, "psn=0x3a51b2", "psn=0x10000000000000000"),
                "psn="},
        BadLine{"MulticastGid", with(request_line, "192.0.2.2", "224.0.0.1"), "gid=224.0.0.1"},
        BadLine{"MulticastGid6", with(request_line, "192.0.2.2", "ff02::1"), "gid=ff02::1"},
        BadLine{"ZeroGid", with(request_line, "192.0.2.2", "::"), "gid=::"},
        BadLine{"NoGid", with(request_line, "192.0.2.2", "host.example"), "gid=host.example"},
        BadLine{"LongGid", with(request_line, "192.0.2.2", std::string(200, '1')), "gid=111"},
        BadLine{"MulticastMac", with(request_line, "mac=02", "mac=03"), "mac=03:50"},
        BadLine{"ZeroMac", with(request_line, "02:50:43:00:00:02", "00:00:00:00:00:00"), "mac=00"},
        BadLine{"OddMtu", with(request_line, "mtu=1024", "mtu=1500"), "mtu=1500"},
        BadLine{"SmallMtu", with(request_line, "mtu=1024", "mtu=128"), "mtu=128"},
        BadLine{"Twice", request_line + " qpn=3", "qpn stands there twice"},
        BadLine{"UnknownWord", request_line + " colour=red", "no word colour"},
        BadLine{"NoKey", request_line + " =3", "word \"=3\""},
        BadLine{"TooLong", request_line + std::string(kMaxLineBytes, ' '), "at most 512"}),
    [](const auto& info) { return info.param.name; });

class BadGrant : public ::testing::TestWithParam<BadLine> {};

TEST_P(BadGrant, IsOneLineThatNamesTheWord) {
  const auto grant = parse_grant(GetParam().line);

  ASSERT_FALSE(grant);
  EXPECT_THAT(grant.error().text, HasSubstr(GetParam().told));
  EXPECT_THAT(grant.error().text, Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadGrant,
    ::testing::Values(
        BadLine{"ARequest", request_line, "begins with lease-grant"},
        BadLine{"NoBytes", with(grant_line, "length=65536", "length=0"), "length=0"},
        BadLine{"EndlessRegion", with(grant_line, "length=65536", "length=0xffffffffffffffff"),
                "length=0xff"},
        BadLine{"RegionPastTheEnd",
                with(grant_line, "address=0x1000", "address=0xfffffffffffffff0"), "above 2^64"},
        BadLine{"RegionWithoutAWord",
                with(with(grant_line, "address=0x1000", "address=0x1001"), "65536", "14"),
                "no aligned word"},
        BadLine{"TimeoutForEver", with(grant_line, "timeout=14", "timeout=0"), "timeout=0"},
        BadLine{"TimeoutOf6Bits", with(grant_line, "timeout=14", "timeout=32"), "timeout=32"},
        BadLine{"RetryOf4Bits", with(grant_line, "retry=6", "retry=8"), "retry=8"},
        BadLine{"KeyOf33Bits", with(grant_line, "rkey=0x1c02", "rkey=0x100000000"), "rkey="},
        BadLine{"UnknownRight", with(grant_line, "write+read", "write+own"), "write, read and"},
        BadLine{"RightTwice", with(grant_line, "write+read", "write+write"), "write+write"},
        BadLine{"NoRight", with(grant_line, "write+read", "none"), "access \"none\""}),
    [](const auto& info) { return info.param.name; });

TEST(Exchange, LastByteOfTheAddressSpace_IsAccepted) {
  const auto grant = parse_grant(
      with(with(grant_line, "address=0x1000", "address=0xfffffffffffffff0"), "65536", "16"));

  EXPECT_EQ(grant.value().length, 16U);
}

}  // namespace
}  // namespace portcullis::service::exchange
