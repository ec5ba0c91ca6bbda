// SPDX-License-Identifier: BSD-3-Clause
#include "model/vendor_gateway.hpp"

#include "model/registers.hpp"

namespace portcullis::model {
namespace {

namespace vsc = prm::vsc;

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kStatusOk = std::uint32_t{1} << vsc::kStatusShift;

/// mstflint goes by a gateway only where it has the second (VSEC_MIN_SUPPORT_UL of its headers).
/// That they lead to one interface is a hypothesis.
constexpr bool is_icmd(std::uint16_t space) noexcept {
  return space == vsc::kIcmdSpace || space == vsc::kIcmdExtSpace;
}

constexpr std::uint32_t part_mask(std::uint32_t bytes) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{1} << bytes * 8) - 1);
}

std::uint32_t next_to_scan(std::uint32_t address) noexcept {
  const std::uint32_t next = address + kWordBytes;
  const bool is_in_hole = next >= VendorGateway::kHoleFrom && next < VendorGateway::kHoleTo;
  return is_in_hole ? VendorGateway::kHoleTo : next;
}

}  // namespace

VendorGateway::VendorGateway(std::optional<CrashDumpSide> side, Core* core) noexcept : side_(side) {
  if (core != nullptr) icmd_.emplace(*core);
  reset();
}

void VendorGateway::reset() noexcept {
  semaphore_ = side_ == CrashDumpSide::Held ? kOthersMark : 0;
  sw_reset_ = 0;
  icmd_semaphore_ = 0;
  if (icmd_) icmd_->reset();
  space_ = 0;
  says_size_ = false;
  address_ = 0;
  data_ = 0;
}

std::uint32_t VendorGateway::word_at(std::uint32_t address) noexcept {
  constexpr std::uint32_t kSpread = 0x9e3779b1;  // neighbours are nothing alike
  return address * kSpread ^ 0xc0dec0de;
}

bool VendorGateway::has_space(std::uint16_t space) const noexcept {
  return space == vsc::kSemaphoreDomain || space == vsc::kCrSpace || (is_icmd(space) && icmd_) ||
         (space == vsc::kScanCrSpace && side_ != CrashDumpSide::Refused);
}

std::uint32_t* VendorGateway::semaphore(std::uint32_t address) noexcept {
  if (address == vsc::kSwResetSemaphore) return &sw_reset_;
  return address == vsc::kIcmdSemaphore ? &icmd_semaphore_ : nullptr;
}

/// What a space that is not scanned has at an address.
std::uint32_t VendorGateway::word(std::uint32_t address) noexcept {
  if (is_icmd(space_)) return icmd_->read(address);
  if (space_ == vsc::kCrSpace) return address == vsc::kHwId ? InitSegment::kHwId : 0;
  const std::uint32_t* const mark = semaphore(address);
  return mark == nullptr ? 0 : *mark;
}

std::uint32_t VendorGateway::read(std::uint32_t offset) noexcept {
  switch (offset) {
    case vsc::kControl:
      if (!has_space(space_)) return space_;
      return kStatusOk | space_ | (space_ == vsc::kScanCrSpace ? vsc::kSizeValid : 0);
    case vsc::kCounter:
      return ++counter_;
    case vsc::kSemaphore:
      return semaphore_;
    case vsc::kAddress:
      return says_size_ && space_ == vsc::kScanCrSpace ? kSpaceBytes : address_;
    case vsc::kData:
      return data_;
    default:
      return 0;
  }
}

std::uint32_t VendorGateway::read_part(std::uint32_t offset, std::uint32_t bytes) noexcept {
  const std::uint32_t shift = offset % kWordBytes * 8;
  return read(offset - offset % kWordBytes) >> shift & part_mask(bytes);
}

void VendorGateway::write_part(std::uint32_t offset, std::uint32_t value, std::uint32_t bytes) {
  const std::uint32_t at = offset - offset % kWordBytes;
  const std::uint32_t shift = offset % kWordBytes * 8;
  const std::uint32_t mask = part_mask(bytes) << shift;
  write(at, (read(at) & ~mask) | (value << shift & mask));
}

void VendorGateway::write(std::uint32_t offset, std::uint32_t value) {
  switch (offset) {
    case vsc::kControl:
      space_ = static_cast<std::uint16_t>(value & vsc::kSpaceMask);
      says_size_ = true;
      address_ = 0;
      return;
    case vsc::kSemaphore:
      // A mark is taken where there is none, and only 0 takes it away.
      if (side_ != CrashDumpSide::Held && (value == 0 || semaphore_ == 0)) semaphore_ = value;
      return;
    case vsc::kAddress:
      says_size_ = false;
      if ((value & vsc::kFlag) != 0)
        tell(value & vsc::kAddressMask);
      else
        ask(value & vsc::kAddressMask);
      return;
    case vsc::kData:
      data_ = value;
      return;
    default:
      return;
  }
}

/// A read: answered with the flag set, and in the space that is scanned with the next address.
void VendorGateway::ask(std::uint32_t address) noexcept {
  address_ = address;
  const bool is_stuck = side_ == CrashDumpSide::Stuck && space_ == vsc::kScanCrSpace;
  if (is_stuck || !has_space(space_)) return;
  if (space_ != vsc::kScanCrSpace) {
    data_ = word(address);
    address_ = address | vsc::kFlag;
    return;
  }
  data_ = word_at(address);
  address_ = next_to_scan(address) | vsc::kFlag;
}

/// A write: done with the flag clear. A semaphore takes a mark where there is none.
void VendorGateway::tell(std::uint32_t address) {
  std::uint32_t* const mark = space_ == vsc::kSemaphoreDomain ? semaphore(address) : nullptr;
  if (mark != nullptr && (data_ == 0 || *mark == 0)) *mark = data_;
  if (is_icmd(space_) && icmd_) icmd_->write(address, data_);
  address_ = address;
}

}  // namespace portcullis::model
