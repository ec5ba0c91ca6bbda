// SPDX-License-Identifier: BSD-3-Clause
//
// General objects and SYNC_STEERING. Of the many types of objects two are there: memory for entries
// that a program writes (mlx5_dm_sw_icm_alloc of mlx5/core/lib/dm.c), and samplers that they lead
// to (dr_devx_create_flow_sampler of rdma-core's dr_devx.c). MODIFY_GENERAL_OBJECT is not: no
// driver gives it for either.
#include <algorithm>

#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNoSuchType = 0x650001,
  kRange,
};

/// What of an object did not come is zero: rdma-core's sampler ends where this one is reserved.
template <class L>
prm::Buffer<L> object_of(std::span<const std::byte> tail) {
  prm::Buffer<L> object;
  std::ranges::copy(tail.first(std::min(tail.size(), L::bytes)), object.all().begin());
  return object;
}

/// The function has the type, and nothing is asked for that no type here has.
Verdict check(const Core& core, const GeneralObjectRequest& request) {
  if (!core.capabilities.has_object_type(request.in.get<"obj_type">()))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchType);
  const bool is_plain =
      request.in.get<"log_obj_range">() == 0 && request.in.get<"vhca_tunnel_id">() == 0;
  return is_plain ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kRange);
}

bool is_memory(const GeneralObjectRequest& request) {
  return request.in.get<"obj_type">() == prm::kObjTypeSwIcm;
}

}  // namespace

Verdict create_general_object(Core& core, const GeneralObjectRequest& request) {
  if (const Verdict bad = check(core, request); !bad.ok()) return bad;
  std::uint32_t id = 0;
  Verdict verdict;
  if (is_memory(request)) {
    const auto memory = object_of<prm::sw_icm>(request.in_tail);
    verdict =
        core.steering_memory.create(memory.get<"sw_icm_start_addr">(),
                                    memory.get<"log_sw_icm_size">(), request.in.get<"uid">(), id);
  } else {
    const auto sampler = object_of<prm::sampler_obj>(request.in_tail);
    verdict = core.flows.create_sampler(prm::ConstView<prm::sampler_obj>(sampler.all()), id);
  }
  if (verdict.ok()) request.out.put<"obj_id">(id);
  return verdict;
}

Verdict query_general_object(Core& core, const GeneralObjectRequest& request) {
  if (const Verdict bad = check(core, request); !bad.ok()) return bad;
  const std::uint32_t id = request.in.get<"obj_id">();
  if (is_memory(request)) {
    prm::Buffer<prm::sw_icm> memory;
    const Verdict verdict = core.steering_memory.query(id, memory.view());
    put_in_tail(request.out_tail, 0, memory.all());
    return verdict;
  }
  prm::Buffer<prm::sampler_obj> sampler;
  const Verdict verdict = core.flows.query_sampler(id, sampler.view());
  put_in_tail(request.out_tail, 0, sampler.all());
  return verdict;
}

Verdict destroy_general_object(Core& core, const GeneralObjectRequest& request) {
  if (const Verdict bad = check(core, request); !bad.ok()) return bad;
  const std::uint32_t id = request.in.get<"obj_id">();
  return is_memory(request) ? core.steering_memory.destroy(id) : core.flows.destroy_sampler(id);
}

/// Every frame reads entries as they stand in memory: nothing of them is kept elsewhere.
Verdict sync_steering(Core& /*core*/,
                      const Request<prm::sync_steering_in, prm::sync_steering_out>& /*request*/) {
  return {};
}

}  // namespace portcullis::model::commands
