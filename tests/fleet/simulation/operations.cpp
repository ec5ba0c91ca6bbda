// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace portcullis::fleet::simulation {
namespace {

using failover::Opcode;
using failover::Operated;

constexpr failover::Word kFree = 0, kHeld = 1, kOver = 2;

}  // namespace

void Operations::add(std::string name, std::uint64_t from_ns, std::uint64_t to_ns,
                     std::vector<Operated::OnWord> words) {
  history_.operations.push_back(
      {.name = std::move(name),
       .operated = {
           .words = std::move(words), .first = from_ns, .last = to_ns, .is_answered = true}});
}

Operated::OnWord Operations::held(const std::string& lease, failover::Operation operation,
                                  std::optional<failover::Word> answer) {
  return {.cell = history_.cell("held " + lease), .operation = operation, .answer = answer};
}

void Operations::begins(const std::string& lease, std::uint64_t now_ns) {
  add("grant of " + lease, now_ns, now_ns,
      {held(lease, {Opcode::CompareSwap, kHeld, kFree}, kFree)});
  lands(lease, now_ns);
}

void Operations::told(const std::string& lease, std::uint64_t now_ns) {
  add("client is told of " + lease, now_ns, now_ns, {held(lease, {Opcode::Read}, kHeld)});
}

void Operations::lands(const std::string& lease, std::uint64_t now_ns) {
  add("WRITE into " + lease, now_ns, now_ns,
      {held(lease, {Opcode::Read}, kHeld),
       {.cell = history_.cell("bytes " + lease), .operation = {Opcode::FetchAdd, 1}}});
}

void Operations::over(const std::string& lease, std::uint64_t asked_ns, std::uint64_t now_ns) {
  add("fence of " + lease, asked_ns, now_ns, {held(lease, {Opcode::Write, kOver}, {})});
}

void Operations::raised(std::uint64_t tenant, std::uint64_t epoch, std::uint64_t asked_ns,
                        std::uint64_t now_ns) {
  raised_.push_back(
      {.tenant = tenant, .epoch = epoch, .asked_ns = asked_ns, .answered_ns = now_ns});
}

std::vector<std::string> Operations::wrong() const {
  Operations all = *this;
  std::sort(all.raised_.begin(), all.raised_.end(), [](const Raised& one, const Raised& other) {
    return std::tie(one.tenant, one.epoch) < std::tie(other.tenant, other.epoch);
  });
  std::map<std::uint64_t, std::uint64_t> below;  // by tenant
  for (const Raised& each : all.raised_) {
    std::uint64_t& epoch = below[each.tenant];
    all.add(fmt::format("fence {} of tenant {}", each.epoch, each.tenant), each.asked_ns,
            each.answered_ns,
            {{.cell = all.history_.cell(fmt::format("epoch {}", each.tenant)),
              .operation = {Opcode::CompareSwap, each.epoch, epoch},
              .answer = epoch},
             {.cell = all.history_.cell(fmt::format("raised to {}", each.epoch)),
              .operation = {Opcode::FetchAdd, 1},
              .answer = 0}});
    epoch = each.epoch;
  }
  const auto verdict = failover::judge_history(all.history_);
  if (!verdict) return {verdict.error().text};
  std::vector<std::string> lines;
  for (const failover::Unordered& each : verdict->unordered)
    lines.push_back(fmt::format("not linearizable: {}: {} of {} operations can be ordered; then {}",
                                fmt::join(each.cells, ", "), each.placed, each.operations,
                                fmt::join(each.stuck, ", ")));
  return lines;
}

}  // namespace portcullis::fleet::simulation
