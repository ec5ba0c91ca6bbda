// SPDX-License-Identifier: BSD-3-Clause
//
// A UAR: one 4 KiB page of the BAR with the doorbell cells of the objects that name it. Page
// `index` lies at index x 4096 because bring-up sets log_uar_page_sz to 0; on a NIC that its kernel
// driver keeps, where Context.uars says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"

namespace portcullis::pmd {

class Uar {
 public:
  /// ALLOC_UAR. Malformed when the index the device gives is no UAR page of its BAR.
  [[nodiscard]] static Result<Uar> create(const Context& context);

  /// As written to uar_page of a context.
  [[nodiscard]] std::uint32_t index() const noexcept { return handle_.id(); }
  /// The page's cells.
  [[nodiscard]] std::span<std::byte> page() const noexcept { return page_; }
  /// DEALLOC_UAR; the destructor does it too, without telling. Done twice is done.
  [[nodiscard]] Result<void> destroy() { return handle_.destroy(); }

 private:
  Uar(ObjectHandle handle, std::span<std::byte> page) noexcept
      : handle_(std::move(handle)), page_(page) {}

  ObjectHandle handle_;
  std::span<std::byte> page_;
};

}  // namespace portcullis::pmd
