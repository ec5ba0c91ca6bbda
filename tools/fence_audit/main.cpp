// SPDX-License-Identifier: BSD-3-Clause
//
// fence-audit: whether memory changes after a fence has answered, on the device that is named.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "attach/open_device.hpp"
#include "pmd/eal.hpp"
#include "program/log_line.hpp"
#include "program/output_file.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "proof/audit.hpp"
#include "tools/fence_audit/options.hpp"
#include "tools/fence_audit/report.hpp"
#include "tools/fence_audit/served_audit.hpp"
#include "tools/own_port.hpp"

namespace {

using portcullis::Errc;
using portcullis::Result;
using portcullis::attach::DeviceSpec;
using portcullis::proof::AuditVerdict;
using portcullis::proof::PlanAudit;
using portcullis::service::exchange::LineChannel;
using namespace portcullis::tools::fence_audit;

std::atomic<bool> stop_asked{false};

/// Under the load of lease-verify; Ctrl-C ends it after the lease in hand, with what it came to.
Result<PlanAudit> audit_listening(const DeviceSpec& spec, LineChannel& channel,
                                  const portcullis::lease::Plan& plan, const Options& options) {
  PlanAudit found{.plan = plan.full_name(), .is_served = true};
  const auto stop = [] { return stop_asked.load(); };
  while (found.fences < options.audit.fences && !stop()) {
    PORTCULLIS_TRY_ASSIGN(const auto port, portcullis::tools::open_port(spec, options.address));
    fmt::print("plan {}: awaiting lease-verify --revoke-test; neighbour: {}\n", plan.full_name(),
               port->neighbour_advice());
    std::fflush(stdout);
    PORTCULLIS_TRY(audit_served(
        *port, channel, plan, options.audit,
        std::min(options.audit.fences, found.fences + portcullis::proof::kFencesPerSession), stop,
        found));
  }
  return found;
}

/// What cannot be written at the end is refused before the work.
Result<void> check_files(const Options& options, const portcullis::attach::DeviceSpec& spec) {
  PORTCULLIS_TRY(portcullis::program::check_outputs(
      portcullis::tools::with_device_files(
          {{"--json", options.json}, {"--per-fence", options.per_fence}}, spec),
      {}));
  for (const std::string* const path : {&options.json, &options.per_fence})
    if (!path->empty()) PORTCULLIS_TRY(portcullis::program::check_output(*path));
  return {};
}

/// The audit was done whatever becomes of its files: what is lost is told at the end, by status 74.
void write_files(const Options& options, const std::string& device,
                 const std::vector<PlanAudit>& audits, const std::string& lines) {
  if (!options.json.empty())
    portcullis::program::keep_output("--json", options.json, json_of(device, audits));
  if (!options.per_fence.empty())
    portcullis::program::keep_output("--per-fence", options.per_fence, lines);
}

Result<AuditVerdict> run(Options& options) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, portcullis::attach::parse_device(options.device));
  PORTCULLIS_TRY(check_files(options, spec));
  portcullis::program::heed_stop_signals(stop_asked);
  options.audit.stop = [] { return stop_asked.load(); };
  PORTCULLIS_TRY_ASSIGN(const auto eal, spec.start_eal(options.eal));
  std::string lines(lines_header());
  if (!options.per_fence.empty())
    options.audit.on_fence = [&lines](const std::string& plan, const auto& record) {
      lines += line_of(plan, record);
    };
  const std::string device = options.device + (spec.is_emulated() ? ", emulated, not a card" : "");
  fmt::print("{}\n", device);
  std::unique_ptr<LineChannel> channel;  // null: clients of our own
  if (!options.listen.empty()) {
    PORTCULLIS_TRY_ASSIGN(channel, portcullis::service::exchange::listen_tcp(options.listen));
    fmt::print("{}\n", channel->who_may_ask());
  }
  std::vector<PlanAudit> audits;
  for (const std::string& name : options.plans) {
    PORTCULLIS_TRY_ASSIGN(const auto plan, portcullis::lease::parse_plan(name));
    if (spec.is_kept()) PORTCULLIS_TRY(portcullis::lease::check_for_kept_nic(plan));
    if (stop_asked) break;
    PORTCULLIS_TRY_ASSIGN(auto result, channel
                                           ? audit_listening(spec, *channel, plan, options)
                                           : portcullis::proof::audit(spec, plan, options.audit));
    fmt::print("{}", text_of(result));
    std::fflush(stdout);
    audits.push_back(std::move(result));
  }
  fmt::print("verdict: {}\n", verdict_of(audits));
  write_files(options, device, audits, lines);
  if (stop_asked)
    return portcullis::fail(Errc::Busy,
                            "stopped before all fences were done; the above is what "
                            "those came to that were");
  return verdict(audits);
}

int status_of(AuditVerdict verdict) {
  switch (verdict) {
    case AuditVerdict::Held:
      return 0;
    case AuditVerdict::Broken:
      return 2;
    case AuditVerdict::NoEvidence:
      return 3;
  }
  return 1;
}

int act(int argc, char** argv) {
  auto options = parse_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "fence-audit: {}\n", options.error().text);
    return 1;
  }
  if (!options->text.empty()) {
    fmt::print("{}", options->text);
    return 0;
  }
  options->audit.session = {.log = portcullis::program::log_to_stderr(),
                            .on_recording_lost = portcullis::program::note_lost_file};
  const auto found = run(*options);
  if (!found) {
    std::fflush(stdout);
    fmt::print(stderr, "fence-audit: {}\n", found.error().text);
    return 1;
  }
  return status_of(*found);
}

}  // namespace

int main(int argc, char** argv) {
  return portcullis::program::run_main(
      "fence-audit", [&] { return act(argc, argv); }, &stop_asked);
}
