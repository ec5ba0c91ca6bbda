// SPDX-License-Identifier: BSD-3-Clause
#include "quic/pki.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_fd.hpp"

namespace portcullis::quic {
namespace {

constexpr std::time_t kDayS = 86'400;
constexpr std::time_t kClocksDifferS = 300;  // a certificate counts from a little before it is made
constexpr unsigned kVersion3 = 3;            // with extensions (RFC 5280, 4.1.2.1)

template <class T, void (*kFree)(T)>
struct Freed {
  void operator()(T native) const noexcept { kFree(native); }
};
using Key = std::unique_ptr<std::remove_pointer_t<gnutls_x509_privkey_t>,
                            Freed<gnutls_x509_privkey_t, gnutls_x509_privkey_deinit>>;
using Certificate = std::unique_ptr<std::remove_pointer_t<gnutls_x509_crt_t>,
                                    Freed<gnutls_x509_crt_t, gnutls_x509_crt_deinit>>;
using List = std::unique_ptr<std::remove_pointer_t<gnutls_x509_crl_t>,
                             Freed<gnutls_x509_crl_t, gnutls_x509_crl_deinit>>;

struct Authority {
  Certificate certificate;
  Key key;
};

struct Paths {
  std::filesystem::path certificate, key, revoked;
};
Paths paths_in(const std::filesystem::path& folder) {
  return {.certificate = folder / "ca.pem",
          .key = folder / "ca.key",
          .revoked = folder / "revoked.pem"};
}

/// The first call of a chain that failed; those after it are not made.
class Steps {
 public:
  template <class Call>
  Steps& then(const char* what, Call call) {
    if (error_ >= 0) error_ = call();
    if (error_ < 0 && what_ == nullptr) what_ = what;
    return *this;
  }
  [[nodiscard]] Result<void> done() const {
    if (error_ >= 0) return {};
    return fail(Errc::System, std::string(what_) + ": " + gnutls_strerror(error_));
  }

 private:
  int error_ = 0;
  const char* what_ = nullptr;
};

tl::unexpected<Error> system_failure(const std::filesystem::path& file, int error) {
  return fail(Errc::System, file.string() + ": " + std::strerror(error));
}

Result<std::string> contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open())
    return fail(errno == ENOENT ? Errc::NotFound : Errc::System,
                file.string() + ": " + std::strerror(errno));
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

gnutls_datum_t datum(std::string& text) noexcept {
  return {.data = static_cast<unsigned char*>(static_cast<void*>(text.data())),
          .size = static_cast<unsigned>(text.size())};
}

/// What is there already stays: a key that somebody uses must not be lost. What cannot be written
/// whole is taken away again.
Result<void> write_new(const std::filesystem::path& file, const std::string& text, unsigned mode) {
  UniqueFd made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!made.is_open() && errno == EEXIST)
    return fail(Errc::Busy, file.string() + ": it is there already, and stays as it is");
  if (!made.is_open()) return system_failure(file, errno);
  errno = ENOSPC;  // what a write that is cut short leaves unsaid
  if (::write(made.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(made.get()) == 0)
    return {};
  const int error = errno;
  (void)::unlink(file.c_str());
  return system_failure(file, error);
}

/// Both or neither.
Result<void> write_pair(const std::filesystem::path& key, const std::string& key_text,
                        const std::filesystem::path& certificate, const std::string& text) {
  std::error_code error;
  if (std::filesystem::exists(certificate, error))
    return fail(Errc::Busy, certificate.string() + ": it is there already, and stays as it is");
  PORTCULLIS_TRY(write_new(key, key_text, 0600));
  auto written = write_new(certificate, text, 0644);
  if (!written) std::filesystem::remove(key, error);
  return written;
}

/// Two who add to the list at once must not lose one of the two.
Result<UniqueFd> lock(const std::filesystem::path& key) {
  UniqueFd file(::open(key.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX) != 0) return system_failure(key, errno);
  return file;
}

/// Whoever reads it finds the old one whole or the new one whole.
Result<void> replace(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path next = file.string() + ".new";
  std::error_code error;
  std::filesystem::remove(next, error);
  PORTCULLIS_TRY(write_new(next, text, 0644));
  std::filesystem::rename(next, file, error);
  if (error) return system_failure(file, error.value());
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  const UniqueFd held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return held.is_open() && ::fsync(held.get()) == 0 ? Result<void>()
                                                    : Result<void>(system_failure(folder, errno));
}

/// Calls `out` with a datum to be filled, and hands it over as text.
template <class Out>
Result<std::string> exported(Out out) {
  gnutls_datum_t pem{};
  const int error = out(&pem);
  if (error < 0) return fail(Errc::System, std::string("PEM: ") + gnutls_strerror(error));
  std::string text(static_cast<const char*>(static_cast<const void*>(pem.data)), pem.size);
  gnutls_free(pem.data);
  return text;
}

Result<Key> new_key() {
  gnutls_x509_privkey_t made = nullptr;
  if (gnutls_x509_privkey_init(&made) < 0) return fail(Errc::OutOfResources, "no memory is left");
  Key key(made);
  const int error = gnutls_x509_privkey_generate(
      made, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
  if (error < 0) return fail(Errc::System, std::string("a key: ") + gnutls_strerror(error));
  return key;
}

Result<Certificate> empty_certificate() {
  gnutls_x509_crt_t made = nullptr;
  if (gnutls_x509_crt_init(&made) < 0) return fail(Errc::OutOfResources, "no memory is left");
  return Certificate(made);
}

Result<Certificate> read_certificate(const std::filesystem::path& file) {
  PORTCULLIS_TRY_ASSIGN(auto text, contents(file));
  PORTCULLIS_TRY_ASSIGN(auto certificate, empty_certificate());
  const gnutls_datum_t pem = datum(text);
  const int error = gnutls_x509_crt_import(certificate.get(), &pem, GNUTLS_X509_FMT_PEM);
  if (error < 0) return fail(Errc::InvalidArgument, file.string() + ": " + gnutls_strerror(error));
  return certificate;
}

Result<Authority> open_authority(const std::filesystem::path& folder) {
  const Paths paths = paths_in(folder);
  Authority authority;
  PORTCULLIS_TRY_ASSIGN(authority.certificate, read_certificate(paths.certificate));
  PORTCULLIS_TRY_ASSIGN(auto text, contents(paths.key));
  gnutls_x509_privkey_t key = nullptr;
  if (gnutls_x509_privkey_init(&key) < 0) return fail(Errc::OutOfResources, "no memory is left");
  authority.key.reset(key);
  const gnutls_datum_t pem = datum(text);
  const int error = gnutls_x509_privkey_import(key, &pem, GNUTLS_X509_FMT_PEM);
  if (error < 0)
    return fail(Errc::InvalidArgument, paths.key.string() + ": " + gnutls_strerror(error));
  return authority;
}

/// What every certificate has, whoever signs it.
Result<void> fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key,
                  const std::string& common_name, unsigned days) {
  std::array<unsigned char, 16> serial{};
  if (gnutls_rnd(GNUTLS_RND_NONCE, serial.data(), serial.size()) < 0)
    return fail(Errc::System, "the system has no random numbers");
  serial[0] = static_cast<unsigned char>((serial[0] & 0x7f) | 0x40);  // positive, 16 bytes
  const std::time_t now = std::time(nullptr);
  std::array<unsigned char, 20> id{};
  std::size_t id_bytes = id.size();
  return Steps()
      .then("version", [&] { return gnutls_x509_crt_set_version(certificate, kVersion3); })
      .then("serial",
            [&] { return gnutls_x509_crt_set_serial(certificate, serial.data(), serial.size()); })
      .then("name",
            [&] {
              return gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                   common_name.data(),
                                                   static_cast<unsigned>(common_name.size()));
            })
      .then("time",
            [&] { return gnutls_x509_crt_set_activation_time(certificate, now - kClocksDifferS); })
      .then("time",
            [&] {
              return gnutls_x509_crt_set_expiration_time(
                  certificate, now + static_cast<std::time_t>(days) * kDayS);
            })
      .then("key", [&] { return gnutls_x509_crt_set_key(certificate, key); })
      .then("key id",
            [&] { return gnutls_x509_crt_get_key_id(certificate, 0, id.data(), &id_bytes); })
      .then("key id",
            [&] { return gnutls_x509_crt_set_subject_key_id(certificate, id.data(), id_bytes); })
      .done();
}

/// Of letters, digits and hyphens between dots (RFC 1123, 2.1), perhaps behind "*."; what ends in a
/// number means to be an address, and is none.
bool is_dns_name(std::string_view name) {
  constexpr std::size_t kMost = 253;
  constexpr std::size_t kMostOfLabel = 63;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_of_a_label = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  if (name.size() > kMost) return false;
  if (name.starts_with("*.")) name.remove_prefix(2);
  for (;;) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || label.size() > kMostOfLabel || label.front() == '-' ||
        label.back() == '-' || !std::all_of(label.begin(), label.end(), is_of_a_label))
      return false;
    if (label.size() == name.size()) return !std::all_of(label.begin(), label.end(), is_digit);
    name.remove_prefix(label.size() + 1);
  }
}

Result<void> add_name(gnutls_x509_crt_t certificate, const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  const std::string value = colon == std::string::npos ? std::string() : name.substr(colon + 1);
  const auto add = [&](gnutls_x509_subject_alt_name_t type, const void* data, std::size_t bytes) {
    return gnutls_x509_crt_set_subject_alt_name(certificate, type, data,
                                                static_cast<unsigned>(bytes), GNUTLS_FSAN_APPEND);
  };
  std::array<unsigned char, 16> address{};
  int error = GNUTLS_E_INVALID_REQUEST;
  if (kind == "DNS" && is_dns_name(value))
    error = add(GNUTLS_SAN_DNSNAME, value.data(), value.size());
  if (kind == "URI" && !value.empty()) error = add(GNUTLS_SAN_URI, value.data(), value.size());
  if (kind == "IP" && ::inet_pton(AF_INET, value.c_str(), address.data()) == 1)
    error = add(GNUTLS_SAN_IPADDRESS, address.data(), 4);
  else if (kind == "IP" && ::inet_pton(AF_INET6, value.c_str(), address.data()) == 1)
    error = add(GNUTLS_SAN_IPADDRESS, address.data(), address.size());
  if (error >= 0) return {};
  return fail(Errc::InvalidArgument,
              "name '" + name +
                  "': DNS:NAME (as of a host: db1.example), IP:ADDRESS or URI:TEXT is accepted");
}

/// Nobody believes a certificate for longer than its authority.
Result<void> end_with(gnutls_x509_crt_t certificate, gnutls_x509_crt_t authority) {
  const std::time_t end = gnutls_x509_crt_get_expiration_time(authority);
  if (gnutls_x509_crt_get_expiration_time(certificate) <= end) return {};
  return Steps()
      .then("time", [&] { return gnutls_x509_crt_set_expiration_time(certificate, end); })
      .done();
}

Result<void> sign(gnutls_x509_crt_t certificate, const Authority& authority) {
  std::array<unsigned char, 64> id{};
  std::size_t bytes = id.size();
  return Steps()
      .then("authority's key id",
            [&] {
              return gnutls_x509_crt_get_subject_key_id(authority.certificate.get(), id.data(),
                                                        &bytes, nullptr);
            })
      .then("authority's key id",
            [&] { return gnutls_x509_crt_set_authority_key_id(certificate, id.data(), bytes); })
      .then("signature",
            [&] {
              return gnutls_x509_crt_sign2(certificate, authority.certificate.get(),
                                           authority.key.get(), GNUTLS_DIG_SHA256, 0);
            })
      .done();
}

Result<std::string> pem_of(gnutls_x509_crt_t certificate) {
  return exported([&](gnutls_datum_t* out) {
    return gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, out);
  });
}
Result<std::string> pem_of(gnutls_x509_privkey_t key) {
  return exported([&](gnutls_datum_t* out) {
    return gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, out);
  });
}

Result<List> read_list(const std::filesystem::path& file) {
  gnutls_x509_crl_t made = nullptr;
  if (gnutls_x509_crl_init(&made) < 0) return fail(Errc::OutOfResources, "no memory is left");
  List list(made);
  auto text = contents(file);
  if (!text && text.error().code == Errc::NotFound) return list;
  if (!text) return tl::unexpected<Error>(text.error());
  const gnutls_datum_t pem = datum(*text);
  const int error = gnutls_x509_crl_import(made, &pem, GNUTLS_X509_FMT_PEM);
  if (error < 0) return fail(Errc::InvalidArgument, file.string() + ": " + gnutls_strerror(error));
  return list;
}

/// Signs the list anew, with the certificate in it if there is one, and puts it in its place.
Result<void> write_list(const std::filesystem::path& folder, const Authority& authority,
                        gnutls_x509_crt_t more) {
  const Paths paths = paths_in(folder);
  PORTCULLIS_TRY_ASSIGN(const auto list, read_list(paths.revoked));
  const std::time_t now = std::time(nullptr);
  // As long as the authority's own: who forgets to renew it must not lock everybody out.
  const std::time_t until = gnutls_x509_crt_get_expiration_time(authority.certificate.get());
  PORTCULLIS_TRY(
      Steps()
          .then("version", [&] { return gnutls_x509_crl_set_version(list.get(), 2); })
          .then("time",
                [&] { return gnutls_x509_crl_set_this_update(list.get(), now - kClocksDifferS); })
          .then("time", [&] { return gnutls_x509_crl_set_next_update(list.get(), until); })
          .then(
              "serial",
              [&] { return more == nullptr ? 0 : gnutls_x509_crl_set_crt(list.get(), more, now); })
          .then("signature",
                [&] {
                  return gnutls_x509_crl_sign2(list.get(), authority.certificate.get(),
                                               authority.key.get(), GNUTLS_DIG_SHA256, 0);
                })
          .done());
  PORTCULLIS_TRY_ASSIGN(const auto pem, exported([&](gnutls_datum_t* out) {
                          return gnutls_x509_crl_export2(list.get(), GNUTLS_X509_FMT_PEM, out);
                        }));
  return replace(paths.revoked, pem);
}

}  // namespace

Result<void> create_authority(const std::filesystem::path& folder, const std::string& common_name,
                              unsigned days) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return system_failure(folder, error.value());
  const Paths paths = paths_in(folder);
  Authority authority;
  PORTCULLIS_TRY_ASSIGN(authority.key, new_key());
  PORTCULLIS_TRY_ASSIGN(authority.certificate, empty_certificate());
  gnutls_x509_crt_t certificate = authority.certificate.get();
  PORTCULLIS_TRY(fill(certificate, authority.key.get(), common_name, days));
  PORTCULLIS_TRY(Steps()
                     .then("authority",
                           [&] { return gnutls_x509_crt_set_basic_constraints(certificate, 1, 0); })
                     .then("use",
                           [&] {
                             return gnutls_x509_crt_set_key_usage(
                                 certificate, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
                           })
                     .done());
  PORTCULLIS_TRY(sign(certificate, authority));
  PORTCULLIS_TRY_ASSIGN(const auto key, pem_of(authority.key.get()));
  PORTCULLIS_TRY_ASSIGN(const auto pem, pem_of(certificate));
  PORTCULLIS_TRY(write_pair(paths.key, key, paths.certificate, pem));
  return write_list(folder, authority, nullptr);
}

Result<void> issue(const std::filesystem::path& folder, const CertificateWish& wish,
                   const std::filesystem::path& stem) {
  PORTCULLIS_TRY_ASSIGN(const auto authority, open_authority(folder));
  PORTCULLIS_TRY_ASSIGN(const auto own_key, new_key());
  PORTCULLIS_TRY_ASSIGN(const auto made, empty_certificate());
  gnutls_x509_crt_t certificate = made.get();
  PORTCULLIS_TRY(fill(certificate, own_key.get(), wish.common_name, wish.days));
  PORTCULLIS_TRY(end_with(certificate, authority.certificate.get()));
  for (const std::string& name : wish.names) PORTCULLIS_TRY(add_name(certificate, name));
  const char* purpose =
      wish.purpose == Purpose::Server ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT;
  PORTCULLIS_TRY(
      Steps()
          .then("authority",
                [&] { return gnutls_x509_crt_set_basic_constraints(certificate, 0, -1); })
          .then("use",
                [&] {
                  return gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
                })
          .then("purpose",
                [&] { return gnutls_x509_crt_set_key_purpose_oid(certificate, purpose, 0); })
          .done());
  PORTCULLIS_TRY(sign(certificate, authority));
  PORTCULLIS_TRY_ASSIGN(const auto key, pem_of(own_key.get()));
  PORTCULLIS_TRY_ASSIGN(const auto pem, pem_of(certificate));
  return write_pair(stem.string() + ".key", key, stem.string() + ".pem", pem);
}

Result<void> revoke(const std::filesystem::path& folder, const std::filesystem::path& certificate) {
  PORTCULLIS_TRY_ASSIGN(const auto authority, open_authority(folder));
  PORTCULLIS_TRY_ASSIGN(const auto taken, read_certificate(certificate));
  if (gnutls_x509_crt_equals(taken.get(), authority.certificate.get()) != 0)
    return fail(Errc::InvalidArgument, certificate.string() +
                                           ": the authority itself, which no list of its own takes "
                                           "back; a certificate that it has issued is accepted");
  if (gnutls_x509_crt_check_issuer(taken.get(), authority.certificate.get()) != 1)
    return fail(Errc::InvalidArgument, certificate.string() + ": the authority in " +
                                           folder.string() + " has not issued it");
  PORTCULLIS_TRY_ASSIGN(const auto one_at_a_time, lock(paths_in(folder).key));
  PORTCULLIS_TRY_ASSIGN(const auto list, read_list(paths_in(folder).revoked));
  gnutls_x509_crl_t lists = list.get();
  if (gnutls_x509_crt_check_revocation(taken.get(), &lists, 1) == 1) return {};
  return write_list(folder, authority, taken.get());
}

}  // namespace portcullis::quic
