// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/uar.hpp"

#include <string>

#include "prm/doorbell.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {
namespace {

Result<void> dealloc_uar(CommandChannel& channel, std::uint32_t index, std::uint64_t deadline_ns) {
  prm::Buffer<prm::dealloc_uar_in> in;
  in.set<"opcode", prm::Opcode::DEALLOC_UAR>().put<"uar">(index);
  PORTCULLIS_TRY(run<prm::dealloc_uar_out>(channel, in, deadline_ns));
  return {};
}

}  // namespace

Result<Uar> Uar::create(const Context& context) {
  prm::Buffer<prm::alloc_uar_in> in;
  in.set<"opcode", prm::Opcode::ALLOC_UAR>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::alloc_uar_out>(*context.commands, in));
  ObjectHandle handle(*context.commands, out.get<"uar">(), &dealloc_uar);
  const std::span<std::byte> bar = context.device.bar;
  const std::size_t pages = bar.size() / prm::kUarPageBytes;
  // Page 0 is the initialisation segment: a doorbell there would be a write to its registers.
  if (handle.id() == 0 || handle.id() >= pages)
    return fail(Errc::Malformed, "ALLOC_UAR gave UAR " + std::to_string(handle.id()) + "; 1 to " +
                                     std::to_string(pages - 1) + " expected with this BAR");
  const auto page = bar.subspan(prm::uar_offset(handle.id()), prm::kUarPageBytes);
  return Uar(std::move(handle), page);
}

}  // namespace portcullis::pmd
