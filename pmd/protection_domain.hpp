// SPDX-License-Identifier: BSD-3-Clause
//
// A protection domain: a queue pair reaches only the keys of its own. A lease has one of its own
// with one key in it, which is what its isolation rests on.
#pragma once

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/object_handle.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

class ProtectionDomain {
 public:
  /// ALLOC_PD. Undone (DEALLOC_PD) on destruction.
  [[nodiscard]] static Result<ProtectionDomain> create(const Context& context);

  [[nodiscard]] prm::PdNumber number() const noexcept { return prm::PdNumber{handle_.id()}; }
  /// DEALLOC_PD; done twice is done. The device refuses while keys or queue pairs refer to it.
  [[nodiscard]] Result<void> destroy() { return handle_.destroy(); }
  /// The number; the caller deallocates it from here on (dealloc_pd_command).
  prm::PdNumber release() noexcept { return prm::PdNumber{handle_.release()}; }

 private:
  explicit ProtectionDomain(ObjectHandle handle) noexcept : handle_(std::move(handle)) {}
  ObjectHandle handle_;
};

}  // namespace portcullis::pmd
