// SPDX-License-Identifier: BSD-3-Clause
#include "quic/credentials.hpp"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace portcullis::quic {
namespace {

using Certificate =
    std::unique_ptr<std::remove_pointer_t<gnutls_x509_crt_t>, decltype(&gnutls_x509_crt_deinit)>;

gnutls_datum_t datum(std::span<const std::byte> bytes) noexcept {
  // GnuTLS reads what it is given through a pointer that is not const.
  return {.data = static_cast<unsigned char*>(
              const_cast<void*>(static_cast<const void*>(bytes.data()))),
          .size = static_cast<unsigned>(bytes.size())};
}

tl::unexpected<Error> no_good(const char* what, const std::filesystem::path& file, int error) {
  return fail(Errc::InvalidArgument,
              std::string(what) + " " + file.string() + ": " + gnutls_strerror(error));
}

Result<std::vector<std::byte>> contents(const char* what, const std::filesystem::path& file) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open())
    return fail(errno == ENOENT ? Errc::NotFound : Errc::System,
                std::string(what) + " " + file.string() + ": " + std::strerror(errno));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.empty() || text.size() > kMostBytes)
    return fail(Errc::InvalidArgument, std::string(what) + " " + file.string() + ": " +
                                           std::to_string(text.size()) +
                                           " bytes; a file in PEM is accepted");
  const auto* bytes = static_cast<const std::byte*>(static_cast<const void*>(text.data()));
  return std::vector<std::byte>(bytes, bytes + text.size());
}

Result<void> check_private(const std::filesystem::path& key) {
  struct stat found {};
  if (::stat(key.c_str(), &found) != 0) return {};  // whoever reads it says why it cannot
  if ((found.st_mode & (S_IROTH | S_IWOTH)) == 0) return {};
  return fail(Errc::InvalidArgument,
              "key " + key.string() + ": everybody may read it; mode 0600 or 0640 is accepted");
}

std::string hex(std::span<const unsigned char> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char each : bytes) {
    text += kDigits[each >> 4];
    text += kDigits[each & 0xf];
  }
  return text;
}

std::string address_text(std::span<const unsigned char> bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if (bytes.size() != 4 && bytes.size() != 16) return "?";
  return ::inet_ntop(family, bytes.data(), text.data(), text.size()) == nullptr ? "?" : text.data();
}

std::string lower(std::string text) {
  for (char& each : text)
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  return text;
}

/// In `nth` place; none behind the last one, empty for a kind that is not looked at.
Result<std::optional<std::string>> alternative_name(gnutls_x509_crt_t certificate, unsigned nth) {
  std::array<unsigned char, 1024> bytes{};
  std::size_t size = bytes.size();
  const int kind =
      gnutls_x509_crt_get_subject_alt_name(certificate, nth, bytes.data(), &size, nullptr);
  if (kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) return std::nullopt;
  if (kind == GNUTLS_E_SHORT_MEMORY_BUFFER)
    return fail(Errc::Malformed, "its certificate has a name of more than 1024 bytes");
  if (kind < 0) return std::string();  // of a kind that GnuTLS does not know
  const auto read = std::span(bytes).first(size);
  const std::string text(read.begin(), read.end());
  if (kind == GNUTLS_SAN_URI) return "URI:" + text;
  if (kind == GNUTLS_SAN_DNSNAME) return "DNS:" + lower(text);
  if (kind == GNUTLS_SAN_IPADDRESS) return "IP:" + address_text(read);
  return std::string();
}

Result<Certificate> import_certificate(const gnutls_datum_t& der) {
  gnutls_x509_crt_t made = nullptr;
  if (gnutls_x509_crt_init(&made) != 0) return fail(Errc::OutOfResources, "no memory is left");
  Certificate certificate(made, &gnutls_x509_crt_deinit);
  const int error = gnutls_x509_crt_import(made, &der, GNUTLS_X509_FMT_DER);
  if (error != 0)
    return fail(Errc::Malformed, std::string("a certificate: ") + gnutls_strerror(error));
  return certificate;
}

/// TLS 1.3 has whoever shows a certificate sign with its key. An authority's own may sign nothing
/// but certificates, and GnuTLS would not say so before the handshake.
Result<void> check_signs(const std::filesystem::path& file, const gnutls_datum_t& pem) {
  gnutls_x509_crt_t made = nullptr;
  if (gnutls_x509_crt_init(&made) != 0) return fail(Errc::OutOfResources, "no memory is left");
  const Certificate certificate(made, &gnutls_x509_crt_deinit);
  unsigned usage = 0;
  if (gnutls_x509_crt_import(made, &pem, GNUTLS_X509_FMT_PEM) != 0 ||
      gnutls_x509_crt_get_key_usage(made, &usage, nullptr) < 0 ||  // none is every one
      (usage & GNUTLS_KEY_DIGITAL_SIGNATURE) != 0)
    return {};
  return fail(Errc::InvalidArgument,
              "certificate " + file.string() +
                  ": its key usage has no digitalSignature, as an authority's has none; one for a "
                  "client or a server is accepted");
}

/// A list of somebody else would be taken without a word, and take nothing back.
Result<void> check_issuer(const std::filesystem::path& file, const gnutls_datum_t& pem,
                          const gnutls_datum_t& authority) {
  gnutls_x509_crl_t* lists = nullptr;
  unsigned count = 0;
  if (const int error = gnutls_x509_crl_list_import2(&lists, &count, &pem, GNUTLS_X509_FMT_PEM, 0);
      error < 0)
    return no_good("revoked", file, error);
  gnutls_x509_crt_t* issuers = nullptr;
  unsigned issuer_count = 0;
  int worst =
      gnutls_x509_crt_list_import2(&issuers, &issuer_count, &authority, GNUTLS_X509_FMT_PEM, 0);
  unsigned status = 0;
  for (unsigned i = 0; i < count && worst >= 0 && status == 0; ++i)
    worst = gnutls_x509_crl_verify(lists[i], issuers, issuer_count, 0, &status);
  for (unsigned i = 0; i < count; ++i) gnutls_x509_crl_deinit(lists[i]);
  for (unsigned i = 0; i < issuer_count; ++i) gnutls_x509_crt_deinit(issuers[i]);
  gnutls_free(lists);
  gnutls_free(issuers);
  if (worst < 0) return no_good("revoked", file, worst);
  if (status == 0) return {};
  return fail(Errc::InvalidArgument, "revoked " + file.string() + ": " + verification_text(status));
}

}  // namespace

std::string verification_text(unsigned status) {
  gnutls_datum_t text{};
  if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) != 0)
    return "it could not be verified";
  std::string why(static_cast<const char*>(static_cast<const void*>(text.data)), text.size);
  gnutls_free(text.data);
  while (!why.empty() && (why.back() == ' ' || why.back() == '\n' || why.back() == '\0'))
    why.pop_back();
  return why;
}

bool Peer::is_for(const char* purpose) const {
  return std::find(purposes.begin(), purposes.end(), purpose) != purposes.end();
}

Result<std::shared_ptr<const Credentials>> Credentials::load(const CredentialFiles& files) {
  std::shared_ptr<Credentials> made(new Credentials);
  PORTCULLIS_TRY(made->read(files));
  return std::shared_ptr<const Credentials>(std::move(made));
}

Result<void> Credentials::read(const CredentialFiles& files) {
  gnutls_certificate_credentials_t made = nullptr;
  if (gnutls_certificate_allocate_credentials(&made) != 0)
    return fail(Errc::OutOfResources, "no memory is left");
  own_.reset(made);
  PORTCULLIS_TRY_ASSIGN(authority_, contents("authority", files.authority));
  const gnutls_datum_t authority = datum(authority_);
  if (const int count =
          gnutls_certificate_set_x509_trust_mem(made, &authority, GNUTLS_X509_FMT_PEM);
      count <= 0)
    return no_good("authority", files.authority,
                   count == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : count);
  PORTCULLIS_TRY_ASSIGN(const auto certificate, contents("certificate", files.certificate));
  PORTCULLIS_TRY(check_private(files.key));
  PORTCULLIS_TRY_ASSIGN(key_, contents("key", files.key));
  const gnutls_datum_t chain = datum(certificate);
  const gnutls_datum_t key = datum(key_);
  PORTCULLIS_TRY(check_signs(files.certificate, chain));
  if (const int error =
          gnutls_certificate_set_x509_key_mem(made, &chain, &key, GNUTLS_X509_FMT_PEM);
      error < 0) {
    return error == GNUTLS_E_CERTIFICATE_KEY_MISMATCH
               ? fail(Errc::InvalidArgument,
                      "key " + files.key.string() + " is not that of " + files.certificate.string())
               : no_good("certificate",
                         files.certificate.string() + " or key " + files.key.string(), error);
  }
  return files.revoked ? read_revoked(*files.revoked) : Result<void>();
}

Result<void> Credentials::read_revoked(const std::filesystem::path& file) {
  PORTCULLIS_TRY_ASSIGN(const auto revoked, contents("revoked", file));
  const gnutls_datum_t list = datum(revoked);
  PORTCULLIS_TRY(check_issuer(file, list, datum(authority_)));
  const int count = gnutls_certificate_set_x509_crl_mem(own_.get(), &list, GNUTLS_X509_FMT_PEM);
  if (count < 0) return no_good("revoked", file, count);
  return {};
}

std::string Credentials::objection_to_client(const Peer& peer) const {
  if (!peer.is_for(GNUTLS_KP_TLS_WWW_CLIENT)) return "it is no client's certificate";
  std::vector<Certificate> owned;
  std::vector<gnutls_x509_crt_t> chain;
  for (const auto& each : peer.chain) {
    auto certificate = import_certificate(datum(each));
    if (!certificate) return certificate.error().text;
    chain.push_back(certificate->get());
    owned.push_back(*std::move(certificate));
  }
  gnutls_x509_trust_list_t trusted = nullptr;
  gnutls_certificate_get_trust_list(own_.get(), &trusted);
  unsigned status = 0;
  const int error = gnutls_x509_trust_list_verify_crt2(
      trusted, chain.data(), static_cast<unsigned>(chain.size()), nullptr, 0, 0, &status, nullptr);
  if (error < 0) return gnutls_strerror(error);
  return status == 0 ? "" : verification_text(status);
}

Result<std::array<std::byte, 32>> Credentials::secret(const std::string& label) const {
  std::array<std::byte, 32> made{};
  const int error = gnutls_hmac_fast(GNUTLS_MAC_SHA256, key_.data(), key_.size(), label.data(),
                                     label.size(), made.data());
  if (error != 0) return fail(Errc::System, std::string("HMAC: ") + gnutls_strerror(error));
  return made;
}

Result<Peer> peer_of(gnutls_session_t session) {
  unsigned count = 0;
  const gnutls_datum_t* chain =
      session == nullptr ? nullptr : gnutls_certificate_get_peers(session, &count);
  if (chain == nullptr || count == 0) return fail(Errc::Malformed, "it has shown no certificate");
  PORTCULLIS_TRY_ASSIGN(const auto certificate, import_certificate(chain[0]));
  Peer peer;
  for (unsigned i = 0; i < count; ++i) {
    const auto* der = static_cast<const std::byte*>(static_cast<const void*>(chain[i].data));
    peer.chain.emplace_back(der, der + chain[i].size);
  }
  std::array<unsigned char, 64> serial{};
  std::size_t size = serial.size();
  if (gnutls_x509_crt_get_serial(certificate.get(), serial.data(), &size) == 0)
    peer.serial = hex(std::span(serial).first(size));
  std::array<char, 128> purpose{};
  size = purpose.size();
  for (unsigned nth = 0; gnutls_x509_crt_get_key_purpose_oid(certificate.get(), nth, purpose.data(),
                                                             &size, nullptr) == 0;
       ++nth, size = purpose.size())
    peer.purposes.emplace_back(purpose.data());
  constexpr unsigned kMostNames = 64;
  for (unsigned nth = 0;; ++nth) {
    PORTCULLIS_TRY_ASSIGN(auto name, alternative_name(certificate.get(), nth));
    if (!name) return peer;
    if (nth == kMostNames) return fail(Errc::Malformed, "its certificate has more than 64 names");
    if (!name->empty()) peer.names.push_back(*std::move(name));
  }
}

}  // namespace portcullis::quic
