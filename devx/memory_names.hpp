// SPDX-License-Identifier: BSD-3-Clause
//
// A command that names memory, said in DevX's words. The driver's objects list the addresses of
// their pages; the kernel does not take addresses from a process, only umems that it registered and
// offsets into them. This is the one place that knows both.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "devx/memory_space.hpp"

namespace portcullis::devx {

/// `in` with its addresses replaced: of CREATE_CQ, CREATE_QP and of a CREATE_MKEY with translations
/// the list of pages goes, RST2INIT_QP keeps the doorbell record that CREATE_QP named. Every other
/// command comes back as it is. InvalidArgument for memory that is not of `space`.
[[nodiscard]] Result<std::vector<std::byte>> in_umems(std::span<const std::byte> in,
                                                      const MemorySpace& space);

}  // namespace portcullis::devx
