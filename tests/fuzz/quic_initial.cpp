// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fuzz/quic_initial.hpp"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace portcullis::fuzz {
namespace {

// RFC 9001, 5.2.
constexpr std::array<std::uint8_t, 20> kSalt{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34,
                                             0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8,
                                             0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kNumberBytes = 2;

gnutls_datum_t datum(std::span<const std::uint8_t> bytes) {
  return {.data = const_cast<unsigned char*>(bytes.data()),  // GnuTLS reads it alone
          .size = static_cast<unsigned>(bytes.size())};
}

void must(int error) {
  if (error < 0) std::abort();
}

/// HKDF-Expand-Label of TLS 1.3 (RFC 8446, 7.1), without a context.
template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> expand(std::span<const std::uint8_t> secret,
                                        std::string_view label) {
  Octets info{0, static_cast<std::uint8_t>(kBytes)};
  const std::string_view prefix = "tls13 ";
  info.push_back(static_cast<std::uint8_t>(prefix.size() + label.size()));
  info.insert(info.end(), prefix.begin(), prefix.end());
  info.insert(info.end(), label.begin(), label.end());
  info.push_back(0);
  std::array<std::uint8_t, kBytes> made{};
  const gnutls_datum_t key = datum(secret);
  const gnutls_datum_t what = datum(info);
  must(gnutls_hkdf_expand(GNUTLS_MAC_SHA256, &key, &what, made.data(), made.size()));
  return made;
}

struct Keys {
  std::array<std::uint8_t, 16> key{};
  std::array<std::uint8_t, 12> iv{};
  std::array<std::uint8_t, 16> header{};
};

Keys client_keys(std::span<const std::uint8_t> dcid) {
  std::array<std::uint8_t, 32> initial{};
  const gnutls_datum_t from = datum(dcid);
  const gnutls_datum_t salt = datum(kSalt);
  must(gnutls_hkdf_extract(GNUTLS_MAC_SHA256, &from, &salt, initial.data()));
  const auto client = expand<32>(initial, "client in");
  return {.key = expand<16>(client, "quic key"),
          .iv = expand<12>(client, "quic iv"),
          .header = expand<16>(client, "quic hp")};
}

/// One block of AES-128, which is CBC's first over an IV of zeros.
std::array<std::uint8_t, 16> mask_of(const Keys& keys, std::span<const std::uint8_t> sample) {
  std::array<std::uint8_t, 16> mask{};
  std::copy_n(sample.begin(), mask.size(), mask.begin());
  std::array<std::uint8_t, 16> zeros{};
  gnutls_cipher_hd_t cipher = nullptr;
  const gnutls_datum_t key = datum(keys.header);
  const gnutls_datum_t iv = datum(zeros);
  must(gnutls_cipher_init(&cipher, GNUTLS_CIPHER_AES_128_CBC, &key, &iv));
  must(gnutls_cipher_encrypt(cipher, mask.data(), mask.size()));
  gnutls_cipher_deinit(cipher);
  return mask;
}

/// A variable-length integer in two bytes (RFC 9000, 16).
void put_varint(Octets& to, std::size_t value) {
  to.push_back(static_cast<std::uint8_t>(0x40 | (value >> 8 & 0x3f)));
  to.push_back(static_cast<std::uint8_t>(value));
}
void put_id(Octets& to, const Octets& id) {
  to.push_back(static_cast<std::uint8_t>(id.size()));
  to.insert(to.end(), id.begin(), id.end());
}

Octets header_of(const Initial& initial, std::size_t payload_bytes) {
  Octets header{0xc0 | (kNumberBytes - 1), 0, 0, 0, 1};
  put_id(header, initial.dcid);
  put_id(header, initial.scid);
  put_varint(header, initial.token.size());
  header.insert(header.end(), initial.token.begin(), initial.token.end());
  put_varint(header, kNumberBytes + payload_bytes + kTagBytes);
  header.push_back(static_cast<std::uint8_t>(initial.packet_number >> 8));
  header.push_back(static_cast<std::uint8_t>(initial.packet_number));
  return header;
}

}  // namespace

Octets protect(const Initial& initial) {
  Octets payload = initial.frames;
  // So much that there is something to sample, and as much as is asked for.
  const std::size_t around = header_of(initial, 0).size() + kTagBytes;
  const std::size_t wanted = initial.least_bytes > around ? initial.least_bytes - around : 0;
  payload.resize(std::max({payload.size(), wanted, std::size_t{4}}));
  Octets packet = header_of(initial, payload.size());
  const std::size_t header_bytes = packet.size();
  const Keys keys = client_keys(initial.dcid);
  auto nonce = keys.iv;
  nonce[10] ^= static_cast<std::uint8_t>(initial.packet_number >> 8);
  nonce[11] ^= static_cast<std::uint8_t>(initial.packet_number);
  gnutls_aead_cipher_hd_t cipher = nullptr;
  const gnutls_datum_t key = datum(keys.key);
  must(gnutls_aead_cipher_init(&cipher, GNUTLS_CIPHER_AES_128_GCM, &key));
  packet.resize(header_bytes + payload.size() + kTagBytes);
  std::size_t made = payload.size() + kTagBytes;
  must(gnutls_aead_cipher_encrypt(cipher, nonce.data(), nonce.size(), packet.data(), header_bytes,
                                  kTagBytes, payload.data(), payload.size(),
                                  packet.data() + header_bytes, &made));
  gnutls_aead_cipher_deinit(cipher);
  const std::size_t number_at = header_bytes - kNumberBytes;
  const auto mask = mask_of(keys, std::span(packet).subspan(number_at + 4));
  packet[0] ^= static_cast<std::uint8_t>(mask[0] & 0x0f);
  for (std::size_t i = 0; i < kNumberBytes; ++i) packet[number_at + i] ^= mask[i + 1];
  return packet;
}

Retry read_retry(std::span<const std::uint8_t> packet) {
  constexpr std::size_t kFixed = 5;  // first byte and version
  const auto take = [&packet](std::size_t count) {
    const auto part = packet.first(std::min(count, packet.size()));
    packet = packet.subspan(part.size());
    return Octets(part.begin(), part.end());
  };
  const Octets fixed = take(kFixed);
  if (fixed.size() < kFixed || (fixed[0] & 0xf0) != 0xf0) return {};
  const Octets dcid_length = take(1);
  if (!dcid_length.empty()) (void)take(dcid_length[0]);
  const Octets scid_length = take(1);
  if (scid_length.empty()) return {};
  Retry retry{.scid = take(scid_length[0]), .token = {}};
  if (packet.size() <= kTagBytes) return {};
  retry.token = take(packet.size() - kTagBytes);
  return retry;
}

}  // namespace portcullis::fuzz
