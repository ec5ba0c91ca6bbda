// SPDX-License-Identifier: BSD-3-Clause
//
// A function that its kernel driver keeps, as the objects of pmd/ see it: a Context whose commands
// go by DevX, whose memory is umems, and whose UARs are mappings of their own. Nothing is brought
// up or reset here, the kernel did; on the hot path everything is as on a function of our own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "devx/channel.hpp"
#include "devx/memory_space.hpp"
#include "devx/provider.hpp"
#include "pmd/context.hpp"
#include "pmd/uar.hpp"

namespace portcullis::devx {

class Function {
 public:
  /// Reads the capabilities, takes a UAR. `description` says which device, as benchmarks print it.
  [[nodiscard]] static Result<std::unique_ptr<Function>> open(std::unique_ptr<Provider> provider,
                                                              std::string description);
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  ~Function();

  /// For the objects made on this function, all of which must be gone before it.
  [[nodiscard]] const pmd::Context& context() const noexcept { return context_; }
  [[nodiscard]] Channel& channel() noexcept { return *channel_; }

 private:
  class Kept;

  Function(std::unique_ptr<Provider> provider, std::string description);
  [[nodiscard]] Result<void> bring_up();

  // In the order of bring-up: what the channel still holds goes before the memory it lies in.
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<Kept> kept_;
  MemorySpace space_;
  DmaArena arena_;
  std::unique_ptr<Channel> channel_;
  std::optional<pmd::Uar> uar_;
  pmd::Context context_;
};

}  // namespace portcullis::devx
