// SPDX-License-Identifier: BSD-3-Clause
//
// What leased takes and stands: a real one, in a process of its own, over a model in that process,
// with its journal on disk. Under many clients nothing may be lost and no revoke may take over a
// second; by itself a revoke is held against what the fence takes without a service.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/service/baselines.hpp"
#include "bench/service/figures.hpp"
#include "bench/service/fleet.hpp"
#include "bench/service/lease_load.hpp"
#include "bench/service/leased_process.hpp"
#include "bench/service/single_revokes.hpp"
#include "program/command_line.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"

namespace portcullis::bench {
namespace {

constexpr int kLostStatus = 2;
constexpr double kMostOfSeqpacket = 2;
constexpr double kMostOfGrpc = 1;
constexpr std::uint64_t kMostRevokeNs = kNsPerSecond;
constexpr std::uint64_t kMostNoticeNs = kNsPerMs;
constexpr std::uint64_t kMostIdleBytes = 64 * 1024;
constexpr std::uint64_t kMostLeaseBytes = 1024;

struct Arguments {
  std::filesystem::path leased;
  std::filesystem::path grpc_echo;
  std::filesystem::path hca_server;
  std::string device = "model";
  std::vector<std::string> transports{"unix", "quic"};
  Scale scale;
  std::uint32_t seconds = 10;
  std::uint32_t samples = 2'000;
  std::string out_dir;
  bool polls = false;
  bool is_quick = false;
  std::optional<std::string> text;
};

Transport transport_of(const std::string& word) {
  return word == "quic" ? Transport::Quic : Transport::Unix;
}

bool has_quic(const Arguments& arguments) {
  return std::ranges::find(arguments.transports, "quic") != arguments.transports.end();
}

/// What is waited for where much is asked at once.
constexpr std::uint64_t kPatienceNs = 120 * kNsPerSecond;

Verdict memory_of(std::string name, std::uint64_t before, std::uint64_t after,
                  std::uint64_t count) {
  const double each = static_cast<double>(after - std::min(before, after)) /
                      static_cast<double>(std::max<std::uint64_t>(count, 1));
  return {.name = std::move(name),
          .found = fmt::format("{:.0f} bytes, of {}", each, count),
          .target = "no target",
          .is_met = {},
          .value = each};
}

Verdict judged(Verdict verdict, std::uint64_t most) {
  verdict.target = fmt::format("at most {}", most);
  verdict.is_met = *verdict.value <= static_cast<double>(most);
  return verdict;
}

std::string time_text(std::uint64_t ns) { return duration_text(static_cast<double>(ns)); }

// ---- Many clients ------------------------------------------------------------------------------

/// One server, its clients, and what is found of them.
class Crowd {
 public:
  Crowd(const Arguments& arguments, Transport transport, Figures& figures)
      : arguments_(&arguments),
        transport_(transport),
        name_(fmt::format("service/{}/", bench::name(transport))),
        figures_(&figures) {}

  Result<void> run() {
    PORTCULLIS_TRY_ASSIGN(auto leased,
                          LeasedProcess::start({.program = arguments_->leased,
                                                .device = arguments_->device,
                                                .scale = arguments_->scale,
                                                .has_quic = transport_ == Transport::Quic,
                                                .polls = arguments_->polls}));
    PORTCULLIS_TRY_ASSIGN(auto fleet, Fleet::create());
    LeaseLoad load(fleet);
    PORTCULLIS_TRY(fill(leased, fleet, load));
    PORTCULLIS_TRY(load.run(arguments_->scale.rate, arguments_->seconds * kNsPerSecond));
    tell_of(load);
    PORTCULLIS_TRY_ASSIGN(const std::string unlike_list, load.differs_from_list(kPatienceNs));
    note_loss(unlike_list);
    leased.ask_to_end();
    PORTCULLIS_TRY(load.hear_the_end(kPatienceNs));
    PORTCULLIS_TRY_ASSIGN(const int status, leased.wait(now_ns() + kPatienceNs));
    PORTCULLIS_TRY_ASSIGN(const std::string unlike_journal,
                          load.differs_from_journal(leased.journal().string()));
    note_loss(unlike_journal);
    const int wanted = load.fenced_at_end == 0 ? 0 : 1;
    if (status != wanted)
      note_loss(fmt::format("leased ended with status {}; {} expected", status, wanted));
    return {};
  }

 private:
  [[nodiscard]] static std::uint64_t now_ns() noexcept { return Clock::wall().now_ns(); }

  Result<void> fill(const LeasedProcess& leased, Fleet& fleet, LeaseLoad& load) {
    const Scale& scale = arguments_->scale;
    const std::uint64_t since_ns = now_ns();
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t alone, leased.resident_bytes());
    PORTCULLIS_TRY(fleet.open(leased, transport_, scale.connections, kPatienceNs));
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t connected, leased.resident_bytes());
    const std::uint64_t connected_ns = now_ns();
    figures_->add(
        judged(memory_of(name_ + "memory per idle connection", alone, connected, scale.connections),
               kMostIdleBytes));
    PORTCULLIS_TRY(load.fill(scale.leases, kPatienceNs));
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t filled, leased.resident_bytes());
    // What a card would have of each is in the same process here: see LeaseMemory.
    figures_->add(memory_of(name_ + "memory per lease, with the model's own part", connected,
                            filled, scale.leases));
    fmt::print("{}: {} connections after {}, {} leases after {} more\n", name_, fleet.size(),
               time_text(connected_ns - since_ns), load.held(), time_text(now_ns() - connected_ns));
    return {};
  }

  void tell_of(const LeaseLoad& load) {
    figures_->add(name_ + "load/alloc", load.alloc);
    figures_->add(name_ + "load/revoke", load.revoke);
    figures_->add({.name = name_ + "the slowest revoke",
                   .found = fmt::format("{}, {} by the server's own account, of {}",
                                        time_text(load.revoke.max_ns()),
                                        time_text(load.server_us * kNsPerUs), load.revokes),
                   .target = fmt::format("at most {}", time_text(kMostRevokeNs)),
                   .is_met = load.revoke.max_ns() <= kMostRevokeNs,
                   .value = static_cast<double>(load.revoke.max_ns())});
    note_loss(load.missing());
    figures_->add({.name = name_ + "answers",
                   .found = fmt::format("{} leases granted, {} allocs to be asked again later, {} "
                                        "revokes, {} of them Fenced",
                                        load.granted(), load.busy, load.revokes, load.fenced),
                   .target = "every one granted and TornDown",
                   .is_met = load.busy == 0 && load.fenced == 0});
  }

  void note_loss(const std::string& what) {
    if (!what.empty()) figures_->note_loss(name_ + " " + what);
  }

  const Arguments* arguments_;
  Transport transport_;
  std::string name_;
  Figures* figures_;
};

// ---- What a lease takes ------------------------------------------------------------------------

/// Of a server whose device is in another process, as a card is. Nobody writes to a region, and
/// until somebody does none of its pages is there.
class LeaseMemory {
 public:
  static Result<void> measure(const Arguments& arguments, Figures& figures) {
    PORTCULLIS_TRY_ASSIGN(auto leased, LeasedProcess::start({.program = arguments.leased,
                                                             .scale = arguments.scale,
                                                             .hca_server = arguments.hca_server}));
    PORTCULLIS_TRY_ASSIGN(auto fleet, Fleet::create());
    LeaseLoad load(fleet);
    PORTCULLIS_TRY(fleet.open(leased, Transport::Unix, kConnections, kPatienceNs));
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t before, leased.resident_bytes());
    PORTCULLIS_TRY(load.fill(arguments.scale.leases, kPatienceNs));
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t after, leased.resident_bytes());
    figures.add(judged(memory_of("service/memory per lease beyond its region, its device elsewhere",
                                 before, after, arguments.scale.leases),
                       kMostLeaseBytes));
    leased.ask_to_end();
    return load.hear_the_end(kPatienceNs);
  }

 private:
  static constexpr std::size_t kConnections = 16;
};

// ---- One revoke at a time ----------------------------------------------------------------------

/// In turns of a few, so that what else the machine does falls on all alike.
class Comparison {
 public:
  Comparison(const Arguments& arguments, Figures& figures)
      : arguments_(&arguments), figures_(&figures) {}

  Result<void> run() {
    PORTCULLIS_TRY_ASSIGN(const auto echo, EchoProcess::start());
    PORTCULLIS_TRY_ASSIGN(auto leased, LeasedProcess::start({.program = arguments_->leased,
                                                             .device = arguments_->device,
                                                             .scale = {},
                                                             .has_quic = has_quic(*arguments_),
                                                             .polls = arguments_->polls}));
    for (const std::string& word : arguments_->transports) {
      const auto measured = measure(leased, transport_of(word), echo);
      if (!measured)
        return fail(measured.error().code,
                    fmt::format("{}; leased: {}", measured.error().text, leased.last_words()));
    }
    for (const auto& [pace, found] : baselines_) {
      const std::string how = fmt::format(", {}", bench::name(pace));
      figures_->add("service/fence without a service" + how, found.fence);
      for (const auto& [place, round_trip] : found.seqpacket)
        if (!round_trip.is_empty())
          figures_->add(
              fmt::format("service/empty SEQPACKET round trip, {}{}", bench::name(place), how),
              round_trip);
      if (!found.grpc.is_empty())
        figures_->add("service/unary echo of gRPC, mutual TLS" + how, found.grpc);
    }
    leased.ask_to_end();
    return {};
  }

 private:
  static constexpr std::uint64_t kTurn = 200;
  struct Baselines {
    Histogram fence;
    std::map<Place, Histogram> seqpacket;
    Histogram grpc;
  };

  Result<void> measure(const LeasedProcess& leased, Transport transport, const EchoProcess& echo) {
    const std::string name = fmt::format("service/{}/", bench::name(transport));
    PORTCULLIS_TRY_ASSIGN(auto revokes, SingleRevokes::connect(leased, transport));
    std::map<Pace, Histogram> revoke;
    std::string no_unit;
    for (std::uint64_t done = 0; done < arguments_->samples; done += kTurn)
      for (const Pace pace : kPaces) {
        const std::uint64_t samples = std::min<std::uint64_t>(kTurn, arguments_->samples - done);
        PORTCULLIS_TRY(measure_baselines(leased, transport, echo, samples, pace, no_unit));
        PORTCULLIS_TRY(revokes.measure(samples, pace, revoke[pace]));
      }
    for (const auto& [pace, found] : revoke) {
      figures_->add(fmt::format("{}revoke, {}", name, bench::name(pace)), found);
      judge(name, transport, pace, found, no_unit);
    }
    PORTCULLIS_TRY_ASSIGN(const auto notices, revokes.measure_notices(arguments_->samples / 2));
    judge_notices(name, notices);
    return {};
  }

  Result<void> measure_baselines(const LeasedProcess& leased, Transport transport,
                                 const EchoProcess& echo, std::uint64_t samples, Pace pace,
                                 std::string& no_unit) {
    Baselines& into = baselines_[pace];
    const LeasedProcess::Halt halt(leased);
    PORTCULLIS_TRY(measure_fence(arguments_->device, arguments_->polls, samples, pace, into.fence));
    if (transport == Transport::Unix) return measure_echo(echo, samples, pace, into, no_unit);
    auto done = measure_grpc(arguments_->grpc_echo, leased.server_certificate(),
                             leased.certificate(1), samples, pace, into.grpc);
    if (done || done.error().code != Errc::NotFound) return done;
    no_unit = done.error().text;
    return {};
  }

  static Result<void> measure_echo(const EchoProcess& echo, std::uint64_t samples, Pace pace,
                                   Baselines& into, std::string& why_not) {
    for (const Place place : kPlaces) {
      auto done = echo.measure(samples, pace, place, into.seqpacket[place]);
      if (done) continue;
      if (done.error().code != Errc::Unsupported) return done;
      why_not = done.error().text;
    }
    return {};
  }

  /// A client and the server are not on one core, so neither are the ends of what it is held
  /// against.
  void judge(const std::string& name, Transport transport, Pace pace, const Histogram& revoke,
             const std::string& why_not) {
    const bool is_unix = transport == Transport::Unix;
    const char* const what =
        is_unix ? "an empty SEQPACKET round trip between two cores" : "a unary echo of gRPC";
    const double most = is_unix ? kMostOfSeqpacket : kMostOfGrpc;
    Baselines& found = baselines_[pace];
    Verdict verdict{.name = fmt::format("{}a revoke over the fence's own time, p50, {}", name,
                                        bench::name(pace)),
                    .found = why_not,
                    .target = fmt::format("at most {} of {}", most, what),
                    .is_met = {}};
    const auto with = percentile_ns(revoke, 0.5);
    const auto without = percentile_ns(found.fence, 0.5);
    const auto unit = percentile_ns(is_unix ? found.seqpacket[Place::TwoCores] : found.grpc, 0.5);
    if (with && without && unit && *with <= *without) {
      verdict.found = fmt::format("{} with it and {} without: what else the machine does decides",
                                  time_text(*with), time_text(*without));
    } else if (with && without && unit) {
      const std::uint64_t added_ns = *with - *without;
      verdict.value = static_cast<double>(added_ns) / static_cast<double>(*unit);
      verdict.is_met = *verdict.value <= most;
      verdict.found =
          fmt::format("{} - {} = {}, {:.2f} of {} ({})", time_text(*with), time_text(*without),
                      time_text(added_ns), *verdict.value, what, time_text(*unit));
    }
    figures_->add(std::move(verdict));
  }

  void judge_notices(const std::string& name, const SingleRevokes::Notices& notices) {
    figures_->add(name + "notice behind the revoker's answer", notices.behind);
    const auto p99 = percentile_ns(notices.behind, 0.99);
    Verdict verdict{.name = name + "a notice reaches its holder, p99",
                    .found = "too few samples",
                    .target = "at most 1 ms behind the revoker's answer",
                    .is_met = {}};
    if (p99) {
      verdict.found = fmt::format("{} behind it; before it in {} of {}", time_text(*p99),
                                  notices.earlier, notices.behind.count());
      verdict.is_met = *p99 <= kMostNoticeNs;
      verdict.value = static_cast<double>(*p99);
    }
    figures_->add(std::move(verdict));
  }

  const Arguments* arguments_;
  Figures* figures_;
  std::map<Pace, Baselines> baselines_;
};

// ---- The program -------------------------------------------------------------------------------

Figures::Context context_of(const Arguments& arguments) {
  const Scale& scale = arguments.scale;
  return {{"device", arguments.device + ", in leased's process"},
          {"emulated", "yes: not NIC latency"},
          {"timing", arguments.device},
          {"clock", "wall"},
          {"transports", fmt::format("{}", fmt::join(arguments.transports, ", "))},
          {"connections", std::to_string(scale.connections)},
          {"leases", std::to_string(scale.leases)},
          {"allocs and revokes a second", std::to_string(scale.rate)},
          {"seconds", std::to_string(arguments.seconds)},
          {"polls", arguments.polls ? "yes" : "no"},
          {"region_bytes", std::to_string(kRegionBytes)},
          {"cores", std::to_string(std::thread::hardware_concurrency())},
          {"portcullis", PORTCULLIS_VERSION},
          {"project_build_type", PORTCULLIS_BUILD},
          {"counters_unit", "ns"}};
}

void raise_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<int> run(const Arguments& arguments) {
  PORTCULLIS_TRY(LeasedProcess::slots_for(arguments.scale));
  raise_descriptors();
  heed_interrupts();
  Figures figures;
  fmt::print(
      "device: {}, emulated, not NIC latency; {} connections, {} leases, {} allocs and {} "
      "revokes a second for {} s\n",
      arguments.device, arguments.scale.connections, arguments.scale.leases, arguments.scale.rate,
      arguments.scale.rate, arguments.seconds);
  PORTCULLIS_TRY(Comparison(arguments, figures).run());
  PORTCULLIS_TRY(LeaseMemory::measure(arguments, figures));
  for (const std::string& word : arguments.transports)
    PORTCULLIS_TRY(Crowd(arguments, transport_of(word), figures).run());
  fmt::print("\n{}", figures.text());
  if (!arguments.out_dir.empty()) {
    PORTCULLIS_TRY_ASSIGN(const auto path, figures.write(arguments.out_dir, context_of(arguments)));
    fmt::print("written to {}\n", path);
  }
  for (const std::string& loss : figures.losses())
    fmt::print(stderr, "service_bench: lost: {}\n", loss);
  return figures.losses().empty() ? 0 : kLostStatus;
}

constexpr const char* kFooter = R"(
Starts leased with a journal on disk and a model in its process, over each transport: clients that
hold leases, allocs and revokes on a schedule that waits for nobody, then LEASE_LIST and the journal
held against what was told. What a lease takes of memory is measured with the model in a process of
its own, for what a card knows of a lease is none of leased's. By itself a revoke is held against an
empty SEQPACKET round trip and, where grpc_echo was built (libgrpc++-dev), a unary echo of gRPC with
certificates of both sides: rested, with 3 ms of nothing before each of what is timed, and back to
back.
Every figure is of a model: emulated, never the latency of a NIC.

exit status: 0 measured, met or missed; 1 not measured; 2 something was lost; 130 interrupted)";

void add_options(CLI::App& app, Arguments& arguments) {
  app.add_option("--leased", arguments.leased, "the server (default: of the same build)")
      ->type_name("PROGRAM");
  app.add_option("--grpc-echo", arguments.grpc_echo, "its peer of gRPC (default: beside this)")
      ->type_name("PROGRAM");
  app.add_option("--hca-server", arguments.hca_server,
                 "the model where it has a process of its own (default: of the same build)")
      ->type_name("PROGRAM");
  app.add_option("--device", arguments.device, "as leased takes it")->capture_default_str();
  app.add_option("--transport", arguments.transports, "unix, quic or both, comma separated")
      ->delimiter(',')
      ->check(CLI::IsMember({"unix", "quic"}))
      ->capture_default_str();
  app.add_option("--connections", arguments.scale.connections)
      ->check(CLI::Range(2U, 16'000U))
      ->capture_default_str();
  app.add_option("--leases", arguments.scale.leases)
      ->check(CLI::Range(1U, 60'000U))
      ->capture_default_str();
  app.add_option("--rate", arguments.scale.rate, "allocs a second, and as many revokes")
      ->check(CLI::Range(1U, 5'000U))
      ->capture_default_str();
  app.add_option("--seconds", arguments.seconds)
      ->check(CLI::Range(1U, 3'600U))
      ->capture_default_str();
  app.add_option("--samples", arguments.samples, "of revokes by themselves")
      ->check(CLI::Range(2U, 1'000'000U))
      ->capture_default_str();
  app.add_flag("--polls", arguments.polls,
               "the device's thread and the model never sleep: each wants a core of its own");
  app.add_option("--out-dir", arguments.out_dir, "service_bench.json goes there")->type_name("DIR");
  app.add_flag("--quick", arguments.is_quick, "50 connections, 500 leases, a second");
  app.footer(kFooter);
}

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"What leased takes and stands.", "service_bench"};
  add_options(app, arguments);
  std::vector<std::string> words(argv + 1, argv + argc);
  // The other suites have the EAL's arguments before it; there is no EAL here.
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  PORTCULLIS_TRY_ASSIGN(arguments.text, program::parse_arguments(app, std::move(words)));
  if (arguments.is_quick) {
    const auto choose = [&app](const char* option, std::uint32_t& value, std::uint32_t quick) {
      if (app.count(option) == 0) value = quick;
    };
    choose("--connections", arguments.scale.connections, 50);
    choose("--leases", arguments.scale.leases, 500);
    choose("--rate", arguments.scale.rate, 100);
    choose("--seconds", arguments.seconds, 1);
    choose("--samples", arguments.samples, 50);
  }
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (arguments.leased.empty())
    arguments.leased = own.parent_path() / "tools" / "leased" / "leased";
  if (arguments.hca_server.empty())
    arguments.hca_server = own.parent_path() / "tools" / "hca-server";
  if (arguments.grpc_echo.empty()) arguments.grpc_echo = own / "grpc_echo";
  return arguments;
}

int run_program(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  const auto refuse = [](const Error& error) {
    fmt::print(stderr, "service_bench: {}\n", error.text);
    return is_interrupted() ? program::kInterruptedStatus : 1;
  };
  if (!arguments) return refuse(arguments.error());
  if (arguments->text) {
    fmt::print("{}", *arguments->text);
    return 0;
  }
  const auto status = run(*arguments);
  return status ? *status : refuse(status.error());
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  return portcullis::program::run_main("service_bench",
                                       [&] { return portcullis::bench::run_program(argc, argv); });
}
