// SPDX-License-Identifier: BSD-3-Clause
//
// A folder with an authority, and what it has issued: for tests of whoever connects over QUIC.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "quic/credentials.hpp"
#include "quic/pki.hpp"

namespace portcullis::quic {

class AuthorityFolder {
 public:
  AuthorityFolder() {
    std::string name = testing::TempDir() + "portcullis-pki-XXXXXX";
    path_ = ::mkdtemp(name.data());
    EXPECT_TRUE(create_authority(path_, "test authority", 10));
  }
  AuthorityFolder(const AuthorityFolder&) = delete;
  AuthorityFolder& operator=(const AuthorityFolder&) = delete;
  ~AuthorityFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] CredentialFiles server(const std::string& stem = "server") const {
    return issued(stem, {.purpose = Purpose::Server,
                         .common_name = stem,
                         .names = {"DNS:localhost", "IP:127.0.0.1", "IP:::1"}});
  }
  [[nodiscard]] CredentialFiles client(const std::string& stem,
                                       const std::vector<std::string>& names) const {
    return issued(stem, {.common_name = stem, .names = names});
  }
  [[nodiscard]] CredentialFiles issued(const std::string& stem, const CertificateWish& wish) const {
    const auto made = issue(path_, wish, path_ / stem);
    EXPECT_TRUE(made) << made.error().text;
    return {.authority = path_ / "ca.pem",
            .certificate = path_ / (stem + ".pem"),
            .key = path_ / (stem + ".key"),
            .revoked = path_ / "revoked.pem"};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace portcullis::quic
