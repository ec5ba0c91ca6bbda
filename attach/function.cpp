// SPDX-License-Identifier: BSD-3-Clause
#include "attach/function.hpp"

#include <utility>
#include <vector>

#include "devx/function.hpp"

namespace portcullis::attach {

Result<std::unique_ptr<Function>> Function::bring_up(OpenDevice opened, const Options& options) {
  std::unique_ptr<Function> function(new Function(std::move(opened)));
  PORTCULLIS_TRY(function->serve_model(options.model_naps));
  Device device = function->opened_.device();
  if (options.present) device = options.present(device);
  const auto present = function->recording(options.on_command, device.clock);
  if (devx::KeptNic* const nic = function->opened_.kept_nic(); nic != nullptr) {
    PORTCULLIS_TRY_ASSIGN(function->driver_, devx::Function::open(*nic, device,
                                                                  {.log = options.bring_up.log,
                                                                   .present_commands = present}));
  } else {
    pmd::HcaOptions bring_up = options.bring_up;
    if (present) bring_up.present_commands = present;
    const BringUpWishes& wishes = function->opened_.bring_up_wishes();
    if (wishes.link_wait_ms) bring_up.link_wait_ms = *wishes.link_wait_ms;
    if (wishes.binds_keys) bring_up.binds_keys = *wishes.binds_keys;
    if (wishes.answers_neighbours) bring_up.answers_neighbours = *wishes.answers_neighbours;
    if (wishes.forces_loopback) bring_up.forces_loopback = *wishes.forces_loopback;
    if (wishes.checks_answers) bring_up.checks_answers = *wishes.checks_answers;
    PORTCULLIS_TRY_ASSIGN(function->driver_, pmd::Hca::bring_up(device, bring_up));
  }
  return function;
}

/// Empty where nobody wants to hear.
std::function<pmd::CommandChannel&(pmd::CommandChannel&)> Function::recording(
    const OnCommand& on_command, const Clock& clock) {
  trace::TraceFile* const file = opened_.trace_file();
  if (!on_command && file == nullptr) return {};
  const auto tell = [on_command, file](const trace::TraceCommand& command) {
    if (file != nullptr) file->write(command);
    if (on_command) on_command(command);
  };
  return [this, clock, tell](pmd::CommandChannel& inner) -> pmd::CommandChannel& {
    return recording_.emplace(inner, clock, tell);
  };
}

Function::~Function() {
  driver_.reset();
  stop_ = true;
  lcore_.reset();
  if (thread_.joinable()) thread_.join();
}

Result<void> Function::serve_model(bool naps) {
  if (!opened_.needs_core()) return {};
  const auto serve = [this, naps] { opened_.serve(stop_, naps); };
  const std::vector<unsigned> workers = pmd::Eal::worker_lcores();
  if (workers.empty()) {
    thread_ = std::thread(serve);
    return {};
  }
  PORTCULLIS_TRY_ASSIGN(auto task, pmd::LcoreTask::launch(workers.front(), serve));
  lcore_.emplace(std::move(task));
  return {};
}

}  // namespace portcullis::attach
