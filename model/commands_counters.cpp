// SPDX-License-Identifier: BSD-3-Clause
//
// Q counters. Queue pairs name a set when they leave RST, or later by RTS2RTS (mlx5_ib,
// mlx5_ib_qp_set_counter).
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNoNumber = 0xb001,
  kNoSuchSet,
  kInUse,
};

bool is_set(const Core& core, std::uint32_t id) { return id != 0 && core.q_counters.exists(id); }

}  // namespace

Verdict alloc_q_counter(Core& core,
                        const Request<prm::alloc_q_counter_in, prm::alloc_q_counter_out>& request) {
  const auto id = core.q_counters.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  static_cast<void>(request.out.try_set<"counter_set_id">(*id));
  return {};
}

Verdict dealloc_q_counter(
    Core& core, const Request<prm::dealloc_q_counter_in, prm::dealloc_q_counter_out>& request) {
  const std::uint32_t id = request.in.get<"counter_set_id">();
  if (!is_set(core, id)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSet);
  if (core.q_counter_references.any(id)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  core.q_counters.give_back(id);
  return {};
}

Verdict query_q_counter(Core& core,
                        const Request<prm::query_q_counter_in, prm::query_q_counter_out>& request) {
  const std::uint32_t id = request.in.get<"counter_set_id">();
  if (!is_set(core, id)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchSet);
  QCounters& counters = core.q_counters.at(id);
  counters.describe(request.out);
  if (request.in.get<"clear">() != 0) counters = {};
  return {};
}

}  // namespace portcullis::model::commands
