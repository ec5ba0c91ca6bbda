// SPDX-License-Identifier: BSD-3-Clause
//
// The device's view of memory as the lease code sees it in a run: what ProofChannel is to commands.
// During a fence an unmap may be made to fail, as an IOMMU's owner may refuse it, and a mutant may
// leave it out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/device.hpp"
#include "proof/adversary/deceit.hpp"

namespace portcullis::proof::adversary {

class ProofSpace final : public DmaSpace {
 public:
  /// Both must outlive it.
  ProofSpace(DmaSpace& space, Deceit& deceit) noexcept : space_(&space), deceit_(&deceit) {}

  [[nodiscard]] Result<Iova> map(std::span<std::byte> memory) override {
    return space_->map(memory);
  }
  [[nodiscard]] Result<void> unmap(Iova iova, std::size_t bytes) override;
  [[nodiscard]] Result<void> retire(Iova iova, std::size_t bytes) override;

 private:
  /// What is told in place of doing it; none: it is done.
  [[nodiscard]] std::optional<Result<void>> told_instead();

  DmaSpace* space_;
  Deceit* deceit_;
};

}  // namespace portcullis::proof::adversary
