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

std::optional<ConnectionId> Strangers::in_the_way_of(const std::string& host) const {
  const auto own = by_host_.find(host);
  if (own != by_host_.end() && own->second.size() >= kMostOfHost) return *own->second.begin();
  if (size() < kMost) return std::nullopt;
  const auto most = std::max_element(
      by_host_.begin(), by_host_.end(),
      [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
  return *most->second.begin();
}

void Strangers::add(const std::string& host, ConnectionId id) {
  host_of_[id] = host;
  by_host_[host].insert(id);
}

void Strangers::remove(ConnectionId id) {
  const auto at = host_of_.find(id);
  if (at == host_of_.end()) return;
  const auto own = by_host_.find(at->second);
  own->second.erase(id);
  if (own->second.empty()) by_host_.erase(own);
  host_of_.erase(at);
}

}  // namespace portcullis::service::daemon
