// SPDX-License-Identifier: BSD-3-Clause
//
// How long a revoke takes: from the call until every outcome stands. Per plan; idle, while the
// clients write, and with work for the firmware in every other command slot; for one lease and for
// many of one tenant, one call after the other or one for all. And each approach of the
// floor document, section 3.1, and how many leases of one tenant meet the contract of 1 s.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/common/capacity.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/common/slot_load.hpp"
#include "bench/common/suite.hpp"
#include "lease/fence_plan.hpp"
#include "proof/tenancy.hpp"

namespace portcullis::bench {
namespace {

constexpr std::uint64_t kLeastRounds = 20;
constexpr std::uint64_t kLeastLongRounds = 3;  // of so many leases that a round takes long
constexpr std::uint32_t kManyLeases = 256;
constexpr std::uint32_t kMostLeases = 4096;
constexpr std::uint32_t kMostLeasesQuick = 8;

/// Slots: full when the revoke is called. Nobody can fill one while the fence waits for a command,
/// since a command queue has one thread; Refilled does all the same, for firmware that others keep
/// busy.
enum class Load : std::uint8_t { None, Write, Slots, Refilled };
constexpr std::array kLoads{Load::None, Load::Write, Load::Slots, Load::Refilled};

/// Refilling through a linger of 50 ms would ask for more pages than the driver gives.
bool suits(Load load, const lease::Plan& plan, std::uint32_t leases) {
  const bool lingers = std::ranges::any_of(plan.steps, &lease::PlanStep::after_linger);
  return load != Load::Refilled || (leases == 1 && !lingers);
}

bool fills_slots(Load load) { return load == Load::Slots || load == Load::Refilled; }

const char* name(Load load) {
  switch (load) {
    case Load::None:
      return "none";
    case Load::Write:
      return "write";
    case Load::Slots:
      return "slots";
    case Load::Refilled:
      return "refilled";
  }
  return "unknown";
}

const char* picture(Load load) {
  switch (load) {
    case Load::None:
      return "idle";
    case Load::Write:
      return "under WRITE traffic";
    case Load::Slots:
      return "with CREATE_MKEY, CREATE_QP and pages in every other slot";
    case Load::Refilled:
      return "with every other slot refilled meanwhile";
  }
  return "unknown";
}

const char* name(proof::RevokeMode mode) {
  return mode == proof::RevokeMode::Serial ? "serial" : "batched";
}

/// What one series measures of a round.
enum class Phase : std::uint8_t { Outcome, Deferred };

struct Round {
  lease::Plan plan;
  Load load = Load::None;
  Phase phase = Phase::Outcome;
  bool has_entry = false;  // a DROP entry is part of it
  std::optional<proof::DropTrial> drop = std::nullopt;
};

/// `samples` counts revoked leases, so that many leases take no longer than one; but a handful of
/// rounds is no distribution.
std::uint64_t rounds_of(std::uint64_t samples, std::uint32_t leases) {
  const std::uint64_t least = leases < kManyLeases ? kLeastRounds : kLeastLongRounds;
  return std::max(samples / leases, std::min(samples, least));
}

/// Past the burst with which it begins.
Result<void> warm_up(proof::Session& session, SlotLoad& load) {
  constexpr std::uint64_t kTurns = 4;
  constexpr std::uint64_t kDeadlineNs = 60 * kNsPerSecond;
  PORTCULLIS_TRY(load.start());
  const std::uint64_t until = load.commands() + kTurns * load.slots();
  PORTCULLIS_TRY_ASSIGN(const bool is_warm,
                        session.run_until(session.now_ns() + kDeadlineNs,
                                          [&load, until] { return load.commands() >= until; }));
  if (!is_warm)
    return fail(Errc::Timeout, fmt::format("the work beside the revoke came to nothing within {} s",
                                           kDeadlineNs / kNsPerSecond));
  return {};
}

/// How many of the other slots' commands the device was at when a revoke was called.
struct AtTheCall {
  std::size_t slots = 0;
  std::vector<std::size_t> in_flight;  // one a revoke
};

Result<std::optional<std::uint64_t>> run(proof::Session& session, proof::Tenancy& tenancy,
                                         SlotLoad* load, const Round& round,
                                         AtTheCall& at_the_call) {
  PORTCULLIS_TRY(tenancy.grant_all());
  if (round.load == Load::Write) PORTCULLIS_TRY(tenancy.start_traffic());
  if (load != nullptr) PORTCULLIS_TRY(warm_up(session, *load));
  if (round.load == Load::Slots) {
    at_the_call.slots = load->slots();
    at_the_call.in_flight.push_back(load->hold());
  }
  std::uint64_t start = session.now_ns();
  PORTCULLIS_TRY(tenancy.revoke_all(round.plan));
  std::uint64_t end = session.now_ns();
  if (load != nullptr) PORTCULLIS_TRY(load->stop());
  if (round.phase == Phase::Deferred) {
    start = session.now_ns();
    PORTCULLIS_TRY(tenancy.run_deferred());
    end = session.now_ns();
  }
  PORTCULLIS_TRY(tenancy.finish());
  return std::optional<std::uint64_t>(end - start);
}

/// What the program was asked for, and what its series noted besides their times.
struct Run {
  Options options;
  AtTheCall at_the_call;
};

SeriesPlan series_of(Run& all, std::string series_name, const Round& round, std::uint32_t leases,
                     proof::RevokeMode mode) {
  const Options& options = all.options;
  SeriesPlan series;
  series.name = std::move(series_name);
  series.picture = picture(round.load);
  series.wall_samples = rounds_of(options.samples, leases);
  // Pages are the third thing that firmware is busy with; a card asks for them by itself.
  if (fills_slots(round.load)) series.model_behaviour = "page-starved";
  series.needs_wall_clock = fills_slots(round.load);
  proof::TenancyOptions tenancy_options;
  tenancy_options.leases = leases;
  tenancy_options.timeout = static_cast<std::uint8_t>(options.timeout);
  tenancy_options.retry = static_cast<std::uint8_t>(options.retry);
  tenancy_options.mode = mode;
  tenancy_options.are_together = round.plan.is_for_groups();
  if (round.has_entry) tenancy_options.entries.emplace();
  tenancy_options.entry = round.plan.entry;
  tenancy_options.drop = round.drop;
  AtTheCall* const at_the_call = &all.at_the_call;
  series.prepare = [=](proof::Session& session) -> Result<Sampler> {
    if (session.context().is_kept) PORTCULLIS_TRY(lease::check_for_kept_nic(round.plan));
    PORTCULLIS_TRY_ASSIGN(auto made, proof::Tenancy::create(session, tenancy_options));
    std::shared_ptr<proof::Tenancy> tenancy = std::move(made);
    std::shared_ptr<SlotLoad> load;
    if (fills_slots(round.load)) {
      PORTCULLIS_TRY_ASSIGN(auto made_load, SlotLoad::create(session));
      load = std::move(made_load);
    }
    return Sampler([&session, tenancy, load, round, at_the_call] {
      return run(session, *tenancy, load.get(), round, *at_the_call);
    });
  };
  return series;
}

std::string name_of(const lease::Plan& plan, std::uint32_t leases, proof::RevokeMode mode,
                    Load load) {
  return fmt::format("revoke/plan:{}/leases:{}/mode:{}/load:{}", plan.full_name(), leases,
                     name(mode), name(load));
}

/// The floor document, section 3.1: two commands alone; an immediate fence whose third step is the
/// DROP entry, with a deferred phase that begins with taking it out; everything at once; and its
/// entries row by row where they were asked for. What an entry alone does to traffic is
/// steering_bench's.
void add_approaches(Run& run, std::vector<SeriesPlan>& all) {
  const auto add = [&](const char* what, const Round& round) {
    all.push_back(series_of(run, fmt::format("revoke/approach:{}/load:write", what), round, 1,
                            proof::RevokeMode::Serial));
  };
  add("bare", {lease::seed_plan(), Load::Write, Phase::Outcome});
  add("split", {lease::seed_plan(), Load::Write, Phase::Outcome, /*has_entry=*/true});
  add("split,deferred", {lease::seed_plan(), Load::Write, Phase::Deferred, /*has_entry=*/true});
  add("legacy", {lease::legacy_plan(), Load::Write, Phase::Outcome});
  for (const proof::DropTrial& drop : drops_of(run.options))
    add(name(drop).c_str(), {lease::seed_plan(), Load::Write, Phase::Outcome, false, drop});
}

std::vector<SeriesPlan> series(Run& run) {
  std::vector<SeriesPlan> all;
  for (const Load load : kLoads)
    for (const std::uint32_t leases : run.options.leases)
      for (const lease::Plan& plan : plans_of(run.options))
        for (const proof::RevokeMode mode : {proof::RevokeMode::Serial, proof::RevokeMode::Batched})
          if (suits(load, plan, leases) && (leases > 1 || mode == proof::RevokeMode::Serial))
            all.push_back(series_of(run, name_of(plan, leases, mode, load),
                                    {plan, load, Phase::Outcome}, leases, mode));
  add_approaches(run, all);
  return all;
}

const Series* find(const Report& report, const std::string& name) {
  const auto found =
      std::ranges::find_if(report.series(), [&](const Series& one) { return one.name == name; });
  return found == report.series().end() ? nullptr : &*found;
}

/// What the firmware's other work costs a revoke, on the clock of the wall.
void compare_with_load(const Options& options, const Report& report) {
  for (const lease::Plan& plan : plans_of(options)) {
    const auto wall = [&](Load load) -> const Series* {
      const Series* found =
          find(report, name_of(plan, 1, proof::RevokeMode::Serial, load) + "/clock:wall");
      return found == nullptr || !found->latency.tells(0.99) ? nullptr : found;
    };
    const Series* idle = wall(Load::None);
    if (idle == nullptr) continue;
    const auto idle_ns = static_cast<double>(idle->latency.percentile_ns(0.99));
    for (const Load load : {Load::Slots, Load::Refilled}) {
      const Series* loaded = wall(load);
      if (loaded == nullptr) continue;
      const auto loaded_ns = static_cast<double>(loaded->latency.percentile_ns(0.99));
      fmt::print("{}: p99 {} {}, idle {}: {:.1f} times\n", plan.full_name(), picture(load),
                 duration_text(loaded_ns), duration_text(idle_ns), loaded_ns / idle_ns);
    }
  }
}

/// How full load:slots was.
void print_at_the_call(AtTheCall& at_the_call) {
  std::vector<std::size_t>& in_flight = at_the_call.in_flight;
  if (in_flight.empty()) return;
  std::ranges::sort(in_flight);
  fmt::print(
      "load:slots: all {} other slots were occupied when a revoke was called; the device was "
      "at the commands of {} (median; least {})\n",
      at_the_call.slots, in_flight[in_flight.size() / 2], in_flight.front());
}

std::string capacity_text(const lease::Plan& plan, proof::RevokeMode mode, std::uint32_t limit) {
  const auto capacity = find_capacity(plan, mode, limit);
  if (!capacity) return fmt::format("{}: {}", name(mode), capacity.error().text);
  return fmt::format("{} {}{} in {}", name(mode), capacity->is_at_limit ? "at least " : "",
                     capacity->leases, duration_text(static_cast<double>(capacity->time_ns)));
}

/// None for a plan whose best outcome meets no contract. Where the virtual clock was not asked for,
/// on a card above all, nobody asked for the model's either.
void print_capacities(const Options& options, const Report& report) {
  if (std::ranges::none_of(report.series(), &Series::is_virtual)) return;
  fmt::print("\nleases of one tenant taken back within 1 s, idle (model, timing={}, emulated)\n",
             kCapacityTiming);
  const std::uint32_t limit = options.is_quick ? kMostLeasesQuick : kMostLeases;
  for (const lease::Plan& plan : plans_of(options))
    if (plan.best_outcome() == lease::Outcome::TornDown && !is_interrupted())
      fmt::print("{:22} {}; {}\n", plan.full_name(),
                 capacity_text(plan, proof::RevokeMode::Serial, limit),
                 capacity_text(plan, proof::RevokeMode::Batched, limit));
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  namespace bench = portcullis::bench;
  bench::Suite suite;
  suite.info = {.name = "revoke_bench",
                .summary = "How long a revoke takes: from the call until its outcome stands.",
                .has_plans = true,
                .has_leases = true,
                .has_retry = false,
                .default_samples = 200,
                .quick_samples = 2};
  suite.title = "revoke_bench: call to outcome";
  suite.references = {{"floor document: 12 ms", 12'000'000}, {"floor document: 1.5 ms", 1'500'000}};
  const auto run = std::make_shared<bench::Run>();
  suite.series = [run](const bench::Options& given) {
    run->options = given;
    return bench::series(*run);
  };
  suite.conclude = [run](const bench::Report& report) -> portcullis::Result<void> {
    bench::compare_with_load(run->options, report);
    bench::print_at_the_call(run->at_the_call);
    bench::print_capacities(run->options, report);
    return {};
  };
  return bench::run_suite(argc, argv, suite);
}
