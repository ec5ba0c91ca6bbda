// SPDX-License-Identifier: BSD-3-Clause
//
// pcapng: sections of blocks, each in its own byte order and with interfaces of its own. Blocks
// that hold no packets are passed over, but for those that say how many were dropped.
#pragma once

#include "tools/failover_check/capture_file.hpp"

namespace portcullis::tools::failover_check {

/// Whether it begins with a section header block.
[[nodiscard]] bool is_pcapng(Bytes bytes) noexcept;

/// As read_frames().
[[nodiscard]] Result<std::uint64_t> read_pcapng(Bytes bytes, std::string_view file,
                                                const TakeFrame& take);

}  // namespace portcullis::tools::failover_check
