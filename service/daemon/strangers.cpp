// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/strangers.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace portcullis::service::daemon {

bool Strangers::may_begin(const std::string& host, std::uint64_t now_ns) {
  if (now_ns - second_ns_ >= kNsPerSecond) {
    second_ns_ = now_ns;
    begun_.clear();
  }
  return ++begun_[host] <= kMostASecond;
}

Strangers::Place Strangers::place_for(const std::string& host, std::uint64_t now_ns) const {
  auto crowd = by_host_.find(host);
  const bool has_its_share = crowd != by_host_.end() && crowd->second.size() >= kMostOfHost;
  if (!has_its_share && size() < kMost) return {.is_there = true, .instead_of = {}};
  if (!has_its_share)
    crowd = std::max_element(
        by_host_.begin(), by_host_.end(),
        [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
  const ConnectionId oldest = *crowd->second.begin();
  if (now_ns - all_.at(oldest).since_ns < kTheirTimeNs) return {};
  return {.is_there = true, .instead_of = oldest};
}

void Strangers::add(const std::string& host, ConnectionId id, std::uint64_t now_ns) {
  all_[id] = {.host = host, .since_ns = now_ns};
  by_host_[host].insert(id);
}

void Strangers::remove(ConnectionId id) {
  const auto at = all_.find(id);
  if (at == all_.end()) return;
  const auto own = by_host_.find(at->second.host);
  own->second.erase(id);
  if (own->second.empty()) by_host_.erase(own);
  all_.erase(at);
}

}  // namespace portcullis::service::daemon
