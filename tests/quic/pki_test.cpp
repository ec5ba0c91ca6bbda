// SPDX-License-Identifier: BSD-3-Clause
#include "quic/pki.hpp"

#include <gmock/gmock.h>
#include <gnutls/x509.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "tests/quic/authority_folder.hpp"

namespace portcullis::quic {
namespace {

using std::filesystem::perms;
using testing::HasSubstr;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Pki, Keys_AreTheirUsersAlone) {
  const AuthorityFolder authority;
  const auto files = authority.server();
  for (const auto& key : {authority.path() / "ca.key", files.key})
    EXPECT_EQ(std::filesystem::status(key).permissions(), perms::owner_read | perms::owner_write);
}

TEST(Pki, AuthorityThatIsThere_StaysAsItIs) {
  const AuthorityFolder authority;
  const std::string key = text_of(authority.path() / "ca.key");
  const auto again = create_authority(authority.path(), "another", 10);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::Busy);
  EXPECT_EQ(text_of(authority.path() / "ca.key"), key);
}

TEST(Pki, CertificateThatIsThere_StaysAsItIs) {
  const AuthorityFolder authority;
  const auto files = authority.server();
  const std::string key = text_of(files.key);
  const auto again = issue(authority.path(), {.common_name = "server", .names = {"DNS:other"}},
                           authority.path() / "server");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::Busy);
  EXPECT_EQ(text_of(files.key), key);
}

TEST(Pki, CertificateThatIsThereWithoutItsKey_LeavesNoHalf) {
  const AuthorityFolder authority;
  const auto files = authority.server();
  std::filesystem::remove(files.key);
  EXPECT_FALSE(issue(authority.path(), {.common_name = "server", .names = {"DNS:other"}},
                     authority.path() / "server"));
  EXPECT_FALSE(std::filesystem::exists(files.key));
}

TEST(Pki, ManyTakenBackAtOnce_AllAreOnTheList) {
  const AuthorityFolder authority;
  const auto server = Credentials::load(authority.server()).value();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    const std::string stem = "c" + std::to_string(i);
    const auto files = authority.client(stem, {"URI:portcullis:1:client"});
    threads.emplace_back(
        [&authority, files] { EXPECT_TRUE(revoke(authority.path(), files.certificate)); });
  }
  for (auto& each : threads) each.join();
  std::size_t taken = 0;
  for (int i = 0; i < 8; ++i) {
    const auto again = text_of(authority.path() / "revoked.pem");
    EXPECT_TRUE(revoke(authority.path(), authority.path() / ("c" + std::to_string(i) + ".pem")));
    taken += text_of(authority.path() / "revoked.pem") == again ? 1 : 0;  // it was there
  }
  EXPECT_EQ(taken, 8u);
}

TEST(Pki, FolderWithoutAnAuthority_IsNamed) {
  const auto made = issue("/nonexistent", {.common_name = "x", .names = {"DNS:x"}}, "/tmp/x");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::NotFound);
  EXPECT_THAT(made.error().text, HasSubstr("/nonexistent/ca.pem"));
}

TEST(Pki, NameOfNoKindThatIsKnown_Refused) {
  const AuthorityFolder authority;
  for (const char* name : {"localhost", "IP:localhost", "DNS:", "EMAIL:a@b", ""}) {
    const auto made =
        issue(authority.path(), {.common_name = "x", .names = {name}}, authority.path() / "x");
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, Errc::InvalidArgument) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(authority.path() / "x.key"));
}

TEST(Pki, NameThatNoHostHas_Refused) {
  const AuthorityFolder authority;
  for (const std::string& name :
       {std::string("db1.example:7810"), std::string("a b"), std::string("a/b"),
        std::string("DNS:x"), std::string("1.2.3.4.5"), std::string("a..b"), std::string("-a.b"),
        std::string("a."), std::string("*"), std::string(70, 'a'), std::string("caf\xc3\xa9")}) {
    const auto made = issue(authority.path(), {.common_name = "x", .names = {"DNS:" + name}},
                            authority.path() / "x");
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, Errc::InvalidArgument) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(authority.path() / "x.key"));
  EXPECT_TRUE(issue(authority.path(),
                    {.common_name = "x", .names = {"DNS:*.example", "DNS:3com.Example-1.x2"}},
                    authority.path() / "x"));
}

std::time_t end_of(const std::filesystem::path& file) {
  std::string text = text_of(file);
  gnutls_x509_crt_t certificate = nullptr;
  EXPECT_EQ(gnutls_x509_crt_init(&certificate), 0);
  const gnutls_datum_t pem{.data = static_cast<unsigned char*>(static_cast<void*>(text.data())),
                           .size = static_cast<unsigned>(text.size())};
  EXPECT_EQ(gnutls_x509_crt_import(certificate, &pem, GNUTLS_X509_FMT_PEM), 0);
  const std::time_t end = gnutls_x509_crt_get_expiration_time(certificate);
  gnutls_x509_crt_deinit(certificate);
  return end;
}

TEST(Pki, CertificateThatWouldOutliveItsAuthority_EndsWithIt) {
  const AuthorityFolder authority;  // of ten days
  const auto longer =
      authority.issued("long", {.common_name = "x", .names = {"DNS:x"}, .days = 99});
  const auto shorter =
      authority.issued("short", {.common_name = "x", .names = {"DNS:x"}, .days = 1});
  EXPECT_EQ(end_of(longer.certificate), end_of(authority.path() / "ca.pem"));
  EXPECT_LT(end_of(shorter.certificate), end_of(authority.path() / "ca.pem"));
}

TEST(Pki, AuthorityItself_IsNotTakenBack) {
  const AuthorityFolder authority;
  const auto taken = revoke(authority.path(), authority.path() / "ca.pem");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::InvalidArgument);
  EXPECT_THAT(taken.error().text, HasSubstr("the authority itself"));
}

TEST(Pki, WhatWasTakenBack_IsOnTheListAndTheRestIsNot) {
  const AuthorityFolder authority;
  const auto one = authority.client("one", {"URI:portcullis:1:client"});
  const auto two = authority.client("two", {"URI:portcullis:2:client"});
  ASSERT_TRUE(revoke(authority.path(), one.certificate));
  ASSERT_TRUE(revoke(authority.path(), one.certificate));  // once more changes nothing
  const std::string list = text_of(authority.path() / "revoked.pem");
  ASSERT_TRUE(revoke(authority.path(), two.certificate));
  EXPECT_NE(text_of(authority.path() / "revoked.pem"), list);
}

TEST(Pki, CertificateOfAnotherAuthority_IsNotTakenBack) {
  const AuthorityFolder authority;
  const AuthorityFolder other;
  const auto taken = revoke(authority.path(), other.server().certificate);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Errc::InvalidArgument);
}

}  // namespace
}  // namespace portcullis::quic
