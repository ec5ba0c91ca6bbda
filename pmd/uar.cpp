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

Result<std::span<std::byte>> page_of(const Context& context, std::uint32_t index) {
  if (context.uars != nullptr) {
    const std::span<std::byte> page = context.uars->page(index);
    if (page.size() == prm::kUarPageBytes) return page;
    return fail(Errc::Malformed,
                "ALLOC_UAR gave UAR " + std::to_string(index) + ", which is mapped nowhere");
  }
  const std::span<std::byte> bar = context.device.bar;
  const std::size_t pages = bar.size() / prm::kUarPageBytes;
  // Page 0 is the initialisation segment: a doorbell there would be a write to its registers.
  if (index == 0 || index >= pages)
    return fail(Errc::Malformed, "ALLOC_UAR gave UAR " + std::to_string(index) + "; 1 to " +
                                     std::to_string(pages - 1) + " expected with this BAR");
  return bar.subspan(prm::uar_offset(index), prm::kUarPageBytes);
}

}  // namespace

Result<Uar> Uar::create(const Context& context) {
  prm::Buffer<prm::alloc_uar_in> in;
  in.set<"opcode", prm::Opcode::ALLOC_UAR>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::alloc_uar_out>(*context.commands, in));
  ObjectHandle handle(*context.commands, out.get<"uar">(), &dealloc_uar);
  PORTCULLIS_TRY_ASSIGN(const auto page, page_of(context, handle.id()));
  return Uar(std::move(handle), page);
}

}  // namespace portcullis::pmd
