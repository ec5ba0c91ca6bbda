// SPDX-License-Identifier: BSD-3-Clause
#include "model/firmware_pages.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/cells.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::size_t kAddressBytes = 8;

enum Refusal : std::uint32_t {
  kBadOpMod = 0x10001,
  kMoreThanAsked,
  kShortList,
  kBadAddress,
  kNotReachable,
};

Iova address_at(std::span<const std::byte> pas, std::size_t index) {
  std::uint64_t raw;
  std::memcpy(&raw, pas.data() + index * kAddressBytes, sizeof raw);
  return cells::be64(raw);
}

}  // namespace

void FirmwarePages::start(std::uint32_t boot, std::uint32_t init) {
  clear();
  boot_ = boot;
  init_ = init;
}

void FirmwarePages::clear() noexcept {
  boot_ = init_ = granted_later_ = outstanding_ = returnable_ = 0;
  known_.clear();
  held_.clear();
  pending_events_.clear();
}

/// How many pages the driver may give now: boot pages first, then those before INIT_HCA, then those
/// that an event asked for.
std::uint64_t FirmwarePages::wanted() const noexcept {
  const std::uint64_t target =
      std::uint64_t{boot_} + (has_boot_pages() ? init_ : 0) + granted_later_ + outstanding_;
  return target - std::min<std::uint64_t>(target, held_.size());
}

Verdict FirmwarePages::query(prm::QueryPagesOpMod what, std::int32_t& pages) const {
  const auto missing = [this](std::uint64_t target) {
    return static_cast<std::int32_t>(target - std::min<std::uint64_t>(target, held_.size()));
  };
  switch (what) {
    case prm::QueryPagesOpMod::BOOT_PAGES:
      pages = missing(boot_);
      return {};
    case prm::QueryPagesOpMod::INIT_PAGES:
      pages = missing(std::uint64_t{boot_} + init_);
      return {};
    case prm::QueryPagesOpMod::REGULAR_PAGES:
      pages = static_cast<std::int32_t>(outstanding_);
      return {};
  }
  return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
}

Verdict FirmwarePages::give(std::uint32_t count, std::span<const std::byte> pas) {
  if (count > pas.size() / kAddressBytes) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  if (count > wanted()) return refuse(CommandStatus::BAD_PARAM_ERR, kMoreThanAsked);
  std::unordered_set<Iova> batch;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Iova page = address_at(pas, i);
    if (page % kPageBytes != 0 || known_.contains(page) || !batch.insert(page).second)
      return refuse(CommandStatus::BAD_PARAM_ERR, kBadAddress);
  }
  for (const Iova page : batch) {
    // Firmware uses what it is given: a page that it cannot reach is a fault, and a page that the
    // driver still uses is overwritten.
    std::array<std::byte, 64> mark;
    mark.fill(std::byte{0x5a});
    if (!dma_->write(page, mark)) return refuse(CommandStatus::BAD_PARAM_ERR, kNotReachable);
  }
  const std::uint64_t startup = std::uint64_t{boot_} + init_ + granted_later_;
  for (std::uint32_t i = 0; i < count; ++i) held_.push_back(address_at(pas, i));
  known_.merge(batch);
  if (held_.size() > startup) {
    const auto later = static_cast<std::uint32_t>(held_.size() - startup);
    granted_later_ += later;
    outstanding_ -= std::min(outstanding_, later);
  }
  return {};
}

void FirmwarePages::refuse_pages() noexcept { outstanding_ = 0; }

Verdict FirmwarePages::take(std::uint32_t count, bool initialised, std::span<std::byte> pas,
                            std::uint32_t& taken) {
  const std::size_t available =
      initialised ? std::min<std::size_t>(returnable_, held_.size()) : held_.size();
  // A page whose address has no room stays.
  taken = static_cast<std::uint32_t>(
      std::min<std::size_t>({count, available, pas.size() / kAddressBytes}));
  for (std::uint32_t i = 0; i < taken; ++i) {
    const std::uint64_t raw = cells::be64(held_.back());
    std::memcpy(pas.data() + i * kAddressBytes, &raw, sizeof raw);
    known_.erase(held_.back());
    held_.pop_back();
  }
  returnable_ -= std::min(returnable_, taken);
  // What went back was lent on top first; it is not asked for again by itself.
  granted_later_ -= std::min(granted_later_, taken);
  return {};
}

void FirmwarePages::request(std::int32_t pages) {
  if (pages == 0) return;
  if (pages > 0)
    outstanding_ += static_cast<std::uint32_t>(pages);
  else
    returnable_ += static_cast<std::uint32_t>(-std::int64_t{pages});
  pending_events_.push_back(pages);
  send_pending_events();
}

void FirmwarePages::send_pending_events() {
  if (!eqs_->has_subscriber(prm::EventType::PAGE_REQUEST)) return;
  for (const std::int32_t pages : pending_events_) {
    prm::Buffer<prm::mlx5_eqe_page_req> event;
    event.put<"num_pages">(static_cast<std::uint32_t>(pages));
    eqs_->raise(prm::EventType::PAGE_REQUEST, event.all());
  }
  pending_events_.clear();
}

}  // namespace portcullis::model
