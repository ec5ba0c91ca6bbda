// SPDX-License-Identifier: BSD-3-Clause
#include "client/anywhere.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/entropy.hpp"

namespace portcullis::client {
namespace {

/// What it says of itself from afar, or its socket if that is on this host.
Result<ServerAddress> address_of(const fleet::Registration& about,
                                 const std::optional<QuicServer>& quic) {
  if (quic && !about.quic.empty()) {
    QuicServer server = *quic;
    server.address = about.quic;
    return ServerAddress{.quic = std::move(server)};
  }
  std::error_code error;
  if (!about.socket.empty() && std::filesystem::is_socket(about.socket, error))
    return ServerAddress{.socket = about.socket};
  if (about.quic.empty()) return fail(Errc::NotFound, "its socket is not here, and it has no QUIC");
  return fail(Errc::NotFound, "its socket is not here, and there is no certificate for QUIC");
}

}  // namespace

Result<Sites> find_sites(const Anywhere& where) {
  PORTCULLIS_TRY(fleet::check_labels(where.wanted.labels));
  PORTCULLIS_TRY(fleet::check_labels(where.wanted.prefers));
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t seed, random_number());
  PORTCULLIS_TRY_ASSIGN(const auto etcd, fleet::Etcd::create(where.etcd));
  PORTCULLIS_TRY_ASSIGN(auto places, fleet::find_places(*etcd, where.wanted, seed));
  // What another cluster's nodes have is not to be had through this one's answer.
  constexpr std::uint64_t kCompareMs = 500;
  PORTCULLIS_TRY(etcd->compare_endpoints(kCompareMs));
  Sites found;
  for (const fleet::Place& each : places.fit) {
    auto address = address_of(each.about, where.quic);
    if (address)
      found.sites.push_back({.node = each.name,
                             .incarnation = each.about.incarnation,
                             .server = *std::move(address)});
    else
      found.others.push_back({.name = each.name, .why = address.error().text});
  }
  found.others.insert(found.others.end(), places.unfit.begin(), places.unfit.end());
  return found;
}

Result<void> check_site(const Site& site, std::uint64_t incarnation) {
  if (incarnation == site.incarnation) return {};
  return fail(Errc::DeviceGone, fmt::format("another server answers at {}", site.server.text()));
}

Error nobody_takes_it(const std::vector<fleet::NoPlace>& why, Errc code) {
  std::string text = why.empty() ? "no node has joined the fleet" : "no node takes it";
  for (std::size_t i = 0; i < why.size(); ++i)
    text += fmt::format("{} {}: {}", i == 0 ? ":" : ";", why[i].name, why[i].why);
  return {.code = code, .text = std::move(text)};
}

}  // namespace portcullis::client
