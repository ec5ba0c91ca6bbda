// SPDX-License-Identifier: BSD-3-Clause
#include "model/registers.hpp"

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "model/device_ticks.hpp"

namespace portcullis::model {
namespace {

// Linux looks every 2 s and worries after three looks at the same value (mlx5/core/health.c), so
// any faster count will do.
constexpr std::uint64_t kHealthCountNs = 10 * kNsPerMs;
// How long a driver's store to a read-only register may last.
constexpr std::uint64_t kRestoreNs = 100 * kNsPerUs;

void show(std::byte* cell, std::uint32_t value) noexcept {
  const std::uint32_t raw = cells::be32(value);
  if (cells::load_acquire<std::uint32_t>(cell) != raw)
    cells::store_release<std::uint32_t>(cell, raw);
}

}  // namespace

InitSegment::InitSegment(std::span<std::byte> bar, std::uint32_t cmdif_rev,
                         const FirmwareVersion& firmware) noexcept
    : registers_(bar),
      bytes_(bar.first(prm::mlx5_init_seg::bytes)),
      cmdif_rev_(cmdif_rev),
      firmware_(firmware) {}

void InitSegment::power_on(std::uint64_t now_ns) noexcept {
  dma_fill(bytes_, std::byte{0});
  synd_ = 0;
  ready_ = false;
  frozen_ = false;
  next_restore_ns_ = 0;
  restore_queue_sizes();
  show_time(now_ns);
}

void InitSegment::set_ready() noexcept {
  ready_ = true;
  show_identity();
}

std::uint32_t InitSegment::take_doorbell() const noexcept {
  return cells::be32(cells::take<std::uint32_t>(registers_.cell<"cmd_dbell">()));
}

Iova InitSegment::command_queue() const noexcept {
  const Iova high = registers_.get<"cmdq_addr_h">();
  return high << 32 | prm::cmdq_addr_l(registers_.get<"cmdq_addr_l_sz">());
}

prm::NicInterface InitSegment::nic_interface() const noexcept {
  return prm::NicInterface{
      static_cast<std::uint8_t>(prm::nic_interface(registers_.get<"cmdq_addr_l_sz">()))};
}

void InitSegment::restore_queue_sizes() const noexcept {
  constexpr std::uint32_t kSizes = prm::cmdq_addr_l_sz(0, 0, kLogCommandSlots, kLogCommandStride);
  constexpr std::uint32_t kSizesMask = 0xff;
  const auto cell = cells::word<std::uint32_t>(registers_.cell<"cmdq_addr_l_sz">());
  std::uint32_t raw = cell.load(std::memory_order_acquire);
  // Exchanged only if the driver has not written in between.
  if ((cells::be32(raw) & kSizesMask) != kSizes)
    cell.compare_exchange_strong(raw, cells::be32((cells::be32(raw) & ~kSizesMask) | kSizes),
                                 std::memory_order_acq_rel);
}

void InitSegment::show_identity() const noexcept {
  show(registers_.cell<"fw_rev">(), prm::fw_rev(firmware_.major, firmware_.minor));
  show(registers_.cell<"cmdif_rev_fw_sub">(), prm::cmdif_rev_fw_sub(cmdif_rev_, firmware_.sub));
  show(registers_.cell<"initializing">(), ready_ ? 0 : prm::kInitializing);
}

void InitSegment::show_health() const noexcept {
  show(registers_.cell<"health.fw_ver">(), prm::fw_rev(firmware_.major, firmware_.minor));
  show(registers_.cell<"health.hw_id">(), kHwId);
  show(registers_.cell<"health.rfr_severity">(), synd_ == 0 ? 0 : prm::kRfr << 24);
  show(registers_.cell<"health.synd">(), std::uint32_t{synd_} << 16);
}

void InitSegment::show_time(std::uint64_t now_ns) noexcept {
  const std::uint64_t ticks = device_ticks(now_ns);
  show(registers_.cell<"internal_timer_h">(), static_cast<std::uint32_t>(ticks >> 32));
  show(registers_.cell<"internal_timer_l">(), static_cast<std::uint32_t>(ticks));
  if (!frozen_)
    counter_ = static_cast<std::uint32_t>(now_ns / kHealthCountNs + 1) & prm::kHealthCounterMask;
  show(registers_.cell<"health_counter">(), counter_);
  if (now_ns < next_restore_ns_) return;
  next_restore_ns_ = now_ns + kRestoreNs;
  show_identity();
  show_health();
}

void InitSegment::set_health(std::uint8_t synd) noexcept {
  synd_ = synd;
  show_health();
}

}  // namespace portcullis::model
