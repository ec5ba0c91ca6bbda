// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that another process sees too, without a word to who has it: pages of a file take the
// place of anonymous ones, at the same address and with the same bytes, and later give it back. A
// reader meets the old pages or the new ones, never anything between; who writes meanwhile may find
// the bytes lost, so nobody should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace portcullis {

/// A file in memory, all zeros, that takes no room where nothing was written. `is_fixed`: its
/// length is nobody's to change, so that a mapping of it never loses a page. System.
[[nodiscard]] Result<UniqueFd> make_shared_file(const char* name, std::uint64_t bytes,
                                                bool is_fixed);

/// `memory` (whole pages) is the file's from `offset` on, which holds zeros. OutOfResources; then
/// `memory` has not changed, and that part of the file may have some of its bytes.
[[nodiscard]] Result<void> share_pages(std::span<std::byte> memory, int file, std::uint64_t offset);
/// `memory` is this process's alone again; the file keeps its bytes. OutOfResources; then nothing
/// has changed.
[[nodiscard]] Result<void> unshare_pages(std::span<std::byte> memory);
/// That part of the file holds zeros and takes no room; whoever maps it sees that. System; then it
/// may hold anything, and is not to be shared again.
[[nodiscard]] Result<void> forget_pages(int file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace portcullis
