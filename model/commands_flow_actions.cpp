// SPDX-License-Identifier: BSD-3-Clause
//
// Commands of what entries of flow tables do to a frame. QUERY_MODIFY_HEADER_CONTEXT is not
// answered: no header says what its answer looks like.
#include "model/commands.hpp"
#include "model/core.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t { kNotOffered = 0x630001 };

bool has_contexts(const Core& core) { return core.port.type == PortType::Ethernet; }

}  // namespace

Verdict alloc_modify_header_context(Core& core,
                                    const Request<prm::alloc_modify_header_context_in,
                                                  prm::alloc_modify_header_context_out>& request) {
  if (!has_contexts(core)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  std::uint32_t id = 0;
  const Verdict verdict = core.flows.headers.allocate_changes(request.in, request.in_tail, id);
  if (verdict.ok()) request.out.put<"modify_header_id">(id);
  return verdict;
}

Verdict dealloc_modify_header_context(
    Core& core,
    const Request<prm::dealloc_modify_header_context_in, prm::dealloc_modify_header_context_out>&
        request) {
  return core.flows.free_changes(request.in.get<"modify_header_id">());
}

Verdict alloc_packet_reformat_context(
    Core& core,
    const Request<prm::alloc_packet_reformat_context_in, prm::alloc_packet_reformat_context_out>&
        request) {
  if (!has_contexts(core)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  std::uint32_t id = 0;
  const Verdict verdict =
      core.flows.headers.allocate_reformat(prm::ConstView<prm::packet_reformat_context_in>::at(
                                               request.in.bytes<"packet_reformat_context">()),
                                           request.in_tail, id);
  if (verdict.ok()) request.out.put<"packet_reformat_id">(id);
  return verdict;
}

Verdict dealloc_packet_reformat_context(
    Core& core, const Request<prm::dealloc_packet_reformat_context_in,
                              prm::dealloc_packet_reformat_context_out>& request) {
  return core.flows.free_reformat(request.in.get<"packet_reformat_id">());
}

}  // namespace portcullis::model::commands
