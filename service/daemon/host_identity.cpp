// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/host_identity.hpp"

#include <fmt/format.h>
#include <gnutls/crypto.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>

namespace portcullis::service::daemon {
namespace {

constexpr char kAt = '@';
constexpr std::size_t kIdDigits = 32;
constexpr std::size_t kShownBytes = 8;

bool is_digit(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

/// A file that says "uninitialized", as an image that was never booted has it, names no host.
std::string host_identity(const std::filesystem::path& machine_id) {
  std::string id;
  std::ifstream file(machine_id);
  if (!std::getline(file, id) || id.size() != kIdDigits ||
      !std::all_of(id.begin(), id.end(), is_digit))
    return {};
  constexpr std::string_view kKey = "portcullis journal";
  std::array<std::uint8_t, 32> hash{};
  if (gnutls_hmac_fast(GNUTLS_MAC_SHA256, kKey.data(), kKey.size(), id.data(), id.size(),
                       hash.data()) != 0)
    return {};
  std::string text;
  for (std::size_t i = 0; i < kShownBytes; ++i) text += fmt::format("{:02x}", hash.at(i));
  return text;
}

std::string function_on_host(std::string_view function, std::string_view host) {
  std::string name(function);
  if (!host.empty()) name.append(1, kAt).append(host);
  return name;
}

std::string_view function_alone(std::string_view function) noexcept {
  constexpr std::size_t kSuffix = 1 + 2 * kShownBytes;
  if (function.size() < kSuffix || function[function.size() - kSuffix] != kAt) return function;
  const std::string_view host = function.substr(function.size() - kSuffix + 1);
  return std::all_of(host.begin(), host.end(), is_digit)
             ? function.substr(0, function.size() - kSuffix)
             : function;
}

}  // namespace portcullis::service::daemon
