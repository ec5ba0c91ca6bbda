// SPDX-License-Identifier: BSD-3-Clause
//
// What stands between the lease code and the device in a run: command channel, UMR queue, memory
// and PCI function, as the lease code sees them. Together they know whom to tell when a key is
// about to be taken away, by whichever of them, what is made to fail, and which lie to tell the
// lease code while a mutant asks for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>

#include "base/device.hpp"
#include "lease/key_freer.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/umr_queue.hpp"
#include "proof/adversary/mutant.hpp"

namespace portcullis::proof::adversary {

struct Deceit {
  Mutant mutant = Mutant::None;
  bool is_on = false;  // during a fence; honest before and after
  /// Before the key step of a fence reaches the device.
  std::function<void()> on_key_step = [] {};
  /// When it has succeeded, as far as the lease code is told.
  std::function<void()> on_key_gone = [] {};
  /// Before a QP is reset, and before its number is given back.
  std::function<void(std::uint32_t qpn)> on_qp_reset = [](std::uint32_t) {};
  std::function<void(std::uint32_t qpn)> on_qp_destroyed = [](std::uint32_t) {};
  bool refuses_unmap = false;  // during this fence; no lie, it happens
  std::uint32_t unmaps_refused = 0;
  bool refuses_bus_master = false;  // to be off; the same
  bool refuses_reset = false;

  [[nodiscard]] bool lies(Mutant about) const noexcept { return is_on && mutant == about; }
};

/// The command channel: tells when the key is about to be taken away, and lies where a mutant asks
/// for it.
class ProofChannel final : public pmd::CommandChannel {
 public:
  /// Both must outlive it.
  ProofChannel(pmd::CommandChannel& channel, Deceit& deceit) noexcept
      : channel_(&channel), deceit_(&deceit) {}

  [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                           pmd::SlotClass slot_class) override;
  [[nodiscard]] Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                                   std::uint64_t deadline_ns) override;
  [[nodiscard]] bool is_done(pmd::Ticket ticket) const noexcept override;
  [[nodiscard]] std::uint64_t default_deadline_ns() const override {
    return channel_->default_deadline_ns();
  }
  void begin_undoing() noexcept override { channel_->begin_undoing(); }
  void end_undoing() noexcept override { channel_->end_undoing(); }

 private:
  static constexpr std::uint32_t kNotSent = 0xffff'0000;

  [[nodiscard]] Result<void> answer(pmd::Ticket ticket, std::span<std::byte> out,
                                    std::uint64_t deadline_ns);

  pmd::CommandChannel* channel_;
  Deceit* deceit_;
  std::unordered_set<std::uint32_t> key_slots_;  // whose answer is awaited
  std::unordered_set<std::uint32_t> unawaited_;  // slots of keys whose answer nobody waits for
};

/// The UMR queue: what ProofChannel is to commands.
class ProofFreer final : public lease::KeyFreer {
 public:
  /// Both must outlive it.
  ProofFreer(pmd::UmrQueue& queue, Deceit& deceit) noexcept : queue_(&queue), deceit_(&deceit) {}

  [[nodiscard]] Result<void> free_key(prm::Rkey key, std::uint64_t deadline_ns) override;

 private:
  [[nodiscard]] Result<void> answer(prm::Rkey key, std::uint64_t deadline_ns);

  pmd::UmrQueue* queue_;
  Deceit* deceit_;
};

/// The device's view of memory. During a fence an unmap may be made to fail, as an IOMMU's owner
/// may refuse it, and a mutant may leave it out.
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

/// The PCI function. In a drain bus mastering may stay on and a reset may fail, and a mutant may
/// say that it is off when it is not.
class ProofFunction final : public PciFunction {
 public:
  /// Both must outlive it.
  ProofFunction(PciFunction& function, Deceit& deceit) noexcept
      : function_(&function), deceit_(&deceit) {}

  [[nodiscard]] std::uint16_t vendor_id() const override { return function_->vendor_id(); }
  [[nodiscard]] std::uint16_t device_id() const override { return function_->device_id(); }
  [[nodiscard]] Result<void> set_bus_master(bool on) override {
    if (!deceit_->is_on || on) return function_->set_bus_master(on);
    deceit_->on_key_step();
    if (deceit_->refuses_bus_master) return fail(Errc::System, "bus mastering stays on");
    if (deceit_->lies(Mutant::BusMasterLeftOn)) return {};
    return function_->set_bus_master(on);
  }
  [[nodiscard]] Result<void> reset() override {
    if (deceit_->is_on && deceit_->refuses_reset)
      return fail(Errc::System, "the reset was made to fail");
    return function_->reset();
  }

 private:
  PciFunction* function_;
  Deceit* deceit_;
};

}  // namespace portcullis::proof::adversary
