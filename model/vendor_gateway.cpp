// SPDX-License-Identifier: BSD-3-Clause
#include "model/vendor_gateway.hpp"

namespace portcullis::model {
namespace {

namespace vsc = prm::vsc;

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kStatusOk = std::uint32_t{1} << vsc::kStatusShift;

std::uint32_t next_to_scan(std::uint32_t address) noexcept {
  const std::uint32_t next = address + kWordBytes;
  const bool is_in_hole = next >= VendorGateway::kHoleFrom && next < VendorGateway::kHoleTo;
  return is_in_hole ? VendorGateway::kHoleTo : next;
}

}  // namespace

VendorGateway::VendorGateway(std::optional<CrashDumpSide> side) noexcept : side_(side) { reset(); }

void VendorGateway::reset() noexcept {
  semaphore_ = side_ == CrashDumpSide::Held ? kOthersMark : 0;
  sw_reset_ = 0;
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
  return space == vsc::kSemaphoreDomain ||
         (space == vsc::kScanCrSpace && side_ != CrashDumpSide::Refused);
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

void VendorGateway::write(std::uint32_t offset, std::uint32_t value) noexcept {
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
  if (space_ == vsc::kSemaphoreDomain) {
    data_ = address == vsc::kSwResetSemaphore ? sw_reset_ : 0;
    address_ = address | vsc::kFlag;
    return;
  }
  data_ = word_at(address);
  address_ = next_to_scan(address) | vsc::kFlag;
}

/// A write: done with the flag clear.
void VendorGateway::tell(std::uint32_t address) noexcept {
  const bool is_semaphore = space_ == vsc::kSemaphoreDomain && address == vsc::kSwResetSemaphore;
  if (is_semaphore && (data_ == 0 || sw_reset_ == 0)) sw_reset_ = data_;
  address_ = address;
}

}  // namespace portcullis::model
