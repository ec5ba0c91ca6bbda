// SPDX-License-Identifier: BSD-3-Clause
//
// Payload bytes that DMA may touch while the CPU does: region contents a peer writes into, gather
// and scatter of WQEs. RDMA defines no order between such bytes and the CPU, so these copies race
// by design and are the one place that ThreadSanitizer leaves out. Ordering comes only from the
// cells (base/cells.hpp): a CQE's owner bit, an ownership bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace portcullis {

/// Copies `bytes` bytes; ranges must not overlap.
void dma_copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
/// Sets `memory` to `value`.
void dma_fill(std::span<std::byte> memory, std::byte value) noexcept;
/// One byte, as the CPU sees it now.
[[nodiscard]] std::byte dma_peek(const std::byte* at) noexcept;
/// An aligned 64-bit word, as the CPU sees it now; never torn.
[[nodiscard]] std::uint64_t dma_peek_u64(const std::byte* at) noexcept;
/// Stores an aligned 64-bit word; never torn.
void dma_poke_u64(std::byte* at, std::uint64_t value) noexcept;

}  // namespace portcullis
