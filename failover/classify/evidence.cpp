// SPDX-License-Identifier: BSD-3-Clause
#include "failover/classify/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace portcullis::failover {
namespace {

using Dump = std::vector<OutstandingRequest>;

/// Places of a QP: 2i where i requests are executed, 2i + 1 where the next one is in part.
struct Places {
  std::uint64_t least = 0, most = 0;
};
std::uint64_t behind(std::size_t at) { return 2 * at + 2; }

std::uint32_t distance(std::uint32_t from, std::uint32_t to) {
  return (to - from) & (kPsnCount - 1);
}
bool notifies(const OutstandingRequest& r) {
  return r.opcode == Opcode::Send || r.opcode == Opcode::WriteWithImm ||
         (!r.opcode && r.side_effect == SideEffect::Message);
}

/// PSNs that a request takes, where that is known.
std::optional<std::uint32_t> packets_of(const OutstandingRequest& r,
                                        std::optional<std::uint32_t> path_mtu) {
  constexpr std::uint32_t kLeastMtu = 256;  // IBV_MTU_256
  if (!r.opcode) return std::nullopt;
  if (is_atomic(*r.opcode)) return 1;
  if (!r.length) return std::nullopt;
  if (*r.length <= kLeastMtu) return 1;
  if (!path_mtu) return std::nullopt;
  return static_cast<std::uint32_t>((*r.length + *path_mtu - 1) / *path_mtu);
}

/// The requests of one QP, in posting order, and how far they can have come.
class Queue {
 public:
  Queue(const Dump& dump, std::vector<std::size_t> members)
      : dump_(dump), members_(std::move(members)), places_{0, behind(members_.size()) - 2} {
    for (std::size_t at = 0; at < members_.size(); ++at) {
      if (request(at).outcome == Outcome::Completed) places_.least = behind(at);
      if (request(at).outcome == Outcome::Refused)
        places_.most = std::min(places_.most, behind(at) - 1);
    }
    // Then completions alone contradict each other, which is said elsewhere.
    is_sound_ = places_.least <= places_.most;
  }

  std::optional<Misfit> log(std::size_t at, bool is_applied) {
    const Places said =
        is_applied ? Places{behind(at), places_.most} : Places{places_.least, behind(at) - 1};
    if (narrow(said)) return std::nullopt;
    return Misfit{Misfit::Of::Request, members_[at], "applied",
                  is_applied ? "false, as what else is known of its QP says,"
                             : "true, as what else is known of its QP says,"};
  }

  std::optional<Misfit> receives(std::size_t number, std::uint64_t count) {
    std::uint64_t fewest = 0, most = 0;
    Places said{0, places_.most};
    for (std::size_t at = 0; at < members_.size(); ++at) {
      if (!notifies(request(at))) continue;
      if (behind(at) <= places_.least) ++fewest;
      if (behind(at) <= places_.most) ++most;
      if (most <= count && behind(at) <= places_.most) said.least = behind(at);
      if (most == count + 1 && behind(at) <= places_.most)
        said.most = std::min(said.most, behind(at) - 1);
    }
    if (count >= fewest && count <= most && narrow(said)) return std::nullopt;
    if (!is_sound_) return std::nullopt;
    return Misfit{
        Misfit::Of::QueuePair, number, "receives",
        fmt::format("a whole number from {} to {}, as the requests of the QP are,", fewest, most)};
  }

  std::optional<Misfit> psns(const std::optional<std::uint32_t>& path_mtu) const {
    for (std::size_t at = 0; at < members_.size(); ++at) {
      if (!request(at).psn)
        return Misfit{Misfit::Of::Request, members_[at], "",
                      "no \"psn\"; one is needed where its queue pair has an expected_psn"};
      if (at == 0) continue;
      const std::uint32_t step = distance(*request(at - 1).psn, *request(at).psn);
      const std::uint32_t least = packets_of(request(at - 1), path_mtu).value_or(1);
      if (step >= least && offset(at) < kPsnCount / 2) continue;
      return Misfit{Misfit::Of::Request, members_[at], "psn",
                    fmt::format("one that is at least {} behind work_requests[{}]'s {}", least,
                                members_[at - 1], *request(at - 1).psn)};
    }
    return std::nullopt;
  }
  std::optional<Misfit> expected_psn(std::size_t number, const QueuePairEvidence& found) {
    if (auto misfit = psns(found.path_mtu)) return misfit;
    const std::uint32_t psn = *found.expected_psn;
    const std::uint32_t from_first = distance(*request(0).psn, psn);
    std::size_t at = 0;  // the last request that begins before it or there
    while (at + 1 < members_.size() && offset(at + 1) <= from_first) ++at;
    const std::uint32_t into = from_first - offset(at);
    const auto packets = packets_of(request(at), found.path_mtu);
    const bool is_last = at + 1 == members_.size();
    const bool is_beyond = from_first >= kPsnCount / 2 || (is_last && packets && into > *packets);
    Places said{2 * at, 2 * at};
    if (into != 0) said = {2 * at + 1, behind(at)};
    if (into != 0 && packets && into >= *packets) said.least = behind(at);
    const bool is_part = into != 0 && packets && into < *packets;
    if (is_part && request(at).opcode != Opcode::Read) said.most = 2 * at + 1;
    if (!is_beyond && narrow(said)) return std::nullopt;
    if (!is_sound_) return std::nullopt;
    return Misfit{Misfit::Of::QueuePair, number, "expected_psn",
                  "a PSN of the QP's requests, behind all that were executed and before all that "
                  "were not,"};
  }

  void tell(Dump& dump) const {
    if (!is_sound_) return;
    for (std::size_t at = 0; at < members_.size(); ++at) {
      Evidence& evidence = dump[members_[at]].evidence;
      if (request(at).outcome == Outcome::Completed) continue;
      if (places_.least > 2 * at) evidence.least = Part::Some;
      if (places_.least >= behind(at)) evidence.least = Part::All;
      const bool has_parts = packets_of(request(at), std::nullopt) != 1U;
      if (places_.most < behind(at)) evidence.most = has_parts ? Part::Some : Part::Nothing;
      if (places_.most <= 2 * at) evidence.most = Part::Nothing;
    }
  }

 private:
  [[nodiscard]] const OutstandingRequest& request(std::size_t at) const {
    return dump_[members_[at]];
  }
  [[nodiscard]] std::uint32_t offset(std::size_t at) const {
    return distance(*request(0).psn, *request(at).psn);
  }
  bool narrow(const Places& said) {
    if (!is_sound_) return true;
    const Places both{std::max(places_.least, said.least), std::min(places_.most, said.most)};
    if (both.least > both.most) return false;
    places_ = both;
    return true;
  }

  const Dump& dump_;
  std::vector<std::size_t> members_;
  Places places_;
  bool is_sound_ = true;
};

/// Requests without a QP number, or out of order, have one of their own, which nobody asks
/// anything.
struct Queues {
  std::vector<Queue> all;
  std::map<std::uint32_t, std::size_t> of_number;
  std::vector<std::pair<std::size_t, std::size_t>> of_request;  // the queue, and the place in it
};
Queues queues_of(const Dump& dump) {
  std::vector<std::vector<std::size_t>> members;
  Queues queues;
  for (std::size_t i = 0; i < dump.size(); ++i) {
    std::size_t queue = members.size();
    if (dump[i].qp_num && !is_out_of_order(dump[i]))
      queue = queues.of_number.try_emplace(*dump[i].qp_num, queue).first->second;
    if (queue == members.size()) members.emplace_back();
    queues.of_request.emplace_back(queue, members[queue].size());
    members[queue].push_back(i);
  }
  for (auto& one : members) queues.all.emplace_back(dump, std::move(one));
  return queues;
}

void close(Dump& dump, std::uint32_t qp_num) {
  for (OutstandingRequest& r : dump)
    if (r.qp_num == qp_num) r.evidence.is_queue_fenced = true;
}

/// A QP that requests have; where one is out of order, nothing that counts what was executed.
std::optional<Misfit> ask_for_queue(const Dump& dump, std::size_t number,
                                    const QueuePairEvidence& found) {
  bool has_any = false;
  for (std::size_t i = 0; i < dump.size(); ++i) {
    if (dump[i].qp_num != found.qp_num) continue;
    has_any = true;
    if (!is_out_of_order(dump[i]) || (!found.receives && !found.expected_psn)) continue;
    return Misfit{Misfit::Of::QueuePair, number, found.receives ? "receives" : "expected_psn",
                  fmt::format("none, as work_requests[{}] of this queue pair has "
                              "IBV_WC_GENERAL_ERR, which says nothing of its place,",
                              i)};
  }
  if (has_any) return std::nullopt;
  return Misfit{Misfit::Of::QueuePair, number, "qp_num", "one that a work request has"};
}

}  // namespace

std::optional<Misfit> weigh(Dump& dump, const std::vector<QueuePairEvidence>& queue_pairs,
                            const std::vector<std::optional<bool>>& applied) {
  const Dump said = dump;
  Queues queues = queues_of(said);
  for (std::size_t i = 0; i < dump.size(); ++i) {
    if (!applied[i]) continue;
    const auto [queue, at] = queues.of_request[i];
    if (auto misfit = queues.all[queue].log(at, *applied[i])) return misfit;
  }
  for (std::size_t number = 0; number < queue_pairs.size(); ++number) {
    const QueuePairEvidence& found = queue_pairs[number];
    if (auto misfit = ask_for_queue(dump, number, found)) return misfit;
    if (found.is_fenced) close(dump, found.qp_num);
    const auto queue = queues.of_number.find(found.qp_num);
    if (queue == queues.of_number.end()) continue;
    Queue& requests = queues.all[queue->second];
    if (found.receives)
      if (auto misfit = requests.receives(number, *found.receives)) return misfit;
    if (found.expected_psn)
      if (auto misfit = requests.expected_psn(number, found)) return misfit;
  }
  for (const Queue& queue : queues.all) queue.tell(dump);
  return std::nullopt;
}

}  // namespace portcullis::failover
