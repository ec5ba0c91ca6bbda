// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/metrics.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/udp_socket.hpp"
#include "base/unique_fd.hpp"

namespace portcullis::service::daemon {
namespace {

constexpr double kSecondsPerNs = 1e-9;

/// The contract is one second; a fence on a card is expected in microseconds, so there are bounds
/// from a microsecond on.
const prometheus::Histogram::BucketBoundaries& bounds() {
  static const prometheus::Histogram::BucketBoundaries all{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4,
                                                           2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2,
                                                           5e-2, 0.1,  0.2,  0.5,  1.0,  2.0,  5.0};
  return all;
}

template <class Builder>
auto& family(prometheus::Registry& registry, Builder builder, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

constexpr std::array<const char*, 3> kStates{"active", "revoking", "fenced"};

/// Who asks for half a page has one of so many threads for so long, and no other reader's.
constexpr const char* kReaders = "8";
constexpr const char* kReaderMs = "2000";

/// What the system says of listening there; the web server does not tell it.
std::optional<std::string> why_not(const std::string& address) {
  const auto parsed = UdpAddress::parse(address, "metrics");
  if (!parsed) return parsed.error().text;
  const UniqueFd tried(::socket(parsed->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!tried.is_open() || ::bind(tried.get(), parsed->generic(), parsed->bytes()) == 0)
    return std::nullopt;
  return std::strerror(errno);
}

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()),
      info_(family(*registry_, prometheus::BuildGauge(), "portcullis_info",
                   "1; the device and the version are labels")),
      leases_(family(*registry_, prometheus::BuildGauge(), "portcullis_leases",
                     "leases by tenant and state; a fenced one keeps its slot out of use")),
      slots_(family(*registry_, prometheus::BuildGauge(), "portcullis_slots",
                    "slots of the device: held, resting behind a lease, out of use, and free")),
      connections_(family(*registry_, prometheus::BuildGauge(), "portcullis_connections",
                          "clients that are connected, by transport")),
      lost_(family(*registry_, prometheus::BuildGauge(), "portcullis_lost",
                   "1 while the device or the journal is lost, and nothing is granted")),
      granted_(family(*registry_, prometheus::BuildCounter(), "portcullis_grants_total",
                      "leases that the device granted, whether or not they could be told of; "
                      "each has its end in portcullis_leases_ended_total")
                   .Add({})),
      refused_(family(*registry_, prometheus::BuildCounter(), "portcullis_grants_refused_total",
                      "grants that were refused, by the code that was told")),
      challenges_met_(family(*registry_, prometheus::BuildCounter(),
                             "portcullis_challenges_met_total",
                             "leases whose holder wrote the challenge's number in time; those "
                             "who did not are leases that ended with cause challenge")
                          .Add({})),
      ended_(family(*registry_, prometheus::BuildCounter(), "portcullis_leases_ended_total",
                    "leases that have their outcome, by outcome, cause and what proved it; "
                    "with those that the start of this server ended")),
      revoke_seconds_(family(*registry_, prometheus::BuildHistogram(), "portcullis_revoke_seconds",
                             "from a revoke that was asked for to its outcome")),
      journal_seconds_(family(*registry_, prometheus::BuildHistogram(),
                              "portcullis_journal_write_seconds",
                              "of one write of the journal, which may hold many entries")
                           .Add({}, bounds())),
      command_seconds_(
          family(*registry_, prometheus::BuildHistogram(), "portcullis_command_seconds",
                 "from handing a firmware command to the device to the driver's seeing "
                 "its answer, by command and by what came of it")) {}

Metrics::~Metrics() = default;

Result<void> Metrics::serve(const std::string& address) {
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", address, "num_threads", kReaders,
                                 "request_timeout_ms", kReaderMs, "enable_keep_alive", "no"});
  } catch (const std::exception& error) {
    return fail(Errc::Busy,
                fmt::format("metrics {}: {}; an address of this host's and a port that is free are "
                            "accepted",
                            address, why_not(address).value_or(error.what())));
  }
  exposer_->RegisterCollectable(registry_);
  const auto parts = split_host_and_port(address);
  const auto ports = exposer_->GetListeningPorts();
  address_ = address;
  if (parts && !ports.empty())
    address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(ports.front());
  return {};
}

void Metrics::describe(const About& about) {
  info_
      .Add({{"device", about.device},
            {"version", about.version},
            {"emulated", about.is_emulated ? "yes" : "no"}})
      .Set(1);
}

void Metrics::granted() { granted_.Increment(); }

void Metrics::refused(wire::Code code) {
  refused_.Add({{"code", std::string(wire::name(code))}}).Increment();
}

void Metrics::challenge_met() { challenges_met_.Increment(); }

void Metrics::ended(const Ending& ending, const std::string& plan,
                    std::optional<std::uint64_t> revoke_ns) {
  const std::string outcome(wire::name(ending.outcome));
  ended_
      .Add({{"outcome", outcome},
            {"cause", std::string(wire::name(ending.cause))},
            {"memory", std::string(wire::name(ending.memory))}})
      .Increment();
  if (!revoke_ns) return;
  revoke_seconds_.Add({{"plan", plan}, {"outcome", outcome}}, bounds())
      .Observe(static_cast<double>(*revoke_ns) * kSecondsPerNs);
}

void Metrics::restarted(std::uint64_t leases, bool is_proved) {
  if (leases == 0) return;
  const Ending how = ending_by_restart(is_proved);
  ended_
      .Add({{"outcome", std::string(wire::name(how.outcome))},
            {"cause", std::string(wire::name(how.cause))},
            {"memory", std::string(wire::name(how.memory))}})
      .Increment(static_cast<double>(leases));
}

void Metrics::journal_wrote(std::uint64_t ns) {
  journal_seconds_.Observe(static_cast<double>(ns) * kSecondsPerNs);
}

void Metrics::command(const CommandTime& took) {
  std::string_view answer = "done";
  if (took.error != nullptr)
    answer = took.error->code == Errc::CommandFailed ? "refused" : "unanswered";
  auto& histogram = by_command_[{took.opcode, answer}];
  if (histogram == nullptr)
    histogram = &command_seconds_.Add(
        {{"command", std::string(prm::name(took.opcode))}, {"answer", std::string(answer)}},
        bounds());
  histogram->Observe(static_cast<double>(took.ns) * kSecondsPerNs);
}

void Metrics::set(const State& state) {
  const Counts& slots = state.slots;
  const std::uint32_t used = slots.held + slots.resting + slots.out;
  slots_.Add({{"state", "held"}}).Set(slots.held);
  slots_.Add({{"state", "resting"}}).Set(slots.resting);
  slots_.Add({{"state", "out"}}).Set(slots.out);
  slots_.Add({{"state", "free"}}).Set(slots.slots > used ? slots.slots - used : 0);
  connections_.Add({{"transport", "socket"}}).Set(static_cast<double>(state.socket_connections));
  connections_.Add({{"transport", "quic"}}).Set(static_cast<double>(state.quic_connections));
  lost_.Add({{"what", "device"}}).Set(slots.is_lost ? 1 : 0);
  lost_.Add({{"what", "journal"}}).Set(state.is_journal_lost ? 1 : 0);
  set_leases(state.leases);
}

/// A tenant that has none any more is taken out: its number would be there for ever.
void Metrics::set_leases(const std::map<std::uint64_t, LeaseTally>& leases) {
  const std::lock_guard<std::mutex> one(lock_);
  for (auto at = tenants_.begin(); at != tenants_.end();) {
    if (leases.contains(at->first)) {
      ++at;
      continue;
    }
    for (prometheus::Gauge* gauge : at->second) leases_.Remove(gauge);
    at = tenants_.erase(at);
  }
  for (const auto& [tenant, tally] : leases) {
    auto& gauges = tenants_[tenant];
    const std::array<std::uint32_t, 3> counts{tally.active, tally.revoking, tally.fenced};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (gauges[i] == nullptr)
        gauges[i] = &leases_.Add({{"tenant", std::to_string(tenant)}, {"state", kStates[i]}});
      gauges[i]->Set(counts[i]);
    }
  }
}

std::vector<prometheus::MetricFamily> Metrics::collect() const { return registry_->Collect(); }

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(collect()); }

}  // namespace portcullis::service::daemon
