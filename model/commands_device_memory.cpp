// SPDX-License-Identifier: BSD-3-Clause
//
// ALLOC_MEMIC and DEALLOC_MEMIC. MODIFY_MEMIC is not there: memic_operations of the capabilities
// is 0, and mlx5_ib asks that first (MLX5_IB_METHOD_DM_MAP_OP_ADDR).
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {

Verdict alloc_memic(Core& core, const Request<prm::alloc_memic_in, prm::alloc_memic_out>& request) {
  std::uint64_t at = 0;
  const Verdict verdict = core.device_memory.allocate(
      {.range_at = request.in.get<"range_start_addr">(),
       .range_bytes = request.in.get<"range_size">(),
       .bytes = request.in.get<"memic_size">(),
       .log_alignment = static_cast<std::uint32_t>(request.in.get<"log_memic_addr_alignment">())},
      at);
  if (verdict.ok()) request.out.put<"memic_start_addr">(at);
  return verdict;
}

Verdict dealloc_memic(Core& core,
                      const Request<prm::dealloc_memic_in, prm::dealloc_memic_out>& request) {
  return core.device_memory.free(request.in.get<"memic_start_addr">(),
                                 request.in.get<"memic_size">());
}

}  // namespace portcullis::model::commands
