// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fleet/directory.hpp"

namespace portcullis::fleet::simulation {

/// By what etcd has at this moment, which no server knows.
void Judge::asked(std::size_t node, std::uint64_t incarnation) {
  Store& store = cluster_.store();
  const auto* entry = store.find(session_key(fmt::format("node-{}", node)), store.revision());
  if (entry != nullptr && read_registration(entry->value)->incarnation == incarnation) return;
  world_.violation(fmt::format("node-{} grants without a session", node));
}

void Judge::begins(std::size_t node, const HardwareLease& lease) {
  hardware_.at(node)[lease.id] = lease;
  note_answers(node, lease);
  operations_.begins(name_of(node, lease.id), world_.now_ns());
  check(node, lease, "is granted by the hardware");
  check_quota(lease.tenant);
}

void Judge::told(std::size_t node, const HardwareLease& lease) {
  ++counts_.granted;
  note_answers(node, lease);
  operations_.told(name_of(node, lease.id), world_.now_ns());
  check(node, lease, "is told to its client");
}

void Judge::check(std::size_t node, const HardwareLease& lease, const char* what) {
  const auto at = answered_.find({node, lease.tenant});
  if (at == answered_.end()) return;
  const Answered& answered = at->second;
  if (!answered.is_above(lease)) return;
  world_.violation(fmt::format(
      "node-{}: lease {} of tenant {}, of epoch {} and asked for {}, {}; fence {} is answered",
      node, lease.id, lease.tenant, lease.epoch,
      lease.asked_ns < answered.raised_ns ? "before" : "after", what, answered.epoch));
}

/// That a lease may not be there any more, by each answer that there was before.
void Judge::note_answers(std::size_t node, const HardwareLease& lease) {
  for (const Answered& each : all_answered_[{node, lease.tenant}])
    if (each.is_above(lease))
      operations_.over(name_of(node, lease.id), lease.asked_ns, each.told_ns);
}

void Judge::ends(std::size_t node, std::uint64_t id) {
  if (hardware_.at(node).erase(id) != 0) operations_.lands(name_of(node, id), world_.now_ns());
}

void Judge::reset(std::size_t node) {
  for (const auto& [id, lease] : hardware_.at(node))
    operations_.lands(name_of(node, id), world_.now_ns());
  hardware_.at(node).clear();
}

void Judge::judge_the_whole() {
  for (std::size_t node = 0; node < hardware_.size(); ++node)
    for (const auto& [id, lease] : hardware_[node])
      operations_.lands(name_of(node, id), world_.now_ns());
  for (const std::string& each : operations_.wrong()) world_.violation(each);
}

std::string Judge::name_of(std::size_t node, std::uint64_t lease) {
  return fmt::format("node-{}/{}", node, lease);
}

/// Quotas are only ever raised here, so the one that is there now is the most that there was.
void Judge::check_quota(std::uint64_t tenant) {
  Store& store = cluster_.store();
  const auto* entry = store.find(quota_key(tenant), store.revision());
  if (entry == nullptr) return;
  const std::uint64_t most = read_quota(entry->value)->most.leases;
  std::uint64_t sum = 0;
  for (const Hardware& each : hardware_)
    sum += static_cast<std::uint64_t>(
        std::count_if(each.begin(), each.end(),
                      [tenant](const auto& lease) { return lease.second.tenant == tenant; }));
  counts_.most_of_a_quota = std::max(counts_.most_of_a_quota, sum);
  if (sum > most)
    world_.violation(fmt::format("tenant {} has {} leases, and a quota of {}", tenant, sum, most));
}

void Judge::raised(std::uint64_t asked_ns, std::uint64_t tenant, std::uint64_t epoch) {
  ++counts_.raised;
  for (const Raised& each : raised_[tenant])
    if (each.epoch == epoch || (each.answered_ns < asked_ns && each.epoch > epoch))
      world_.violation(
          fmt::format("tenant {} has epoch {} after epoch {}", tenant, epoch, each.epoch));
  operations_.raised(tenant, epoch, asked_ns, world_.now_ns());
  raised_[tenant].push_back({.asked_ns = asked_ns, .answered_ns = world_.now_ns(), .epoch = epoch});
}

void Judge::answered(std::size_t node, std::uint64_t tenant, std::uint64_t epoch,
                     Standing standing) {
  ++counts_.answers.at(static_cast<std::size_t>(standing));
  world_.say(fmt::format("node-{}, tenant {}, epoch {}: answer {}", node, tenant, epoch,
                         static_cast<int>(standing)));
  if (standing == Standing::Unreachable) return;
  const std::uint64_t raised_ns = cluster_.ns_of(epoch);
  const Answered now{.epoch = epoch,
                     .raised_ns = raised_ns,
                     .lets_unproved_be = standing == Standing::Fenced,
                     .told_ns = world_.now_ns()};
  all_answered_[{node, tenant}].push_back(now);
  Answered& answered = answered_[{node, tenant}];
  if (raised_ns >= answered.raised_ns) answered = now;
  for (const auto& [id, lease] : hardware_.at(node)) {
    if (lease.tenant != tenant) continue;
    if (now.is_above(lease)) operations_.over(name_of(node, id), lease.asked_ns, now.told_ns);
    check(node, lease, "may be written into");
  }
}

void Judge::Counts::add(const Counts& other) {
  granted += other.granted;
  raised += other.raised;
  for (std::size_t i = 0; i < answers.size(); ++i) answers.at(i) += other.answers.at(i);
  most_of_a_quota = std::max(most_of_a_quota, other.most_of_a_quota);
}

}  // namespace portcullis::fleet::simulation
