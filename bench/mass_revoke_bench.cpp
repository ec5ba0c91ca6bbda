// SPDX-License-Identifier: BSD-3-Clause
//
// Leases in thousands, taken back by one call and the polls that follow it: how long until no
// memory of any of them can be reached, and until the last outcome stands. On a stepped model with
// the times of a card's firmware, which works on many commands side by side or on one after the
// other; by each plan, and with everything at once. Clients do nothing: what they would see is
// floor_bench's.
#include <fmt/format.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attach/function.hpp"
#include "attach/open_device.hpp"
#include "attach/port.hpp"
#include "base/histogram.hpp"
#include "lease/lease_manager.hpp"
#include "pmd/passing_channel.hpp"
#include "pmd/roce_address.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "program/command_line.hpp"
#include "program/standard_streams.hpp"

namespace portcullis::bench {
namespace {

constexpr const char* kDevice = "model,execution=stepped,timing=cx5-16.35.4506";
constexpr pmd::Mac kMac{{2, 0, 0, 0, 0, 1}};
constexpr std::uint32_t kMostOfAGroup = 1024;  // that a tenant's key leads to
constexpr std::uint64_t kSeed = 1;
/// No deferred phase begins meanwhile, so that what is measured is the fence alone.
constexpr std::uint64_t kGraceMs = 3'600'000;
constexpr std::uint64_t kCommandNs = 60 * kNsPerSecond;

/// Hands the device one command at a time where firmware works on one at a time, and notes when a
/// key's destruction was answered.
class Firmware final : public pmd::PassingChannel {
 public:
  Firmware(pmd::CommandChannel& inner, const Device& device, bool is_serial) noexcept
      : PassingChannel(inner), device_(&device), is_serial_(is_serial) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override {
    if (is_serial_ && last_)
      (void)wait_until(*device_, device_->clock.now_ns() + kCommandNs,
                       [this] { return is_done(*last_); });
    PORTCULLIS_TRY_ASSIGN(const pmd::Ticket ticket,
                          PassingChannel::submit(in, out_bytes, slot_class));
    last_ = ticket;
    if (prm::ConstView<prm::destroy_mkey_in>::at(in).get<"opcode">() ==
        prm::number(prm::Opcode::DESTROY_MKEY))
      keys_.insert(ticket.slot);
    return ticket;
  }
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override {
    auto answered = PassingChannel::await(ticket, out, deadline_ns);
    if (keys_.erase(ticket.slot) != 0 && answered) key_gone_ns_ = device_->clock.now_ns();
    return answered;
  }
  /// The last one.
  [[nodiscard]] std::uint64_t key_gone_ns() const noexcept { return key_gone_ns_; }

 private:
  const Device* device_;
  bool is_serial_;
  std::optional<pmd::Ticket> last_;
  std::unordered_set<std::uint32_t> keys_;  // slots
  std::uint64_t key_gone_ns_ = 0;
};

struct Round {
  std::optional<lease::Plan> plan;  // none: everything at once
  std::uint32_t leases = 1;
  bool is_serial = false;
};

struct Times {
  std::uint64_t unreachable_ns = 0;
  std::uint64_t outcomes_ns = 0;
  std::uint32_t fenced = 0;
};

Result<std::vector<lease::LeaseName>> grant_all(lease::LeaseManager& manager, const Round& round) {
  const lease::GrantRequest request{.bytes = kPageBytes,
                                    .peer = {.qpn = prm::QpNumber{5}, .gid = attach::kLoopbackGid}};
  std::vector<lease::LeaseName> names;
  while (names.size() < round.leases) {
    if (!round.plan || !round.plan->is_for_groups()) {
      PORTCULLIS_TRY_ASSIGN(const lease::Grant grant, manager.grant(request));
      names.push_back({grant.lease.id, grant.lease.epoch});
      continue;
    }
    const auto left = static_cast<std::uint32_t>(round.leases - names.size());
    const std::vector<lease::GrantRequest> requests(std::min(left, kMostOfAGroup), request);
    PORTCULLIS_TRY_ASSIGN(const auto grants, manager.grant_together(requests));
    for (const lease::Grant& grant : grants) names.push_back({grant.lease.id, grant.lease.epoch});
  }
  return names;
}

/// The call, and polls until every outcome stands.
Result<void> take_back(lease::LeaseManager& manager, const Device& device, const Round& round,
                       const std::vector<lease::LeaseName>& names) {
  if (!round.plan) {
    PORTCULLIS_TRY(manager.drain());
    return {};
  }
  (void)manager.revoke_batch(names, *round.plan);
  while (manager.table().count(lease::State::Revoking) != 0) {
    const std::uint64_t before_ns = device.clock.now_ns();
    manager.poll();
    if (device.clock.now_ns() == before_ns) device.relax(before_ns + kNsPerMs);  // it lingers
  }
  return {};
}

Result<Times> measure(const Round& round) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device(kDevice));
  PORTCULLIS_TRY_ASSIGN(auto open, attach::OpenDevice::open(spec));
  PORTCULLIS_TRY_ASSIGN(const auto function, attach::Function::bring_up(std::move(open)));
  PORTCULLIS_TRY_ASSIGN(
      const auto port,
      attach::Port::create(function->context(), {.gid = attach::kLoopbackGid, .mac = kMac}));
  pmd::Context context = function->context();
  const Device device = context.device;
  Firmware firmware(*context.commands, device, round.is_serial);
  context.commands = &firmware;
  lease::Host host = lease::Host::of(function->driver());
  host.context = &context;
  lease::LeaseManager::Options options;
  options.table.slots = round.leases;
  options.grant.psn_seed = kSeed;
  options.grace_ms = kGraceMs;
  PORTCULLIS_TRY_ASSIGN(const auto manager, lease::LeaseManager::create(host, options));
  PORTCULLIS_TRY_ASSIGN(const auto names, grant_all(*manager, round));
  const std::uint64_t start_ns = device.clock.now_ns();
  PORTCULLIS_TRY(take_back(*manager, device, round, names));
  const std::uint64_t end_ns = device.clock.now_ns();
  const Times times{round.plan ? firmware.key_gone_ns() - start_ns : end_ns - start_ns,
                    end_ns - start_ns, manager->fenced_count()};
  // The next round has a model of its own: nothing of this one need be taken back in order.
  if (round.plan) PORTCULLIS_TRY(manager->drain());
  return times;
}

struct Arguments {
  std::vector<std::uint32_t> leases{1, 64, 1024, 16'384, 64'990};
  std::vector<std::string> plans{"seed", "nak-first", "indirect", "drain"};
  std::vector<std::string> firmware{"parallel", "serial"};
};

constexpr const char* kMeasured = "seed, nak-first, access-flags, indirect, drain";

/// Without a UMR queue, a flow table or a client nothing else ends as it does elsewhere.
bool is_measured(const lease::Plan& plan) {
  return plan.best_outcome() == lease::Outcome::TornDown && !plan.has(lease::Step::FreeKey) &&
         plan.has_grace && plan.entry == steering::EntryPlan::AtRevoke;
}

Result<std::vector<std::optional<lease::Plan>>> plans_of(const Arguments& arguments) {
  std::vector<std::optional<lease::Plan>> plans;
  for (const std::string& text : arguments.plans) {
    if (text == "drain") {
      plans.emplace_back();
      continue;
    }
    const auto plan = lease::parse_plan(text);
    if (!plan || !is_measured(*plan))
      return fail(Errc::InvalidArgument, "--plan '" + text + "'; accepted: " + kMeasured);
    plans.emplace_back(*plan);
  }
  return plans;
}

/// False when a lease was FENCED.
Result<bool> run(const Arguments& arguments) {
  PORTCULLIS_TRY_ASSIGN(const auto plans, plans_of(arguments));
  fmt::print("device: {}, emulated, not NIC latency; clock: virtual (deterministic, one value)\n",
             kDevice);
  fmt::print("{:<18}{:<10}{:>8}{:>22}{:>16}{:>12}{:>8}\n", "plan", "firmware", "leases",
             "no memory reachable", "last outcome", "a lease", "FENCED");
  bool all_torn_down = true;
  for (const auto& plan : plans) {
    for (const std::string& firmware : arguments.firmware) {
      for (const std::uint32_t leases : arguments.leases) {
        PORTCULLIS_TRY_ASSIGN(const Times times, measure({plan, leases, firmware == "serial"}));
        const auto text = [](std::uint64_t ns) { return duration_text(static_cast<double>(ns)); };
        fmt::print("{:<18}{:<10}{:>8}{:>22}{:>16}{:>12}{:>8}\n", plan ? plan->full_name() : "drain",
                   firmware, leases, text(times.unreachable_ns), text(times.outcomes_ns),
                   text(times.outcomes_ns / leases), times.fenced);
        std::fflush(stdout);
        all_torn_down = all_torn_down && times.fenced == 0;
      }
    }
  }
  if (std::ranges::any_of(plans, [](const auto& plan) { return !plan; }))
    fmt::print(
        "drain: the model's bus mastering and reset take no time, so 0 ns says nothing of a "
        "card\n");
  return all_torn_down;
}

int run_program(int argc, char** argv) {
  CLI::App app{"How long thousands of leases take to end together.", "mass_revoke_bench"};
  Arguments arguments;
  app.add_option("--leases", arguments.leases, "how many, comma separated")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(CLI::Range(1U, lease::LeaseTable::kMaxSlots))
      ->capture_default_str();
  app.add_option("--plan", arguments.plans,
                 std::string("of ") + kMeasured + ", comma separated; drain is everything at once")
      ->type_name("LIST")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--firmware", arguments.firmware,
                 "parallel: works on all slots at once; serial: on one after the other")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(CLI::IsMember({"parallel", "serial"}))
      ->capture_default_str();
  app.footer(
      "\nThe model gives bus mastering and a reset no time of their own, so a drain takes none "
      "there.\nStatus 0: no lease was FENCED. 1: some were. 2: it could not be measured.");
  const auto text = program::parse_arguments(app, {argv + 1, argv + argc});
  const auto refuse = [](const Error& error) {
    fmt::print(stderr, "mass_revoke_bench: {}\n", error.text);
    return 2;
  };
  if (!text) return refuse(text.error());
  if (*text) {
    fmt::print("{}", **text);
    return 0;
  }
  const auto all_torn_down = run(arguments);
  if (!all_torn_down) return refuse(all_torn_down.error());
  return *all_torn_down ? 0 : 1;
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  return portcullis::program::run_main("mass_revoke_bench",
                                       [&] { return portcullis::bench::run_program(argc, argv); });
}
