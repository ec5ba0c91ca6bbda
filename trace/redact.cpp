// SPDX-License-Identifier: BSD-3-Clause
#include "trace/redact.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "prm/opcodes.hpp"

namespace portcullis::trace {
namespace {

using prm::Opcode;

/// Their layouts in prm/ hold no address, no key and no number that somebody drew; pages are given
/// by MANAGE_PAGES, which is not here. INIT_HCA has sw_owner_id.
constexpr std::array kHarmless{
    Opcode::QUERY_HCA_CAP, Opcode::SET_HCA_CAP,       Opcode::QUERY_ISSI,  Opcode::SET_ISSI,
    Opcode::QUERY_ADAPTER, Opcode::ENABLE_HCA,        Opcode::DISABLE_HCA, Opcode::TEARDOWN_HCA,
    Opcode::QUERY_PAGES,   Opcode::QUERY_VPORT_STATE,
};

constexpr std::size_t kInHeader = 8;   // opcode, uid, op_mod
constexpr std::size_t kOutHeader = 8;  // status, syndrome

void hide_from(TraceMessage& message, std::size_t offset) {
  if (message.bytes.size() <= offset) return;
  std::fill(message.bytes.begin() + static_cast<std::ptrdiff_t>(offset), message.bytes.end(),
            std::byte{0});
  message.gaps.assign(1, {.offset = offset, .length = message.bytes.size() - offset});
}

}  // namespace

TraceCommand without_identities(TraceCommand command) {
  if (std::ranges::find(kHarmless, command.opcode()) != kHarmless.end()) return command;
  hide_from(command.in, kInHeader);
  hide_from(command.out, kOutHeader);
  return command;
}

}  // namespace portcullis::trace
