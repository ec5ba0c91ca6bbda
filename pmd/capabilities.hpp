// SPDX-License-Identifier: BSD-3-Clause
//
// Capabilities: read them, and set the few that this driver needs otherwise than they stand. The
// others of a page are written back as they were read, those the driver does not know included.
#pragma once

#include "base/result.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/context.hpp"

namespace portcullis::pmd {

/// SET_HCA_CAP, general: 4 KiB UAR pages (log_uar_page_sz 0) and, where `signs`, the strongest
/// command signatures on offer, otherwise none. Returns the cmdif_checksum that was set.
[[nodiscard]] Result<std::uint32_t> set_general_capabilities(CommandChannel& commands,
                                                             bool signs = true);
/// SET_HCA_CAP, atomic, where the device has atomics: results in the host's byte order, if offered
/// (handle_hca_cap_atomic of Linux, which sends nothing else of that page).
[[nodiscard]] Result<void> set_atomic_capabilities(CommandChannel& commands);
/// SET_HCA_CAP, RoCE, where the device has RoCE: UDP source ports chosen by the driver, if offered
/// (handle_hca_cap_roce of Linux).
[[nodiscard]] Result<void> set_roce_capabilities(CommandChannel& commands);
/// Current values; call after INIT_HCA.
[[nodiscard]] Result<Capabilities> read_capabilities(CommandChannel& commands);

}  // namespace portcullis::pmd
