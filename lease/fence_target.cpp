// SPDX-License-Identifier: BSD-3-Clause
#include "lease/fence_target.hpp"

#include "pmd/fence_commands.hpp"

namespace portcullis::lease {

std::optional<pmd::InlineCommand> FenceTarget::command(Step step) const noexcept {
  switch (step) {
    case Step::ErrorQp:
      return pmd::error_qp_command(qpn);
    case Step::DestroyMkey:
      return pmd::destroy_mkey_command(mkey_index);
    case Step::DestroyTenantKey:
      return pmd::destroy_mkey_command(tenant_mkey_index);
    case Step::ResetQp:
      return pmd::reset_qp_command(qpn);
    case Step::DestroyQp:
      return pmd::destroy_qp_command(qpn);
    case Step::DeallocPd:
      return pmd::dealloc_pd_command(pdn);
    default:
      return std::nullopt;
  }
}

}  // namespace portcullis::lease
