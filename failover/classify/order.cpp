// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/order.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace portcullis::failover {
namespace {

using Dump = std::vector<OutstandingRequest>;

bool is_waiting(const Dump& dump, const Group& group) {
  return dump[group.members.front()].contract.consumer == Consumer::Notified;
}

void leave(Classification& c) {
  if (c.advice != Advice::Repost && c.advice != Advice::OnlyIf) return;
  c = {};
  c.reason = kNoRule;
}

/// The first candidates of two groups whose consumers wait.
struct First {
  std::pair<std::size_t, std::size_t> least = {~std::size_t{0}, 0}, next = least;  // and group

  void note(std::size_t member, std::size_t group) {
    const std::pair one{member, group};
    if (one < least)
      next = std::exchange(least, one);
    else
      next = std::min(next, one);
  }
  [[nodiscard]] std::size_t of_others_than(std::size_t group) const {
    return least.second == group ? next.first : least.first;
  }
};

}  // namespace

std::vector<std::size_t> group_numbers(const std::vector<Group>& groups, std::size_t requests) {
  std::vector<std::size_t> numbers(requests);
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const unsigned member : groups[group].members) numbers[member] = group;
  return numbers;
}

void leave_open(const Dump& dump, const std::vector<Group>& groups, const Letters& letters,
                std::vector<Classification>& advice) {
  std::vector<std::size_t> open;  // messages that may be reposted
  for (const unsigned message : letters.unknown()) {
    const OutstandingRequest& r = dump[message];
    if (is_candidate(r) && (!notifies(*r.opcode) || r.evidence.is_any())) open.push_back(message);
  }
  if (open.empty()) return;
  const std::vector<std::size_t> group_of = group_numbers(groups, dump.size());
  First first;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::vector<unsigned>& members = groups[group].members;
    if (!is_waiting(dump, groups[group])) continue;
    const auto last = std::find_if(open.rbegin(), open.rend(),
                                   [&](std::size_t message) { return group_of[message] != group; });
    const auto candidate =
        std::ranges::find_if(members, [&](unsigned member) { return is_candidate(dump[member]); });
    if (candidate != members.end()) first.note(*candidate, group);
    for (const unsigned member : members)
      if (last != open.rend() && member <= *last && is_candidate(dump[member]))
        leave(advice[member]);
  }
  for (const std::size_t message : open)
    if (first.of_others_than(group_of[message]) < message) leave(advice[message]);
}

void order(std::vector<Classification>& advice, std::size_t of, std::size_t also) {
  std::vector<Requirement>& conditions = advice[of].conditions;
  auto found = std::ranges::find(conditions, Requirement::Kind::PostingOrder, &Requirement::kind);
  if (found == conditions.end())
    found = conditions.insert(conditions.begin(), {Requirement::Kind::PostingOrder, {of}});
  const auto place = std::ranges::lower_bound(found->requests, also);
  if (place == found->requests.end() || *place != also) found->requests.insert(place, also);
}

void order_messages(const Dump& dump, const std::vector<Group>& groups, const Letters& letters,
                    std::vector<Classification>& advice) {
  std::vector<unsigned> reposted;
  for (const unsigned message : letters.unknown())
    if (advice[message].advice == Advice::Repost) reposted.push_back(message);
  if (reposted.empty()) return;
  const std::vector<std::size_t> group_of = group_numbers(groups, dump.size());
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::vector<unsigned>& members = groups[group].members;
    if (!is_waiting(dump, groups[group])) continue;
    const auto first =
        std::find_if(std::ranges::upper_bound(reposted, members.front()), reposted.end(),
                     [&](unsigned message) { return group_of[message] != group; });
    if (first == reposted.end()) continue;
    for (const unsigned member : members) {
      const Advice own = advice[member].advice;
      // Where nobody else touches the bytes a READ sees the same before the message and behind it.
      const bool is_read_in_peace = dump[member].opcode == Opcode::Read &&
                                    dump[member].contract.environment == Environment::Quiet;
      if (is_read_in_peace || *first < member || (own != Advice::Repost && own != Advice::OnlyIf))
        continue;
      order(advice, member, *first);
      if (own == Advice::Repost) order(advice, *first, member);
    }
  }
}

void order_among_messages(const Dump& dump, const PostedOn& posted_on,
                          std::vector<Classification>& advice) {
  std::map<std::uint32_t, std::size_t> last;  // of each QP
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const OutstandingRequest& r = dump[i];
    if (!posted_on[i] || !r.opcode || !notifies(*r.opcode) || advice[i].advice != Advice::Repost)
      continue;
    const auto [before, is_first] = last.try_emplace(*posted_on[i], i);
    if (is_first) continue;
    order(advice, before->second, i);
    order(advice, i, before->second);
    before->second = i;
  }
}

}  // namespace portcullis::failover
