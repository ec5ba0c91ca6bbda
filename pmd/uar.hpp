// SPDX-License-Identifier: BSD-3-Clause
//
// A UAR: one 4 KiB page of the BAR with the doorbell cells of the objects that name it. Page
// `index` lies at index x 4096 because bring-up sets log_uar_page_sz to 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "pmd/context.hpp"

namespace portcullis::pmd {

class Uar {
 public:
  /// ALLOC_UAR. Malformed when the index the device gives lies outside its BAR.
  [[nodiscard]] static Result<Uar> create(const Context& context);
  Uar(Uar&& other) noexcept;
  Uar& operator=(Uar&& other) noexcept;
  ~Uar();

  /// As written to uar_page of a context.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// The page's cells.
  [[nodiscard]] std::span<std::byte> page() const noexcept { return page_; }
  /// DEALLOC_UAR; the destructor does it too, without telling. Done twice is done.
  [[nodiscard]] Result<void> destroy();

 private:
  Uar(CommandChannel& commands, std::uint32_t index, std::span<std::byte> page) noexcept
      : commands_(&commands), index_(index), page_(page) {}

  CommandChannel* commands_;
  std::uint32_t index_;
  std::span<std::byte> page_;
};

}  // namespace portcullis::pmd
