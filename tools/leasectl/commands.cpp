// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "client/anywhere.hpp"
#include "client/connection.hpp"
#include "program/leased_socket.hpp"
#include "tools/leasectl/everywhere.hpp"
#include "tools/leasectl/one_cluster.hpp"
#include "tools/leasectl/past.hpp"
#include "tools/leasectl/printing.hpp"
#include "tools/leasectl/quota.hpp"
#include "tools/leasectl/top.hpp"

namespace portcullis::tools::leasectl {
namespace {

using client::Connection;

constexpr std::uint64_t kLookAgainMs = 100;
constexpr std::uint64_t kAnswerMs = 20'000;  // a revoke has a second; a busy host may add some
constexpr std::uint64_t kTenantMs = 60'000;  // of a tenant with everything the device has

int status_of(wire::Outcome outcome) noexcept {
  if (outcome == wire::Outcome::Fenced) return kFenced;
  return outcome == wire::Outcome::NotFound ? kNotFound : kDone;
}

Result<int> revoke(const Options& options, const World& world, Connection& leased,
                   const wire::RevokeRequest& wanted) {
  PORTCULLIS_TRY_ASSIGN(const auto answer, leased.revoke(wanted));
  print(options, world, answer);
  return status_of(answer.outcome);
}

/// True while `most_ms` have not passed, or there is no end.
bool is_within(std::uint64_t since_ns, std::uint64_t most_ms) {
  return most_ms == 0 || Clock::wall().now_ns() - since_ns < most_ms * kNsPerMs;
}

/// Holds the lease, renews it at a third of its time, and revokes it at the end.
Result<int> hold(const Options& options, const World& world, Connection& leased,
                 const wire::AllocAnswer& lease) {
  print(options, world, lease);
  const auto challenge = leased.challenge({.id = lease.id, .epoch = lease.epoch});
  if (challenge) print(options, world, *challenge);  // otherwise it has ended: the news says how
  const std::uint64_t began_ns = Clock::wall().now_ns();
  const std::uint64_t renew_ns = std::max<std::uint64_t>(lease.ttl_ms / 3, 1) * kNsPerMs;
  std::uint64_t renewed_ns = began_ns;
  while (!world.stop() && is_within(began_ns, options.hold_ms)) {
    const std::uint64_t passed_ns = Clock::wall().now_ns() - renewed_ns;
    const std::uint64_t left_ms = passed_ns >= renew_ns ? 0 : (renew_ns - passed_ns) / kNsPerMs;
    PORTCULLIS_TRY_ASSIGN(const auto news, leased.next_news(std::min(kLookAgainMs, left_ms)));
    if (news) {
      print(options, world, *news);
      const auto* ended = std::get_if<client::LeaseEnded>(&*news);
      if (ended != nullptr && ended->body.id == lease.id && ended->body.epoch == lease.epoch)
        return kEndedByOthers;
    }
    if (Clock::wall().now_ns() - renewed_ns < renew_ns) continue;
    renewed_ns = Clock::wall().now_ns();
    const auto renewed =
        leased.renew({.id = lease.id, .epoch = lease.epoch, .ttl_ms = options.alloc.ttl_ms});
    // It has just ended: the news says how. Or nobody answers who is told to stop. A node that is
    // alone may renew nothing, and the lease has its time all the same.
    const bool goes_on = renewed || renewed.error().code == Errc::NotFound ||
                         renewed.error().code == Errc::DeviceFailed || world.stop();
    if (!goes_on) return tl::unexpected<Error>(renewed.error());
  }
  PORTCULLIS_TRY_ASSIGN(const auto answer, leased.revoke({.id = lease.id, .epoch = lease.epoch}));
  print(options, world, answer);
  if (answer.cause != wire::Cause::Holder) return kEndedByOthers;
  return status_of(answer.outcome);
}

/// Whoever wants something of that lease later asks the node.
struct Taken {
  std::string node;
  std::string at;
  Connection leased;
  wire::AllocAnswer lease;
};

std::string text_of(const Taken& taken) {
  return fmt::format("node {} at {}", taken.node, taken.at);
}
std::string json_of(const Taken& taken) {
  return nlohmann::json{{"node", taken.node}, {"at", taken.at}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A node that does not answer costs so long, and then the next one is asked.
Result<int> alloc_anywhere(const Options& options, const World& world) {
  constexpr std::uint64_t kTryMs = 5'000;
  PORTCULLIS_TRY_ASSIGN(const auto etcd, fleet::Etcd::create(options.etcd));
  PORTCULLIS_TRY_ASSIGN(const bool is_one, is_one_cluster(*etcd, world));
  if (!is_one) return kNotCertain;
  const client::Anywhere where{
      .etcd = options.etcd, .wanted = options.place, .quic = options.credentials};
  const auto ask = [&](const client::Site& site) -> Result<Taken> {
    PORTCULLIS_TRY_ASSIGN(auto leased, Connection::open(site.server, {.name = "leasectl",
                                                                      .deadline_ms = kTryMs,
                                                                      .stop = world.stop}));
    PORTCULLIS_TRY(client::check_site(site, leased.server().incarnation));
    PORTCULLIS_TRY_ASSIGN(auto lease, leased.alloc(options.alloc));
    return Taken{
        .node = site.node, .at = site.server.text(), .leased = std::move(leased), .lease = lease};
  };
  PORTCULLIS_TRY_ASSIGN(auto taken, client::at_first_that_takes_it<Taken>(where, ask));
  world.print(options.json ? json_of(taken) : text_of(taken));
  return hold(options, world, taken.leased, taken.lease);
}

Result<int> watch(const Options& options, const World& world, Connection& leased) {
  PORTCULLIS_TRY(leased.watch(tenant_of(options, leased)));
  const std::uint64_t began_ns = Clock::wall().now_ns();
  while (!world.stop() && is_within(began_ns, options.watch_ms)) {
    PORTCULLIS_TRY_ASSIGN(const auto news, leased.next_news(kLookAgainMs));
    if (news) print(options, world, *news);
  }
  return kDone;
}

}  // namespace

Result<int> run(const Options& options, const World& world) {
  if (options.command == Command::Pki) return run_pki(options.pki, world.print);
  if (options.everywhere) return revoke_everywhere(options, world);
  if (options.command == Command::Quota) return quota(options, world);
  if (options.anywhere) return alloc_anywhere(options, world);
  if (!options.server.quic && options.server.socket == program::leased_socket()) {
    // Whoever may put another socket there could answer whatever it likes.
    const auto folder = options.server.socket.parent_path();
    if (std::error_code error; std::filesystem::exists(folder, error))
      PORTCULLIS_TRY(program::check_folder(folder));
  }
  PORTCULLIS_TRY_ASSIGN(auto leased, Connection::open(options.server, {.name = "leasectl",
                                                                       .deadline_ms = kAnswerMs,
                                                                       .stop = world.stop}));
  switch (options.command) {
    case Command::Status: {
      PORTCULLIS_TRY_ASSIGN(const auto status, leased.status());
      print(options, world, status);
      return kDone;
    }
    case Command::List: {
      PORTCULLIS_TRY_ASSIGN(const auto rows, leased.list(tenant_of(options, leased)));
      print(options, world, std::span<const wire::LeaseRow>(rows));
      return kDone;
    }
    case Command::Alloc: {
      PORTCULLIS_TRY_ASSIGN(const auto lease, leased.alloc(options.alloc));
      return hold(options, world, leased, lease);
    }
    case Command::Renew: {
      PORTCULLIS_TRY(leased.renew(options.renew));
      return kDone;
    }
    case Command::Revoke:
      return revoke(options, world, leased, options.revoke);
    case Command::RevokeTenant: {
      leased.set_deadline_ms(kTenantMs);
      PORTCULLIS_TRY_ASSIGN(const auto answer, leased.revoke_tenant(*options.tenant));
      print(options, world, answer);
      return answer.fenced != 0 ? kFenced : kDone;
    }
    case Command::Watch:
      return watch(options, world, leased);
    case Command::Top:
      return top(options, world, leased);
    case Command::History:
      return history(options, world, leased);
    case Command::Fenced:
      return fenced(options, world, leased);
    case Command::Report:
      return report(options, world, leased);
    case Command::Quota:
    case Command::Pki:
      break;
  }
  return kDone;
}

}  // namespace portcullis::tools::leasectl
