// SPDX-License-Identifier: BSD-3-Clause
//
// A small authority of one's own, in a folder: its certificate and key, certificates for servers
// and clients, and the list of what it has taken back. For trying QUIC out and for who has no
// other; any authority that issues X.509 certificates with subject alternative names does.
//
//   DIR/ca.pem  DIR/ca.key  DIR/revoked.pem      made by create()
//   NAME.pem  NAME.key                           made by issue()
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace portcullis::quic {

enum class Purpose : std::uint8_t { Server, Client };

struct CertificateWish {
  Purpose purpose = Purpose::Client;
  std::string common_name;         // for people; what it may is in `names` alone
  std::vector<std::string> names;  // "DNS:..", "IP:..", "URI:.."
  unsigned days = 365;
};

/// ECDSA over P-256. The folder is made; Busy when there is an authority in it, System.
[[nodiscard]] Result<void> create_authority(const std::filesystem::path& folder,
                                            const std::string& common_name, unsigned days);
/// Writes STEM.pem and STEM.key, which only the user may read. NotFound without an authority,
/// Busy when one of the two is there, InvalidArgument for a name that is none.
[[nodiscard]] Result<void> issue(const std::filesystem::path& folder, const CertificateWish& wish,
                                 const std::filesystem::path& stem);
/// Adds the certificate to the list. InvalidArgument for one that the authority has not issued;
/// nothing to do for one that is there already.
[[nodiscard]] Result<void> revoke(const std::filesystem::path& folder,
                                  const std::filesystem::path& certificate);

}  // namespace portcullis::quic
