// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/q_counter.hpp"

#include "pmd/inline_command.hpp"
#include "prm/counter_commands.hpp"
#include "prm/enums.hpp"

namespace portcullis::pmd {
namespace {

Result<void> dealloc_q_counter(CommandChannel& channel, std::uint32_t id,
                               std::uint64_t deadline_ns) {
  prm::Buffer<prm::dealloc_q_counter_in> in;
  in.set<"opcode", prm::number(prm::Opcode::DEALLOC_Q_COUNTER)>().put<"counter_set_id">(id);
  return InlineCommand(in).run(channel, deadline_ns, SlotClass::Common);
}

}  // namespace

Result<QCounter> QCounter::create(const Context& context) {
  prm::Buffer<prm::alloc_q_counter_in> in;
  in.set<"opcode", prm::number(prm::Opcode::ALLOC_Q_COUNTER)>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::alloc_q_counter_out>(*context.commands, in));
  return QCounter(context,
                  ObjectHandle(*context.commands, out.get<"counter_set_id">(), dealloc_q_counter));
}

Result<QCounterValues> QCounter::query(bool clear) const {
  prm::Buffer<prm::query_q_counter_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QUERY_Q_COUNTER)>();
  in.put<"clear">(clear ? 1u : 0u);
  in.put<"counter_set_id">(id());
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_q_counter_out>(*context_->commands, in));
  QCounterValues values;
#define PORTCULLIS_PMD_READ(field) values.field = out.get<#field>();
  PORTCULLIS_PRM_Q_COUNTERS(PORTCULLIS_PMD_READ)
#undef PORTCULLIS_PMD_READ
  return values;
}

}  // namespace portcullis::pmd
