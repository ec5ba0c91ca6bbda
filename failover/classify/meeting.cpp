// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace portcullis::failover {
namespace {

using Dump = std::vector<OutstandingRequest>;

constexpr std::uint64_t kOnePacket = 256;  // IBV_MTU_256, the smallest: longer may be several

/// The bytes [first, end - 1] of a request; end may be 2^64, so it is kept as the last byte.
struct Bytes {
  std::uint64_t first = 0, last = 0;
};

bool may_write(const OutstandingRequest& r) {
  return r.opcode && (carries_data(*r.opcode) || is_atomic(*r.opcode));
}
bool touches_memory(const OutstandingRequest& r) {
  if (!r.opcode || *r.opcode == Opcode::Send) return false;
  return is_atomic(*r.opcode) || r.length.value_or(1) != 0;
}
/// Nothing when the dump does not say where, or where no memory can be.
std::optional<Bytes> bytes_of(const OutstandingRequest& r) {
  if (!r.remote_addr || !r.length || *r.length == 0) return std::nullopt;
  if (*r.length - 1 > std::numeric_limits<std::uint64_t>::max() - *r.remote_addr)
    return std::nullopt;
  return Bytes{*r.remote_addr, *r.remote_addr + (*r.length - 1)};
}
/// Whether it was, or may have been, executed in part.
bool takes_part(const OutstandingRequest& r) {
  if (r.outcome != Outcome::Refused) return true;
  return r.opcode && carries_data(*r.opcode) && r.length.value_or(kOnePacket + 1) > kOnePacket;
}

bool is_any(const OutstandingRequest& r) { return !r.opcode && r.side_effect == SideEffect::Any; }

enum class Touch : std::uint8_t { Apart, Meet, Unclear };

Touch touch(const OutstandingRequest& a, const OutstandingRequest& b) {
  if (!takes_part(a) || !takes_part(b)) return Touch::Apart;
  if (is_any(a) || is_any(b))
    return (is_any(a) || touches_memory(a)) && (is_any(b) || touches_memory(b)) ? Touch::Unclear
                                                                                : Touch::Apart;
  if (!touches_memory(a) || !touches_memory(b)) return Touch::Apart;
  // Two READs tell of each other what others wrote between them.
  const bool is_quiet =
      a.contract.environment == Environment::Quiet && b.contract.environment == Environment::Quiet;
  if (!may_write(a) && !may_write(b) && is_quiet) return Touch::Apart;
  const auto of_a = bytes_of(a);
  const auto of_b = bytes_of(b);
  if (!of_a || !of_b) return a.rkey == b.rkey ? Touch::Unclear : Touch::Apart;
  if (of_a->last < of_b->first || of_b->last < of_a->first) return Touch::Apart;
  return a.rkey == b.rkey ? Touch::Meet : Touch::Unclear;
}

/// Each two requests that may not be apart, the earlier one first: where both say their bytes, only
/// those whose bytes overlap. False once `stop` is true.
template <class Visit>
bool for_each_near(const Dump& dump, const std::atomic<bool>* stop, const Visit& visit) {
  std::vector<unsigned> anywhere, somewhere;  // by whether their bytes are known
  for (unsigned i = 0; i < dump.size(); ++i) {
    if (!is_any(dump[i]) && !touches_memory(dump[i])) continue;
    (is_any(dump[i]) || !bytes_of(dump[i]) ? anywhere : somewhere).push_back(i);
  }
  const auto is_stopped = [&] { return stop != nullptr && stop->load(); };
  for (const unsigned one : anywhere) {
    if (is_stopped()) return false;
    for (unsigned other = 0; other < dump.size(); ++other)
      if (other != one) visit(std::min(one, other), std::max(one, other));
  }
  std::ranges::sort(somewhere, {}, [&](unsigned i) { return bytes_of(dump[i])->first; });
  std::vector<unsigned> open;  // whose bytes reach as far as those of the next one
  for (const unsigned next : somewhere) {
    if (is_stopped()) return false;
    const std::uint64_t first = bytes_of(dump[next])->first;
    std::erase_if(open, [&](unsigned i) { return bytes_of(dump[i])->last < first; });
    for (const unsigned other : open) visit(std::min(next, other), std::max(next, other));
    open.push_back(next);
  }
  return !is_stopped();
}

/// Runs of bytes that each member covers as a whole or not at all, by their first byte.
struct Cells {
  std::vector<std::uint64_t> starts;
};

Cells cells_of(const Dump& dump, const std::vector<unsigned>& members) {
  std::set<std::uint64_t> starts;
  std::uint64_t greatest = 0;
  std::set<std::uint64_t> ends;
  for (const unsigned member : members) {
    const auto bytes = bytes_of(dump[member]);
    if (!bytes) continue;
    starts.insert(bytes->first);
    greatest = std::max(greatest, bytes->last);
    if (bytes->last != std::numeric_limits<std::uint64_t>::max()) ends.insert(bytes->last + 1);
  }
  for (const std::uint64_t end : ends)
    if (end <= greatest) starts.insert(end);
  return {{starts.begin(), starts.end()}};
}

/// Where the cells of `bytes` begin and how many they are.
std::pair<unsigned, unsigned> place_of(const Cells& cells, const Bytes& bytes) {
  unsigned first = 0, count = 0;
  for (unsigned i = 0; i < cells.starts.size(); ++i) {
    if (cells.starts[i] < bytes.first) ++first;
    if (cells.starts[i] >= bytes.first && cells.starts[i] <= bytes.last) ++count;
  }
  return {first, count};
}

bool notifies(const OutstandingRequest& r) { return r.opcode && notifies(*r.opcode); }

bool is_message(const OutstandingRequest& r) {
  if (!takes_part(r)) return false;
  if (!r.opcode) return r.side_effect != SideEffect::None;
  if (notifies(r)) return true;
  // A flag elsewhere that the receiver may watch.
  return may_write(r) && touches_memory(r) && r.contract.environment != Environment::Quiet &&
         r.contract.consumer == Consumer::Polls;
}

/// It was not executed in a way that tells the receiver something, nor will it be.
bool is_over(const OutstandingRequest& r) {
  const Part most = r.evidence.most;
  return r.evidence.is_queue_fenced &&
         (most == Part::Nothing || (notifies(r) && most != Part::All));
}

bool waits_for_message(const Contract& contract) {
  return contract.environment == Environment::Reuse && contract.consumer == Consumer::Notified;
}

/// The first later requests that let the receiver go on, where it waits for one.
struct Messages {
  std::optional<unsigned> foreign;  // of another QP, which no order holds back
  std::optional<unsigned> own;      // of a member's QP
  std::optional<unsigned> second;   // of another member's
};
Messages messages_of(const Dump& dump, const std::vector<unsigned>& members,
                     const Letters& letters) {
  if (!waits_for_message(dump[members.front()].contract)) return {};
  const auto shares_queue = [&](const OutstandingRequest& r) {
    return r.qp_num && std::any_of(members.begin(), members.end(), [&](unsigned member) {
             return dump[member].qp_num == r.qp_num;
           });
  };
  Messages found;
  const std::vector<unsigned>& alive = letters.alive();
  auto at =
      static_cast<std::size_t>(std::ranges::upper_bound(alive, members.front()) - alive.begin());
  while (at < alive.size() && !(found.own && (found.foreign || found.second))) {
    const unsigned i = alive[at];
    const bool is_member = std::ranges::find(members, i) != members.end();
    at = is_member ? at + 1 : letters.next_queue(at);  // the next ones of its QP say no more
    if (is_member) continue;
    const bool is_own = shares_queue(dump[i]);
    std::optional<unsigned>& first = is_own ? found.own : found.foreign;
    if (!first)
      first = i;
    else if (is_own && !found.second && dump[*first].qp_num != dump[i].qp_num)
      found.second = i;
  }
  return found;
}

/// A story has one message, and a receiver that reuses words of no atomic.
std::string obstacle_of_messages(const Dump& dump, const std::vector<unsigned>& members,
                                 const Letters& letters) {
  const Messages messages = messages_of(dump, members, letters);
  const std::optional<unsigned> other = messages.foreign ? messages.foreign : messages.second;
  if (messages.own && other)
    return fmt::format(
        "both work_requests[{}] and [{}], of two QPs, let the receiver reuse these bytes, and one "
        "message is explored",
        *messages.own, *other);
  if (!messages.foreign && !messages.own) return {};
  for (const unsigned member : members)
    if (dump[member].opcode && is_atomic(*dump[member].opcode))
      return fmt::format(
          "work_requests[{}] lets the receiver reuse the word of the atomic work_requests[{}], "
          "which is not modelled",
          messages.foreign ? *messages.foreign : *messages.own, member);
  return {};
}

std::string obstacle_of(const Dump& dump, const std::vector<unsigned>& members) {
  if (members.size() > kMaxStoryRequests)
    return fmt::format("{} requests meet in these bytes, at most {} are explored together",
                       members.size(), kMaxStoryRequests);
  const Cells cells = cells_of(dump, members);
  if (cells.starts.size() > kMaxStoryCells)
    return fmt::format(
        "the requests that meet here cut the bytes into {} pieces, at most {} are "
        "explored together",
        cells.starts.size(), kMaxStoryCells);
  for (const unsigned member : members) {
    const OutstandingRequest& r = dump[member];
    const auto bytes = bytes_of(r);
    if (bytes && is_atomic(*r.opcode) && place_of(cells, *bytes).second != 1)
      return fmt::format(
          "a request touches a part of the word of the atomic work_requests[{}], "
          "which is not modelled",
          r.index);
  }
  return {};
}

}  // namespace

Letters::Letters(const Dump& dump) {
  for (unsigned i = 0; i < dump.size(); ++i) {
    if (!is_message(dump[i])) continue;
    if (dump[i].outcome == Outcome::Unknown) unknown_.push_back(i);
    if (!is_over(dump[i])) alive_.push_back(i);
  }
  next_queue_.assign(alive_.size(), alive_.size());
  for (std::size_t at = alive_.size(); at-- > 1;) {
    const auto& before = dump[alive_[at - 1]].qp_num;
    const bool is_same = before && before == dump[alive_[at]].qp_num;
    next_queue_[at - 1] = is_same ? next_queue_[at] : at;
  }
}

void close_behind_fences(Dump& dump) {
  std::set<std::uint32_t> stopped;
  for (OutstandingRequest& r : dump) {
    if (!r.qp_num) continue;
    if (stopped.contains(*r.qp_num) && r.evidence.most == Part::Nothing)
      r.evidence.is_queue_fenced = true;
    // What has no bytes has no key that is looked at.
    const bool has_bytes = r.opcode && *r.opcode != Opcode::Send &&
                           (is_atomic(*r.opcode) || r.length.value_or(0) != 0);
    if (has_bytes && r.contract.is_fenced && r.outcome == Outcome::Unknown &&
        r.evidence.most != Part::All)
      stopped.insert(*r.qp_num);
  }
}

std::vector<std::optional<std::size_t>> settle_outcomes(Dump& dump) {
  std::vector<std::optional<std::size_t>> contradictions(dump.size());
  std::map<std::uint32_t, std::size_t> completed;  // the last one seen from the end, by QP
  for (std::size_t i = dump.size(); i-- > 0;) {
    OutstandingRequest& r = dump[i];
    if (is_out_of_order(r)) r.qp_num.reset();
    if (!r.qp_num) continue;
    const auto later = completed.find(*r.qp_num);
    if (r.outcome == Outcome::Completed) {
      completed[*r.qp_num] = i;
    } else if (later != completed.end() && r.status_name.empty()) {
      r.outcome = Outcome::Completed;  // unsignaled: completions of a send queue keep its order
    } else if (later != completed.end()) {
      r.outcome = Outcome::Unmodelled;
      r.qp_num.reset();  // what it says of order is not so
      contradictions[i] = later->second;
    }
  }
  return contradictions;
}

std::optional<std::vector<Group>> groups_of(const Dump& dump, const Letters& letters,
                                            const std::atomic<bool>* stop) {
  const auto is_stopped = [&] { return stop != nullptr && stop->load(); };
  std::vector<unsigned> leader(dump.size());
  std::iota(leader.begin(), leader.end(), 0U);
  const auto leader_of = [&](unsigned i) {
    while (leader[i] != i) i = leader[i] = leader[leader[i]];
    return i;
  };
  // Of each: the last one of which the dump does not say whether it touches the same memory.
  std::vector<std::optional<unsigned>> unclear(dump.size());
  const bool is_whole = for_each_near(dump, stop, [&](unsigned a, unsigned b) {
    const Touch how = touch(dump[a], dump[b]);
    if (how == Touch::Apart) return;
    const unsigned of_a = leader_of(a), of_b = leader_of(b);
    leader[std::max(of_a, of_b)] = std::min(of_a, of_b);
    if (how != Touch::Unclear) return;
    unclear[a] = std::max(unclear[a].value_or(b), b);
    unclear[b] = std::max(unclear[b].value_or(a), a);
  });
  if (!is_whole) return std::nullopt;
  std::map<unsigned, Group> by_leader;
  for (unsigned i = 0; i < dump.size(); ++i) {
    Group& group = by_leader[leader_of(i)];
    group.members.push_back(i);
    group.is_unclear = group.is_unclear || unclear[i].has_value();
  }
  std::vector<Group> groups;
  for (auto& [number, group] : by_leader) {
    if (is_stopped()) return std::nullopt;
    if (group.is_unclear) {
      const unsigned last = *std::find_if(group.members.rbegin(), group.members.rend(),
                                          [&](unsigned i) { return unclear[i].has_value(); });
      group.obstacle = fmt::format(
          "whether work_requests[{}] and [{}] touch the same memory the dump does not say",
          *unclear[last], last);
    }
    if (group.obstacle.empty() && group.members.size() > 1)
      group.obstacle = obstacle_of(dump, group.members);
    group.is_of_reads =
        !group.obstacle.empty() && std::ranges::all_of(group.members, [&](unsigned i) {
          return dump[i].opcode == Opcode::Read;
        });
    if (group.obstacle.empty() || group.is_of_reads) {
      std::string of_messages = obstacle_of_messages(dump, group.members, letters);
      group.is_unclear = !of_messages.empty();
      group.is_of_reads = group.is_of_reads && of_messages.empty();
      if (!of_messages.empty()) group.obstacle = std::move(of_messages);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<ReadBehind> answered_read_behind(const Dump& dump,
                                               const std::vector<unsigned>& members,
                                               unsigned read) {
  std::optional<ReadBehind> found;
  for (const unsigned other : members) {
    if (other <= read || dump[other].outcome != Outcome::Completed) continue;
    const Touch how = touch(dump[read], dump[other]);
    if (how == Touch::Meet) return ReadBehind{other, true};
    if (how == Touch::Unclear && !found) found = ReadBehind{other, false};
  }
  return found;
}

Story story_of(const Dump& dump, const std::vector<unsigned>& members, const Letters& letters) {
  Story story;
  story.contract = dump[members.front()].contract;
  const Cells cells = cells_of(dump, members);
  const bool has_long = std::any_of(members.begin(), members.end(), [&](unsigned member) {
    const OutstandingRequest& r = dump[member];
    return r.opcode && carries_data(*r.opcode) && r.length.value_or(kOnePacket + 1) > kOnePacket;
  });
  // One run of bytes in several packets: each of them lies in two cells.
  const unsigned scale = has_long && cells.starts.size() <= 1 ? 2 : 1;
  story.cells = std::max(1U, static_cast<unsigned>(cells.starts.size())) * scale;
  std::map<std::uint32_t, unsigned> queues;
  unsigned next_queue = 0;
  const auto queue_of = [&](const OutstandingRequest& r) {
    if (!r.qp_num) return next_queue++;
    const auto [found, is_new] = queues.try_emplace(*r.qp_num, next_queue);
    if (is_new) ++next_queue;
    return found->second;
  };
  const Messages messages = messages_of(dump, members, letters);
  const std::optional<unsigned> message = messages.foreign ? messages.foreign : messages.own;
  std::vector<unsigned> parts = members;
  if (message) parts.push_back(*message);
  std::sort(parts.begin(), parts.end());  // PSNs follow the posting order
  for (const unsigned number : parts) {
    const OutstandingRequest& r = dump[number];
    StoryRequest part;
    part.request = r;
    part.is_message = message == number;
    part.queue = queue_of(r);
    const auto bytes = bytes_of(r);
    if (touches_memory(r) && bytes && !part.is_message)
      std::tie(part.cell, part.cells) = place_of(cells, *bytes);
    part.cells *= part.is_message || !touches_memory(r) ? 1 : scale;
    story.requests.push_back(part);
  }
  return story;
}

}  // namespace portcullis::failover
