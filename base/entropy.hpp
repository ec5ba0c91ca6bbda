// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers that nobody can guess: names of leases, first PSNs, names of files that are not finished.
// From the kernel, since those of a generator are known to whoever has seen enough of them.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace portcullis {

/// getrandom(2); System when the kernel has none to give.
[[nodiscard]] Result<std::uint64_t> random_number();
/// The first packet sequence number of a QP, 24 bits: who can guess it can inject packets.
[[nodiscard]] Result<std::uint32_t> random_psn();

}  // namespace portcullis
