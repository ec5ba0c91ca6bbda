// SPDX-License-Identifier: BSD-3-Clause
#include "model/multicast_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "prm/enums.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t { kFull = 0xe00001, kNotAttached };

Mac mac_of(const Gid& gid) noexcept {
  constexpr Gid kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::size_t kMappedBytes = 12;
  constexpr std::uint8_t kLowBitsOfIpv4 = 0x7f;
  if (std::equal(gid.begin(), gid.begin() + kMappedBytes, kMapped.begin()))
    return {0x01,    0x00,   0x5e, static_cast<std::uint8_t>(gid[13] & kLowBitsOfIpv4),
            gid[14], gid[15]};
  return {0x33, 0x33, gid[12], gid[13], gid[14], gid[15]};
}

}  // namespace

Verdict MulticastGroups::attach(const Gid& gid, std::uint32_t qpn) {
  const auto found = groups_.find(gid);
  if (found == groups_.end()) {
    if (groups_.size() >= std::size_t{1} << kLogMax)
      return refuse(CommandStatus::NO_RES_ERR, kFull);
    groups_.emplace(gid, std::vector{qpn});
    return {};
  }
  std::vector<std::uint32_t>& members = found->second;
  if (std::ranges::find(members, qpn) != members.end()) return {};
  if (members.size() >= kMostMembers) return refuse(CommandStatus::NO_RES_ERR, kFull);
  members.push_back(qpn);
  return {};
}

Verdict MulticastGroups::detach(const Gid& gid, std::uint32_t qpn) {
  const auto found = groups_.find(gid);
  if (found == groups_.end() || std::erase(found->second, qpn) == 0)
    return refuse(CommandStatus::BAD_RES_ERR, kNotAttached);
  if (found->second.empty()) groups_.erase(found);
  return {};
}

void MulticastGroups::forget(std::uint32_t qpn) {
  for (auto group = groups_.begin(); group != groups_.end();) {
    std::erase(group->second, qpn);
    group = group->second.empty() ? groups_.erase(group) : std::next(group);
  }
}

const std::vector<std::uint32_t>* MulticastGroups::members(const Gid& gid) const noexcept {
  const auto found = groups_.find(gid);
  return found == groups_.end() ? nullptr : &found->second;
}

bool MulticastGroups::has_mac(const Mac& mac) const noexcept {
  return std::ranges::any_of(groups_,
                             [&mac](const auto& group) { return mac_of(group.first) == mac; });
}

}  // namespace portcullis::model
