// SPDX-License-Identifier: BSD-3-Clause
//
// A lease from whichever node of a fleet takes it: nodes are found in etcd, the likeliest first,
// and asked in turn until one grants. What each has said against it is in the error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "client/link.hpp"
#include "fleet/etcd.hpp"
#include "fleet/placement.hpp"

namespace portcullis::client {

struct Anywhere {
  fleet::EtcdOptions etcd = {};
  fleet::PlaceWanted wanted = {};
  /// For nodes of other hosts, without an address; none: this host's nodes alone.
  std::optional<QuicServer> quic = {};
};

/// A node, and how it is reached from here.
struct Site {
  std::string node = {};
  std::uint64_t incarnation = 0;  // a server of another one is not that node
  ServerAddress server = {};
};

struct Sites {
  std::vector<Site> sites = {};
  std::vector<fleet::NoPlace> others = {};  // and why they are not asked
};

/// DeviceFailed where endpoints are of two clusters.
[[nodiscard]] Result<Sites> find_sites(const Anywhere& where);

/// DeviceGone when what answers there is another server than the one that etcd has.
[[nodiscard]] Result<void> check_site(const Site& site, std::uint64_t incarnation);

/// One line, with a reason for each node.
[[nodiscard]] Error nobody_takes_it(const std::vector<fleet::NoPlace>& why, Errc code);

/// What the first site that does not refuse gives. NotFound where there is none to be asked.
template <class T>
[[nodiscard]] Result<T> at_first_that_takes_it(
    const Anywhere& where, const std::function<Result<T>(const Site&)>& attempt) {
  PORTCULLIS_TRY_ASSIGN(auto found, find_sites(where));
  std::vector<fleet::NoPlace> why;
  Errc code = Errc::NotFound;
  for (const Site& each : found.sites) {
    Result<T> taken = attempt(each);
    if (taken) return taken;
    // A tenant's or a node's limit says more than a node that is not there.
    if (code != Errc::OutOfResources) code = taken.error().code;
    why.push_back({.name = each.node, .why = taken.error().text});
  }
  why.insert(why.end(), found.others.begin(), found.others.end());
  return tl::unexpected<Error>(nobody_takes_it(why, code));
}

}  // namespace portcullis::client
