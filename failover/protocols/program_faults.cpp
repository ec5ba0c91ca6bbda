// SPDX-License-Identifier: BSD-3-Clause
#include "failover/protocols/program_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace portcullis::failover {
namespace {

class Steps {
 public:
  explicit Steps(const Scenario& scenario) : s_(scenario) {}

  [[nodiscard]] std::optional<ProgramFault> fault() const {
    const std::vector<bool> reached = reached_from({0}, kNoRequest);
    for (std::size_t at = 0; at < s_.program.size(); ++at) {
      if (!reached[at]) continue;
      if (!can_end(at)) return ProgramFault{at, "no step from here on leads to an end"};
      if (auto fault = fault_at(at)) return fault;
      if (auto fault = fault_after_timeout(at)) return fault;
      if (auto fault = fault_after_completion(at)) return fault;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<bool> led_to() const { return reached_from({0}, kNoRequest); }
  /// An operation whose outcome the application is told twice on one way.
  [[nodiscard]] std::optional<unsigned> told_twice() const {
    for (std::size_t at = 0; at < s_.program.size(); ++at) {
      if (!tells(at, s_.program[at].operation)) continue;
      const std::vector<bool> reached = reached_from(after(at), kNoRequest);
      for (std::size_t other = 0; other < reached.size(); ++other)
        if (reached[other] && tells(other, s_.program[at].operation))
          return s_.program[at].operation;
    }
    return std::nullopt;
  }

 private:
  static constexpr unsigned kNoRequest = ~0U;

  [[nodiscard]] std::vector<std::size_t> after(std::size_t at) const {
    const Instruction& i = s_.program[at];
    if (i.act == Act::End) return {};
    std::vector<std::size_t> next;
    if (i.act != Act::Await || i.may_complete) next = {i.next, i.otherwise};
    if (i.act == Act::Await && i.may_time_out) next.push_back(i.on_timeout);
    return next;
  }
  /// Steps that are come to from `first`, without going on behind a step that posts `request`.
  [[nodiscard]] std::vector<bool> reached_from(std::vector<std::size_t> first,
                                               unsigned request) const {
    std::vector<bool> reached(s_.program.size(), false);
    while (!first.empty()) {
      const std::size_t at = first.back();
      first.pop_back();
      if (reached[at]) continue;
      reached[at] = true;
      if (posts(at, request)) continue;
      for (const std::size_t next : after(at)) first.push_back(next);
    }
    return reached;
  }
  [[nodiscard]] bool posts(std::size_t at, unsigned request) const {
    return s_.program[at].act == Act::Post && s_.program[at].work_request == request;
  }
  [[nodiscard]] bool tells(std::size_t at, unsigned operation) const {
    const Instruction& i = s_.program[at];
    return i.act == Act::Report && i.claim != Claim::Unknown && i.operation == operation;
  }
  [[nodiscard]] bool can_end(std::size_t from) const {
    const std::vector<bool> reached = reached_from({from}, kNoRequest);
    for (std::size_t at = 0; at < reached.size(); ++at)
      if (reached[at] && s_.program[at].act == Act::End) return true;
    return false;
  }
  [[nodiscard]] const std::string& name(unsigned request) const {
    return s_.work_requests[request].name;
  }

  [[nodiscard]] std::optional<ProgramFault> fault_at(std::size_t at) const {
    const Instruction& i = s_.program[at];
    const unsigned request = i.work_request;
    const bool needs_posted = i.act == Act::Await || i.act == Act::QueryPsn;
    if (needs_posted && reached_from({0}, request)[at])
      return ProgramFault{at, fmt::format("{} is not posted on every way that leads here; a step "
                                          "behind its post is accepted",
                                          name(request))};
    if (i.act != Act::Post) return std::nullopt;
    if (reached_from(after(at), kNoRequest)[at])
      return ProgramFault{at, fmt::format("{} can be posted twice; a work request of its own for "
                                          "each attempt is accepted",
                                          name(request))};
    for (std::size_t other = 0; other < s_.program.size(); ++other)
      if (other != at && posts(other, request) && reached_from(after(at), kNoRequest)[other])
        return ProgramFault{other, fmt::format("{} was posted before, on a way that leads here; a "
                                               "work request of its own for each attempt is "
                                               "accepted",
                                               name(request))};
    for (unsigned earlier = 0; earlier < request; ++earlier) {
      if (s_.work_requests[earlier].queue != s_.work_requests[request].queue) continue;
      if (reached_from({0}, earlier)[at])
        return ProgramFault{
            at, fmt::format("{} can be posted without {}, which stands before it on QP {} and has "
                            "the PSN before its own; the order of work_requests is accepted",
                            name(request), name(earlier), s_.work_requests[request].queue)};
    }
    return std::nullopt;
  }

  /// A QP on which a request timed out is in error.
  [[nodiscard]] std::optional<ProgramFault> fault_after_timeout(std::size_t at) const {
    const Instruction& i = s_.program[at];
    if (i.act != Act::Await || !i.may_time_out) return std::nullopt;
    const unsigned queue = s_.work_requests[i.work_request].queue;
    const std::vector<bool> reached = reached_from({i.on_timeout}, kNoRequest);
    for (std::size_t later = 0; later < reached.size(); ++later) {
      const Instruction& post = s_.program[later];
      if (!reached[later] || post.act != Act::Post) continue;
      if (s_.work_requests[post.work_request].queue != queue) continue;
      return ProgramFault{later, fmt::format("{} can be posted on QP {} after {} timed out there, "
                                             "which leaves the QP in error; another QP is accepted",
                                             name(post.work_request), queue, name(i.work_request))};
    }
    return std::nullopt;
  }

  /// A completion comes once.
  [[nodiscard]] std::optional<ProgramFault> fault_after_completion(std::size_t at) const {
    const Instruction& i = s_.program[at];
    if (i.act != Act::Await || !i.may_complete) return std::nullopt;
    const std::vector<bool> reached = reached_from({i.next, i.otherwise}, kNoRequest);
    for (std::size_t later = 0; later < reached.size(); ++later) {
      const Instruction& other = s_.program[later];
      if (!reached[later] || other.act != Act::Await || other.work_request != i.work_request)
        continue;
      return ProgramFault{later, fmt::format("{} can be awaited again after it has completed; one "
                                             "step that awaits it is accepted on each way",
                                             name(i.work_request))};
    }
    return std::nullopt;
  }

  const Scenario& s_;
};

std::optional<std::string> fault_of_operations(const Scenario& s) {
  const auto is_told = [](const WorkRequest& r) {
    return r.operand.source == Operand::Source::Constant &&
           r.compare.source == Operand::Source::Constant &&
           r.address.space != Address::Space::OwnerSlot;
  };
  if (!std::all_of(s.work_requests.begin(), s.work_requests.end(), is_told))
    return "with \"history\" operands are whole numbers, and cells shared or own";
  for (const WorkRequest& one : s.work_requests)
    if (std::none_of(s.work_requests.begin(), s.work_requests.end(), [&](const WorkRequest& other) {
          return other.is_counted && other.operation == one.operation;
        }))
      return fmt::format(
          "with \"history\" an operation has a work request that counts, and {} has none",
          one.operation);
  // The judge knows what operations do to memory, and "consume" and "reuse" of the receiver.
  for (const WorkRequest& one : s.work_requests) {
    if (one.log_cell)
      return fmt::format("with \"history\" nothing else changes cells: {} has \"record\"",
                         one.name);
    if (!one.is_counted && one.opcode != Opcode::Send && one.opcode != Opcode::Read)
      return fmt::format("with \"history\" all that changes cells counts: {} does not", one.name);
  }
  const auto sets = [](const ReceiverStep& step) { return step.kind == ReceiverStep::Kind::Set; };
  if (std::any_of(s.receiver.begin(), s.receiver.end(), sets))
    return "with \"history\" a receiver may \"consume\" and \"reuse\", and not \"set\"";
  return std::nullopt;
}

/// The first field in which two attempts differ; nullptr where they do the same.
const char* difference_of(const WorkRequest& one, const WorkRequest& other) {
  const auto is_same = [](const Operand& a, const Operand& b) {
    return a.source == b.source && a.word == b.word;
  };
  if (one.opcode != other.opcode) return "opcode";
  if (one.opcode == Opcode::Send) return nullptr;
  if (one.address.space != other.address.space || one.address.cell != other.address.cell)
    return "cell";
  if (one.packets != other.packets) return "packets";
  if (one.opcode == Opcode::Read) return nullptr;
  if (!is_same(one.operand, other.operand)) return "operand";
  const bool compares = one.opcode == Opcode::CompareSwap;
  return compares && !is_same(one.compare, other.compare) ? "compare" : nullptr;
}

}  // namespace

std::optional<RequestFault> unlike_attempt_of(const Scenario& s) {
  if (!s.has_history) return std::nullopt;
  std::vector<const WorkRequest*> first(s.operations, nullptr);
  for (std::size_t i = 0; i < s.work_requests.size(); ++i) {
    const WorkRequest& one = s.work_requests[i];
    if (!one.is_counted) continue;
    const WorkRequest*& known = first[one.operation];
    if (known == nullptr) known = &one;
    const char* field = difference_of(*known, one);
    if (field == nullptr) continue;
    return RequestFault{i, field,
                        fmt::format("with \"history\" {} and {} are attempts at operation {} and "
                                    "differ here; the same, or another \"operation\", is accepted",
                                    known->name, one.name, one.operation)};
  }
  return std::nullopt;
}

std::optional<ProgramFault> fault_of(const Scenario& scenario) { return Steps(scenario).fault(); }

std::vector<bool> steps_led_to(const Scenario& scenario) { return Steps(scenario).led_to(); }

std::optional<std::string> history_fault_of(const Scenario& s) {
  constexpr std::size_t kMostJudged = 8;
  if (!s.has_history) return std::nullopt;
  if (auto fault = fault_of_operations(s)) return fault;
  const auto steps = [&](ReceiverStep::Kind kind) {
    return std::count_if(s.receiver.begin(), s.receiver.end(),
                         [&](const ReceiverStep& step) { return step.kind == kind; });
  };
  if (steps(ReceiverStep::Kind::Consume) > 1 || steps(ReceiverStep::Kind::Reuse) > 1)
    return "with \"history\" one \"consume\" and one \"reuse\" are accepted";
  const auto forgets = [&](const Instruction& i) {
    return i.act == Act::Await && !i.keeps && returns_word(s.work_requests[i.work_request].opcode);
  };
  if (std::any_of(s.program.begin(), s.program.end(), forgets))
    return "with \"history\" each \"await\" of a READ, FADD or CAS has \"keep\"";
  if (const auto operation = Steps(s).told_twice())
    return fmt::format("with \"history\" an operation is reported once, and {} can be twice",
                       *operation);
  const std::size_t judged = std::size_t{s.clients} * (s.operations + 2) + s.environment_budget;
  if (judged > kMostJudged)
    return fmt::format(
        "with \"history\" clients x (operations + 2) + budget is {}, at most {} is accepted",
        judged, kMostJudged);
  return std::nullopt;
}

}  // namespace portcullis::failover
