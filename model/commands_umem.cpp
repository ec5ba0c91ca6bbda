// SPDX-License-Identifier: BSD-3-Clause
//
// UMEM: memory of a DevX client, and how a command on a queue names it.
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {

Verdict create_umem(Core& core, const Request<prm::create_umem_in, prm::create_umem_out>& request) {
  std::uint32_t id = 0;
  const Verdict verdict = core.umems.create(
      prm::ConstView<prm::umem>::at(request.in.bytes<"umem">()), request.in_tail, id);
  if (verdict.ok()) static_cast<void>(request.out.try_set<"umem_id">(id));
  return verdict;
}

Verdict destroy_umem(Core& core,
                     const Request<prm::destroy_umem_in, prm::destroy_umem_out>& request) {
  return core.umems.destroy(request.in.get<"umem_id">());
}

}  // namespace portcullis::model::commands
