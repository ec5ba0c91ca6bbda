// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/protection_domain.hpp"

#include "pmd/fence_commands.hpp"
#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {

Result<ProtectionDomain> ProtectionDomain::create(const Context& context) {
  prm::Buffer<prm::alloc_pd_in> in;
  in.set<"opcode", prm::number(prm::Opcode::ALLOC_PD)>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::alloc_pd_out>(*context.commands, in));
  return ProtectionDomain(ObjectHandle(
      *context.commands, out.get<"pd">(),
      [](CommandChannel& channel, std::uint32_t pdn, std::uint64_t deadline_ns) {
        return dealloc_pd_command(prm::PdNumber{pdn}).run(channel, deadline_ns, SlotClass::Common);
      }));
}

}  // namespace portcullis::pmd
