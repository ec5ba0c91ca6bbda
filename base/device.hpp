// SPDX-License-Identifier: BSD-3-Clause
//
// The seam: a device is memory. BAR0, memory it can reach by DMA, a clock, and relax. Whoever made
// the mapping (VFIO, or the model) decides what is behind it, and nobody above asks. The hot path
// is stores and loads to `bar` and to DMA memory; what is virtual here is control path only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace portcullis {

/// An address as the device sees it, in bytes.
using Iova = std::uint64_t;

inline constexpr std::size_t kPageBytes = 4096;

/// The device's view of memory: an IOMMU container. Control path.
class DmaSpace {
 public:
  virtual ~DmaSpace() = default;
  /// Maps page-aligned `memory` for read and write by the device and returns its IOVA, which is
  /// congruent to the virtual address modulo 2 MiB (so both have the same alignment, and an IOMMU
  /// can use large pages). The memory must stay until unmap. OutOfResources, InvalidArgument,
  /// System.
  [[nodiscard]] virtual Result<Iova> map(std::span<std::byte> memory) = 0;
  /// Returns after the last DMA through the mapping: the IOTLB is flushed (contract A5).
  [[nodiscard]] virtual Result<void> unmap(Iova iova, std::size_t bytes) = 0;
  /// As unmap, and no later map() returns any of these IOVAs: the device may still hold a key that
  /// names them. The default suits a space whose IOVAs follow from virtual addresses; the caller
  /// keeps those reserved (DmaMemory::retire).
  [[nodiscard]] virtual Result<void> retire(Iova iova, std::size_t bytes) {
    return unmap(iova, bytes);
  }
};

/// The PCI function around the BAR. Control path.
class PciFunction {
 public:
  virtual ~PciFunction() = default;
  /// Vendor and device id, e.g. 0x15b3 and 0x1017.
  [[nodiscard]] virtual std::uint16_t vendor_id() const = 0;
  [[nodiscard]] virtual std::uint16_t device_id() const = 0;
  /// PCI_COMMAND_MASTER. Off: the device issues no DMA and no interrupt.
  [[nodiscard]] virtual Result<void> set_bus_master(bool on) = 0;
  /// PCI_EXP_DEVCTL_RELAX_EN: the function may ask for relaxed ordering of its DMA. None: nobody
  /// can say.
  [[nodiscard]] virtual std::optional<bool> relaxed_ordering() const { return std::nullopt; }
  /// Function level reset; returns when the function may be used from the start.
  [[nodiscard]] virtual Result<void> reset() = 0;
};

/// What a wait does between two looks. Under VFIO a pause; the stepped model runs to its next event
/// or, idle, moves its clock to `until_ns`.
class Relax {
 public:
  using Fn = void (*)(void* context, std::uint64_t until_ns) noexcept;
  Relax(Fn fn, void* context) noexcept : fn_(fn), context_(context) {}
  void operator()(std::uint64_t until_ns) const noexcept { fn_(context_, until_ns); }

 private:
  Fn fn_;
  void* context_;
};

/// A view; whoever opened the device (model::Model, pmd::VfioFunction) owns what it refers to and
/// must outlive every user.
struct Device {
  std::span<std::byte> bar;  // BAR0: initialisation segment, then UAR pages
  DmaSpace* dma = nullptr;
  PciFunction* function = nullptr;
  Clock clock;
  Relax relax;
  std::string description;  // as in benchmark contexts: "model (timing=.., ..)", "vfio BDF"
};

/// Polls `done` until it holds or `until_ns` passes; looks once more after the deadline, so a
/// device that answered while this thread was off its core is not called late. True when it held.
template <class Done>
[[nodiscard]] bool wait_until(const Device& device, std::uint64_t until_ns, Done&& done) {
  while (true) {
    if (done()) return true;
    if (device.clock.now_ns() >= until_ns) return done();
    device.relax(until_ns);
  }
}

}  // namespace portcullis
