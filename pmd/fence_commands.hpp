// SPDX-License-Identifier: BSD-3-Clause
//
// The commands that take access away, prepared and not yet sent. Whoever sends them owns their
// order and deadlines; pmd/inline_command.hpp says how. Ids wider than 24 bits are refused when the
// command is submitted, ids that do not exist by the device.
#pragma once

#include <cstdint>

#include "pmd/inline_command.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

/// 2ERR_QP: the QP answers nothing any more and flushes what it has. No promise about DMA.
[[nodiscard]] InlineCommand error_qp_command(prm::QpNumber qpn) noexcept;
/// DESTROY_MKEY: the memory fence.
[[nodiscard]] InlineCommand destroy_mkey_command(prm::MkeyIndex index) noexcept;
/// 2RST_QP.
[[nodiscard]] InlineCommand reset_qp_command(prm::QpNumber qpn) noexcept;
/// DESTROY_QP: the number may come back from the next CREATE_QP.
[[nodiscard]] InlineCommand destroy_qp_command(prm::QpNumber qpn) noexcept;
/// DEALLOC_PD.
[[nodiscard]] InlineCommand dealloc_pd_command(prm::PdNumber pdn) noexcept;

}  // namespace portcullis::pmd
