// SPDX-License-Identifier: BSD-3-Clause
#include "failover/semantics/validate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "failover/semantics/machine.hpp"

namespace portcullis::failover {
namespace {

Result<void> in_range(const Scenario& scenario, const std::string& what, std::uint64_t value,
                      std::uint64_t least, std::uint64_t greatest) {
  if (value >= least && value <= greatest) return {};
  return fail(Errc::InvalidArgument, fmt::format("model {}: {} is {}, accepted are {} to {}",
                                                 scenario.name, what, value, least, greatest));
}

Result<void> check_cells(const Scenario& scenario, const std::string& what, const Address& address,
                         unsigned count) {
  const bool is_shared = address.space == Address::Space::Shared;
  const unsigned cells = is_shared ? scenario.shared_cells : scenario.own_cells;
  if (cells < count)
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: {} needs {} {} cells, there are {}", scenario.name, what,
                            count, is_shared ? "shared" : "own", cells));
  return in_range(scenario, what + " cell", address.cell, 0, cells - count);
}

Result<void> check_request(const Scenario& scenario, const WorkRequest& request) {
  const std::string what = "work request " + request.name;
  const bool carries_data =
      request.opcode == Opcode::Write || request.opcode == Opcode::WriteWithImm;
  PORTCULLIS_TRY(check_cells(scenario, what, request.address, request.packets));
  PORTCULLIS_TRY(
      in_range(scenario, what + " packets", request.packets, 1, carries_data ? kMaxPackets : 1));
  PORTCULLIS_TRY(
      in_range(scenario, what + " operation", request.operation, 0, scenario.operations - 1));
  PORTCULLIS_TRY(in_range(scenario, what + " queue", request.queue, 0, 31));
  if (request.log_cell)
    PORTCULLIS_TRY(
        check_cells(scenario, what + " log", {Address::Space::Own, *request.log_cell}, 1));
  if (request.buffer) {
    PORTCULLIS_TRY(in_range(scenario, what + " buffer", *request.buffer, 0, 7));
    if (scenario.has_history)
      return fail(Errc::InvalidArgument,
                  fmt::format("model {}: {} has a buffer; one is accepted without a history",
                              scenario.name, what));
  }
  if (request.is_deduplicated && !request.log_cell)
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: {} is deduplicated but has no log_cell, one is needed",
                            scenario.name, what));
  return {};
}

Result<void> check_instruction(const Scenario& scenario, std::size_t pc) {
  const Instruction& step = scenario.program[pc];
  const std::string what = fmt::format("instruction {}", pc);
  const std::size_t last = scenario.program.size() - 1;
  for (const unsigned target : {step.next, step.otherwise, step.on_timeout})
    PORTCULLIS_TRY(in_range(scenario, what + " target", target, 0, last));
  if (step.act == Act::Post || step.act == Act::Await || step.act == Act::QueryPsn)
    PORTCULLIS_TRY(in_range(scenario, what + " work_request", step.work_request + std::uint64_t{1},
                            1, scenario.work_requests.size()));
  if (step.act == Act::Probe || step.act == Act::Assert)
    PORTCULLIS_TRY(check_cells(scenario, what, step.address, 1));
  if (step.act == Act::Report)
    PORTCULLIS_TRY(
        in_range(scenario, what + " operation", step.operation, 0, scenario.operations - 1));
  const auto has_it = [&](const auto& request) { return request.buffer == step.buffer; };
  if (step.act == Act::Take &&
      std::none_of(scenario.work_requests.begin(), scenario.work_requests.end(), has_it))
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: {} takes buffer {}, one of a work request is accepted",
                            scenario.name, what, step.buffer));
  return in_range(scenario, what + " queue", step.queue, 0, 31);
}

}  // namespace

Result<void> validate(const Scenario& scenario) {
  PORTCULLIS_TRY(in_range(scenario, "clients", scenario.clients, 1, kMaxClients));
  PORTCULLIS_TRY(in_range(scenario, "operations", scenario.operations, 1, 8));
  PORTCULLIS_TRY(in_range(scenario, "late", scenario.limits.late, 0, 7));
  PORTCULLIS_TRY(in_range(scenario, "duplicates", scenario.limits.duplicates, 0, 3));
  PORTCULLIS_TRY(in_range(scenario, "timeouts", scenario.limits.timeouts, 0, 7));
  PORTCULLIS_TRY(in_range(scenario, "deaths", scenario.limits.deaths, 0, 3));
  PORTCULLIS_TRY(in_range(scenario, "environment_budget", scenario.environment_budget, 0, 7));
  PORTCULLIS_TRY(in_range(scenario, "program length", scenario.program.size(), 1, 250));
  PORTCULLIS_TRY(in_range(scenario, "work requests", scenario.work_requests.size(), 1, 60));
  PORTCULLIS_TRY(in_range(scenario, "receiver steps", scenario.receiver.size(), 0, 250));
  PORTCULLIS_TRY(in_range(scenario, "environment steps", scenario.environment.size(), 0, 250));
  for (const WorkRequest& request : scenario.work_requests)
    PORTCULLIS_TRY(check_request(scenario, request));
  for (std::size_t pc = 0; pc < scenario.program.size(); ++pc)
    PORTCULLIS_TRY(check_instruction(scenario, pc));
  for (const ReceiverStep& step : scenario.receiver)
    PORTCULLIS_TRY(check_cells(scenario, "receiver step", {Address::Space::Own, step.cell},
                               step.kind == ReceiverStep::Kind::AwaitArrival ? 0 : step.count));
  for (const EnvironmentStep& step : scenario.environment)
    PORTCULLIS_TRY(check_cells(scenario, "environment step " + step.name, step.address, 1));
  return {};
}

}  // namespace portcullis::failover
