// SPDX-License-Identifier: BSD-3-Clause
//
// Who one is on QUIC, and whom one believes: a certificate with its key, the authority that issues
// those of the other side, and a list of what it has taken back. From files, as GnuTLS reads them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gnutls/gnutls.h>

#include "base/result.hpp"

namespace portcullis::quic {

struct CredentialFiles {
  std::filesystem::path authority;               // certificates that are believed, PEM
  std::filesystem::path certificate;             // one's own, and what leads to its authority, PEM
  std::filesystem::path key;                     // of the certificate, PEM; nobody else's to read
  std::optional<std::filesystem::path> revoked;  // the authority's list, PEM

  bool operator==(const CredentialFiles&) const = default;
};

/// What the certificate of the other side says, once it has been verified.
struct Peer {
  std::vector<std::string> names;     // subject alternative names: "URI:..", "DNS:..", "IP:.."
  std::string serial;                 // hexadecimal
  std::vector<std::string> purposes;  // object identifiers
  std::vector<std::vector<std::byte>> chain;  // DER, its own first

  /// It says so itself: a certificate without purposes is for none.
  [[nodiscard]] bool is_for(const char* purpose) const;
};

class Credentials {
 public:
  /// NotFound or System for a file that cannot be read, InvalidArgument for one that is not what it
  /// should be: each names the file. A key that everybody may read is refused.
  [[nodiscard]] static Result<std::shared_ptr<const Credentials>> load(
      const CredentialFiles& files);

  [[nodiscard]] gnutls_certificate_credentials_t native() const noexcept { return own_.get(); }
  /// Why a client is not to be believed, now: issued by nobody who is, taken back, run out, or for
  /// another purpose. Empty when it is.
  [[nodiscard]] std::string objection_to_client(const Peer& peer) const;
  /// A secret that is the same for everyone who has the key and for nobody else: `label` tells
  /// secrets of several purposes apart.
  [[nodiscard]] Result<std::array<std::byte, 32>> secret(const std::string& label) const;

 private:
  struct Free {
    void operator()(gnutls_certificate_credentials_t credentials) const noexcept {
      gnutls_certificate_free_credentials(credentials);
    }
  };
  using Own = std::unique_ptr<std::remove_pointer_t<gnutls_certificate_credentials_t>, Free>;

  Credentials() = default;
  [[nodiscard]] Result<void> read(const CredentialFiles& files);
  [[nodiscard]] Result<void> read_revoked(const std::filesystem::path& file);

  Own own_;
  std::vector<std::byte> key_;
  std::vector<std::byte> authority_;  // PEM
};

/// What a verification found (gnutls_certificate_status_t), in GnuTLS's words, on one line.
[[nodiscard]] std::string verification_text(unsigned status);
/// Of the side that a session of TLS has verified. Malformed when it cannot be read, or has more
/// names than are looked at.
[[nodiscard]] Result<Peer> peer_of(gnutls_session_t session);

}  // namespace portcullis::quic
