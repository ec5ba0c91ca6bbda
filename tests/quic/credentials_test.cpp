// SPDX-License-Identifier: BSD-3-Clause
#include "quic/credentials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/quic/authority_folder.hpp"

namespace portcullis::quic {
namespace {

using testing::HasSubstr;

class CredentialsTest : public testing::Test {
 protected:
  Error refused(const CredentialFiles& files) {
    const auto loaded = Credentials::load(files);
    EXPECT_FALSE(loaded);
    return loaded ? Error{Errc::System, "it was taken", std::nullopt} : loaded.error();
  }
  void put(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file) << text;
  }

  AuthorityFolder authority_;
  CredentialFiles files_ = authority_.server();
};

TEST_F(CredentialsTest, FilesOfOneAuthority_AreTaken) {
  EXPECT_TRUE(Credentials::load(files_));
  files_.revoked.reset();
  EXPECT_TRUE(Credentials::load(files_));
}

TEST_F(CredentialsTest, FileThatIsNotThere_IsNamed) {
  for (auto member :
       {&CredentialFiles::authority, &CredentialFiles::certificate, &CredentialFiles::key}) {
    CredentialFiles files = files_;
    files.*member = "/nonexistent/file";
    const Error error = refused(files);
    EXPECT_EQ(error.code, Errc::NotFound);
    EXPECT_THAT(error.text, HasSubstr("/nonexistent/file"));
  }
}

TEST_F(CredentialsTest, FileThatIsNoPem_IsNamed) {
  const auto nonsense = authority_.path() / "nonsense";
  put(nonsense, "no certificate is in here\n");
  for (auto member :
       {&CredentialFiles::authority, &CredentialFiles::certificate, &CredentialFiles::key}) {
    CredentialFiles files = files_;
    files.*member = nonsense;
    std::filesystem::permissions(nonsense, std::filesystem::perms::owner_read);
    EXPECT_THAT(refused(files).text, HasSubstr(nonsense.string()));
  }
  files_.revoked = nonsense;
  EXPECT_THAT(refused(files_).text, HasSubstr("revoked " + nonsense.string()));
}

TEST_F(CredentialsTest, ListOfAnotherAuthority_Refused) {
  const AuthorityFolder other;
  files_.revoked = other.path() / "revoked.pem";
  const Error error = refused(files_);
  EXPECT_EQ(error.code, Errc::InvalidArgument);
  EXPECT_THAT(error.text, HasSubstr("revoked " + files_.revoked->string()));
}

TEST_F(CredentialsTest, KeyOfAnotherCertificate_Refused) {
  files_.key = authority_.server("other").key;
  EXPECT_THAT(refused(files_).text, HasSubstr("is not that of"));
}

TEST_F(CredentialsTest, CertificateOfAnAuthority_RefusedWithWhatItLacks) {
  files_.certificate = authority_.path() / "ca.pem";
  files_.key = authority_.path() / "ca.key";
  const Error error = refused(files_);
  EXPECT_EQ(error.code, Errc::InvalidArgument);
  EXPECT_THAT(error.text, HasSubstr("ca.pem: its key usage has no digitalSignature"));
}

TEST_F(CredentialsTest, KeyThatEverybodyMayRead_Refused) {
  std::filesystem::permissions(files_.key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(refused(files_).text, HasSubstr("everybody may read it"));
}

TEST_F(CredentialsTest, Secret_IsTheSameAgainAndAnotherForAnotherLabelOrKey) {
  const auto one = Credentials::load(files_).value();
  const auto again = Credentials::load(files_).value();
  const auto other = Credentials::load(authority_.server("other")).value();
  EXPECT_EQ(one->secret("a").value(), again->secret("a").value());
  EXPECT_NE(one->secret("a").value(), one->secret("b").value());
  EXPECT_NE(one->secret("a").value(), other->secret("a").value());
}

}  // namespace
}  // namespace portcullis::quic
