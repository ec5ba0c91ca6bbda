// SPDX-License-Identifier: BSD-3-Clause
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {

Verdict create_uctx(Core& core, const Request<prm::create_uctx_in, prm::create_uctx_out>& request) {
  std::uint32_t uid = 0;
  const Verdict verdict =
      core.user_contexts.create(static_cast<std::uint32_t>(request.in.get<"uctx.cap">()), uid);
  if (verdict.ok()) static_cast<void>(request.out.try_set<"uid">(uid));
  return verdict;
}

Verdict destroy_uctx(Core& core,
                     const Request<prm::destroy_uctx_in, prm::destroy_uctx_out>& request) {
  return core.user_contexts.destroy(request.in.get<"uid">());
}

}  // namespace portcullis::model::commands
