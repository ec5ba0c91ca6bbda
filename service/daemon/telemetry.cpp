// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/telemetry.hpp"

#include <prometheus/metric_family.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace portcullis::service::daemon {
namespace {

using Families = std::vector<prometheus::MetricFamily>;
using Numbers = std::map<std::string, std::uint64_t>;  // a dictionary of the answer

constexpr double kMicrosecondsPerSecond = 1e6;

/// Who answers, if anybody does, and that nobody goes while a thread of the EAL is asking.
struct Answering {
  std::mutex lock;
  const Metrics* metrics = nullptr;
};
Answering& answering() {
  static Answering one;
  return one;
}

std::string label(const prometheus::ClientMetric& metric, std::string_view name) {
  for (const auto& each : metric.label)
    if (each.name == name) return each.value;
  return {};
}

/// The EAL takes letters, digits, '_' and '/' in a name, and refuses any other: all else becomes
/// '_'.
std::string name_of(std::string_view text) {
  std::string name(text);
  const auto is_taken = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9');
  };
  for (char& each : name)
    if (!is_taken(each)) each = '_';
  return name;
}

std::optional<std::uint64_t> tenant_of(std::string_view text) {
  std::uint64_t tenant = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, tenant);
  if (text.empty() || rest != end || error != std::errc()) return std::nullopt;
  return tenant;
}

const std::vector<prometheus::ClientMetric>& series(const Families& families,
                                                    std::string_view name) {
  static const std::vector<prometheus::ClientMetric> none;
  const auto found = std::find_if(families.begin(), families.end(),
                                  [name](const auto& each) { return each.name == name; });
  return found == families.end() ? none : found->metric;
}

/// A series has one of the two, and 0 in the other.
std::uint64_t value_of(const prometheus::ClientMetric& metric) {
  return static_cast<std::uint64_t>(metric.gauge.value + metric.counter.value);
}

/// By the values of those labels: "TornDown/holder".
std::string key_of(const prometheus::ClientMetric& metric,
                   std::initializer_list<std::string_view> labels) {
  std::string key;
  for (const std::string_view each : labels)
    key += (key.empty() ? "" : "/") + name_of(label(metric, each));
  return key;
}

Numbers summed(const Families& families, std::string_view name,
               std::initializer_list<std::string_view> labels) {
  Numbers numbers;
  for (const auto& metric : series(families, name)) {
    numbers[key_of(metric, labels)] += value_of(metric);
  }
  return numbers;
}

void add(rte_tel_data* to, const char* name, std::uint64_t number) {
  // Renamed in DPDK 23.03; the old name draws a warning since, and Debian 12 (22.11) has no other.
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
  (void)rte_tel_data_add_dict_uint(to, name, number);
#else
  (void)rte_tel_data_add_dict_u64(to, name, number);
#endif
}

void add(rte_tel_data* to, const Numbers& numbers) {
  for (const auto& [name, number] : numbers) add(to, name.c_str(), number);
}

/// The EAL frees what it was given once it has written it.
void add(rte_tel_data* to, const char* name, const Numbers& numbers) {
  rte_tel_data* inner = rte_tel_data_alloc();
  if (inner == nullptr) return;
  (void)rte_tel_data_start_dict(inner);
  add(inner, numbers);
  if (rte_tel_data_add_dict_container(to, name, inner, 0) != 0) rte_tel_data_free(inner);
}

/// How often, and how long in all.
Numbers times_of(const prometheus::ClientMetric& metric) {
  const double us = metric.histogram.sample_sum * kMicrosecondsPerSecond;
  return {{"count", metric.histogram.sample_count}, {"us", static_cast<std::uint64_t>(us)}};
}

void add_times(rte_tel_data* to, const char* name, const Families& families, std::string_view of,
               std::initializer_list<std::string_view> labels) {
  rte_tel_data* all = rte_tel_data_alloc();
  if (all == nullptr) return;
  (void)rte_tel_data_start_dict(all);
  for (const auto& metric : series(families, of)) {
    add(all, key_of(metric, labels).c_str(), times_of(metric));
  }
  if (rte_tel_data_add_dict_container(to, name, all, 0) != 0) rte_tel_data_free(all);
}

/// Those of one tenant, or of all.
Numbers leases_of(const Families& families, std::optional<std::uint64_t> tenant) {
  Numbers numbers{{"active", 0}, {"revoking", 0}, {"fenced", 0}};
  for (const auto& metric : series(families, "portcullis_leases"))
    if (!tenant || label(metric, "tenant") == std::to_string(*tenant))
      numbers[label(metric, "state")] += value_of(metric);
  return numbers;
}

bool tell_leases(const Families& families, std::string_view parameter, rte_tel_data* answer) {
  const auto tenant = tenant_of(parameter);
  if (!parameter.empty() && !tenant) return false;
  add(answer, leases_of(families, tenant));
  if (tenant) return true;
  add(answer, "slots", summed(families, "portcullis_slots", {"state"}));
  add(answer, "connections", summed(families, "portcullis_connections", {"transport"}));
  for (const auto& metric : series(families, "portcullis_grants_total"))
    add(answer, "granted", value_of(metric));
  for (const auto& metric : series(families, "portcullis_challenges_met_total"))
    add(answer, "challenges_met", value_of(metric));
  add(answer, "refused", summed(families, "portcullis_grants_refused_total", {"code"}));
  return true;
}

bool tell_fences(const Families& families, std::string_view parameter, rte_tel_data* answer) {
  if (!parameter.empty()) return false;
  add(answer, "ended",
      summed(families, "portcullis_leases_ended_total", {"outcome", "cause", "memory"}));
  add_times(answer, "revokes", families, "portcullis_revoke_seconds", {"plan", "outcome"});
  return true;
}

bool tell_device(const Families& families, std::string_view parameter, rte_tel_data* answer) {
  if (!parameter.empty()) return false;
  for (const auto& metric : series(families, "portcullis_info"))
    for (const char* each : {"device", "version", "emulated"}) {
      constexpr std::size_t kMost = RTE_TEL_MAX_STRING_LEN - 1;
      const std::string text = label(metric, each).substr(0, kMost);
      (void)rte_tel_data_add_dict_string(answer, each, text.c_str());
    }
  add(answer, "lost", summed(families, "portcullis_lost", {"what"}));
  add_times(answer, "commands", families, "portcullis_command_seconds", {"command", "answer"});
  for (const auto& metric : series(families, "portcullis_journal_write_seconds"))
    add(answer, "journal_writes", times_of(metric));
  return true;
}

struct Command {
  const char* name;
  bool (*tell)(const Families&, std::string_view parameter, rte_tel_data*);
  const char* help;
};
constexpr std::array<Command, 3> kCommands = {{
    {"/portcullis/leases", tell_leases,
     "Leases by state, slots, grants and connections. Parameter: none, or a tenant's number for "
     "its leases alone"},
    {"/portcullis/fences", tell_fences,
     "Leases that have ended by outcome, cause and what proved it, and how long revokes took. "
     "No parameter"},
    {"/portcullis/device", tell_device,
     "The device, whether it or the journal is lost, and how long firmware commands took. "
     "No parameter"},
}};

/// In a thread of the EAL. -1: null is answered.
int on_command(const char* name, const char* parameter, rte_tel_data* answer) {
  const std::string_view wanted(name);
  const auto* command = std::find_if(kCommands.begin(), kCommands.end(),
                                     [wanted](const Command& each) { return wanted == each.name; });
  Answering& one = answering();
  const std::lock_guard<std::mutex> held(one.lock);
  if (command == kCommands.end() || one.metrics == nullptr) return -1;
  (void)rte_tel_data_start_dict(answer);
  const std::string_view said = parameter == nullptr ? "" : parameter;
  return command->tell(one.metrics->collect(), said, answer) ? 0 : -1;
}

}  // namespace

Result<std::unique_ptr<Telemetry>> Telemetry::answer(const Metrics& metrics) {
  Answering& one = answering();
  const std::lock_guard<std::mutex> held(one.lock);
  if (one.metrics != nullptr)
    return fail(Errc::Busy, "telemetry: another server of this process answers");
  static bool is_registered = false;  // under the lock
  for (const Command& each : kCommands)
    if (!is_registered && rte_telemetry_register_cmd(each.name, on_command, each.help) != 0)
      return fail(Errc::System, std::string("telemetry: the EAL does not take ") + each.name);
  is_registered = true;
  one.metrics = &metrics;
  return std::unique_ptr<Telemetry>(new Telemetry);
}

Telemetry::~Telemetry() {
  Answering& one = answering();
  const std::lock_guard<std::mutex> held(one.lock);
  one.metrics = nullptr;
}

}  // namespace portcullis::service::daemon
