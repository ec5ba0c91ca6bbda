// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/everywhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "tools/leasectl/one_cluster.hpp"
#include "tools/leasectl/printing.hpp"

namespace portcullis::tools::leasectl {
namespace {

using fleet::NodeStanding;
using fleet::Revocation;
using fleet::Standing;

constexpr std::uint64_t kTryAgainMs = 200;

const char* name_of(Standing standing) noexcept {
  switch (standing) {
    case Standing::TornDown:
      return "TornDown";
    case Standing::Fenced:
      return "Fenced";
    case Standing::Expired:
      return "Expired";
    case Standing::Unreachable:
      break;
  }
  return "Unreachable";
}

std::size_t count(const Revocation& revocation, Standing standing) {
  return static_cast<std::size_t>(
      std::count_if(revocation.nodes().begin(), revocation.nodes().end(),
                    [standing](const NodeStanding& each) { return each.standing == standing; }));
}

std::string remark_of(const NodeStanding& node) {
  if (!node.remark.empty()) return node.remark;
  std::string text = fmt::format("{} leases TornDown", node.torn_down);
  if (node.fenced != 0) text += fmt::format(", {} of the tenant stay Fenced", node.fenced);
  return text;
}

std::string whole_of(const Everywhere& answer) {
  const Revocation& revocation = answer.revocation;
  const std::size_t unknown = count(revocation, Standing::Unreachable);
  const std::string who =
      fmt::format("tenant {} below epoch {}", revocation.tenant(), revocation.epoch());
  if (!answer.is_one_cluster)
    return fmt::format(
        "{}: not certain; endpoints are of two clusters, and nodes of one are in no "
        "row",
        who);
  if (revocation.nodes().empty())
    return "no node is a member, and none has a session: nothing was fenced";
  if (unknown != 0)
    return fmt::format(
        "{}: not certain; {} of {} nodes are Unreachable, and may hold what they "
        "held",
        who, unknown, revocation.nodes().size());
  if (const std::size_t expired = count(revocation, Standing::Expired); expired != 0)
    return fmt::format(
        "{}: nothing is held; {} of {} nodes are Expired, by what they had promised: how their "
        "leases ended is not known",
        who, expired, revocation.nodes().size());
  if (const std::size_t fenced = count(revocation, Standing::Fenced); fenced != 0)
    return fmt::format(
        "{}: nothing is held; slots stay Fenced on {} of {} nodes, see leasectl "
        "fenced there",
        who, fenced, revocation.nodes().size());
  return fmt::format("{}: TornDown on all {} nodes", who, revocation.nodes().size());
}

/// How long nodes, and an etcd that does not answer, are waited for.
class Patience {
 public:
  Patience(const Options& options, const World& world) : options_(options), world_(world) {}

  [[nodiscard]] bool is_over() const {
    constexpr std::uint64_t kMostMs = 10'000;
    if (world_.stop()) return true;
    if (options_.waits && !options_.most_wait_ms) return false;
    return clock_.now_ns() - began_ns_ >= options_.most_wait_ms.value_or(kMostMs) * kNsPerMs;
  }

 private:
  const Options& options_;
  const World& world_;
  Clock clock_ = Clock::wall();
  std::uint64_t began_ns_ = clock_.now_ns();
};

/// With --wait an etcd that does not answer is waited for, too; raising it twice does no harm.
/// Whoever is told of no node has to know whether it may have been raised.
Result<Revocation> raise(const Options& options, const World& world, fleet::Etcd& etcd,
                         const Patience& patience) {
  bool has_said = false;
  bool may_have_happened = false;
  while (true) {
    auto raised = Revocation::raise(etcd, *options.tenant);
    if (raised) return raised;
    const Error& why = raised.error();
    const bool may_come = why.code == Errc::Timeout || why.code == Errc::System;
    may_have_happened = may_have_happened || (may_come && etcd.may_have_happened());
    if (!may_come || !options.waits || patience.is_over())
      return fail(why.code, why.text + (may_have_happened
                                            ? "; the fence may have been raised all the same, and "
                                              "asking again does no harm"
                                            : ""));
    if (!std::exchange(has_said, true) && world.warn)
      world.warn(raised.error().text + "; it is tried again until it answers");
    etcd.wait(kTryAgainMs);
  }
}

}  // namespace

int status_of(const Everywhere& answer) noexcept {
  const Revocation& revocation = answer.revocation;
  if (!answer.is_one_cluster) return kNotCertain;
  if (revocation.nodes().empty()) return kNotFound;
  if (!revocation.is_certain()) return kNotCertain;
  if (count(revocation, Standing::Expired) != 0) return kExpired;
  return count(revocation, Standing::Fenced) != 0 ? kFenced : kDone;
}

std::string text_of(const Everywhere& answer) {
  const Revocation& revocation = answer.revocation;
  std::size_t width = 4;
  for (const NodeStanding& each : revocation.nodes()) width = std::max(width, each.name.size());
  std::string text = fmt::format("{:<{}}  {:<11}  {}\n", "node", width, "answer", "what is known");
  for (const NodeStanding& each : revocation.nodes())
    text += fmt::format("{:<{}}  {:<11}  {}\n", one_line(each.name), width, name_of(each.standing),
                        one_line(remark_of(each)));
  return text + whole_of(answer);
}

std::string json_of(const Everywhere& answer) {
  const Revocation& revocation = answer.revocation;
  const bool is_known = !revocation.nodes().empty() && revocation.is_certain();
  using nlohmann::json;
  const auto line = [](const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  std::string text;
  for (const NodeStanding& each : revocation.nodes())
    text += line({{"node", each.name},
                  {"answer", name_of(each.standing)},
                  {"torn_down", each.torn_down},
                  {"fenced", each.fenced},
                  {"has_session", each.has_session},
                  {"remark", each.remark}}) +
            "\n";
  return text + line({{"tenant", revocation.tenant()},
                      {"epoch", revocation.epoch()},
                      {"is_certain", answer.is_one_cluster && is_known},
                      {"is_one_cluster", answer.is_one_cluster},
                      {"nodes", revocation.nodes().size()},
                      {"torn_down", count(revocation, Standing::TornDown)},
                      {"fenced", count(revocation, Standing::Fenced)},
                      {"expired", count(revocation, Standing::Expired)},
                      {"unreachable", count(revocation, Standing::Unreachable)}});
}

Result<int> revoke_everywhere(const Options& options, const World& world) {
  constexpr std::uint64_t kLookAgainMs = 200;
  constexpr std::uint64_t kStopMs = 50;  // how late Ctrl-C may be heard
  PORTCULLIS_TRY_ASSIGN(const auto etcd, fleet::Etcd::create(options.etcd));
  const Patience patience(options, world);
  PORTCULLIS_TRY_ASSIGN(auto revocation, raise(options, world, *etcd, patience));
  const Clock clock = Clock::wall();
  std::uint64_t look_ns = clock.now_ns() + kLookAgainMs * kNsPerMs;
  Result<void> looked;
  const auto goes_on = [&] {
    if (patience.is_over() || revocation.is_certain()) return false;
    return options.waits || revocation.may_come_soon();
  };
  while (goes_on()) {
    (void)revocation.wait(kStopMs);
    if (revocation.is_certain() || clock.now_ns() < look_ns) continue;
    looked = revocation.look();
    look_ns = clock.now_ns() + kLookAgainMs * kNsPerMs;
    if (!looked && !options.waits) break;  // what is known is told, and the rest is Unreachable
  }
  const auto compared = check_one_cluster(*etcd, world);
  const Everywhere answer{.revocation = revocation, .is_one_cluster = compared.has_value()};
  print(options, world, answer);
  if (!looked && world.warn) world.warn(looked.error().text);
  if (!compared && world.warn)
    world.warn(compared.error().text + "; what nodes of the other hold is in no row: not certain");
  return status_of(answer);
}

}  // namespace portcullis::tools::leasectl
