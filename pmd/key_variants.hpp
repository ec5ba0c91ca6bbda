// SPDX-License-Identifier: BSD-3-Clause
//
// The low bytes of memory keys. The index of a destroyed key is given again; the byte is ours, and
// is what tells an old client's key from the new one. One allocator for a function, whoever makes
// the keys: a byte comes again after 256 others.
#pragma once

#include <cstdint>

namespace portcullis::pmd {

class KeyVariants {
 public:
  [[nodiscard]] std::uint8_t next() noexcept { return next_++; }
  /// The next one is `next`, whatever was given: for who wants a key byte to come again.
  void restart(std::uint8_t next) noexcept { next_ = next; }

 private:
  std::uint8_t next_ = 0;
};

}  // namespace portcullis::pmd
