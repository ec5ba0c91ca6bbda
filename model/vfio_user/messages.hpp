// SPDX-License-Identifier: BSD-3-Clause
//
// The vfio-user protocol's messages as they stand on the socket: host byte order, no padding.
// Source: docs/interop/vfio-user.rst of QEMU (version 0.x of the protocol); the constants of VFIO
// itself (region indices, flags) come from <linux/vfio.h>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace portcullis::model::vfio_user {

enum class Command : std::uint16_t {
  Version = 1,
  DmaMap = 2,
  DmaUnmap = 3,
  DeviceGetInfo = 4,
  DeviceGetRegionInfo = 5,
  DeviceGetRegionIoFds = 6,
  DeviceGetIrqInfo = 7,
  DeviceSetIrqs = 8,
  RegionRead = 9,
  RegionWrite = 10,
  DmaRead = 11,   // server to client
  DmaWrite = 12,  // server to client
  DeviceReset = 13,
  RegionWriteMulti = 15,
  DeviceFeature = 16,
  MigDataRead = 17,
  MigDataWrite = 18,
};
[[nodiscard]] std::string_view name(Command command) noexcept;

inline constexpr std::uint16_t kMajor = 0;
inline constexpr std::uint16_t kMinor = 1;
/// Most data in one read or write message; what we announce and hold the client to.
inline constexpr std::size_t kMaxTransferBytes = 1 << 20;
/// Most file descriptors in one message; what we announce. QEMU 11.1 hangs up on more than 16
/// ("malformed max_msg_fds").
inline constexpr std::size_t kMaxMessageFds = 16;
/// Room for a transfer and the structure before it.
inline constexpr std::size_t kMaxMessageBytes = kMaxTransferBytes + 4096;

struct Header {
  static constexpr std::uint32_t kTypeMask = 0xf;
  static constexpr std::uint32_t kTypeCommand = 0;
  static constexpr std::uint32_t kTypeReply = 1;
  static constexpr std::uint32_t kNoReply = 1 << 4;
  static constexpr std::uint32_t kError = 1 << 5;

  std::uint16_t message_id = 0;
  Command command = Command::Version;
  std::uint32_t message_bytes = 0;  // the header included
  std::uint32_t flags = 0;
  std::uint32_t error = 0;  // errno
};
static_assert(sizeof(Header) == 16);

/// Followed by JSON with its terminating NUL.
struct Version {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
};
static_assert(sizeof(Version) == 4);

struct DmaMap {
  static constexpr std::uint32_t kReadable = 1 << 0;
  static constexpr std::uint32_t kWriteable = 1 << 1;

  std::uint32_t argsz = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;  // in the file that came with the message
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};
static_assert(sizeof(DmaMap) == 32);

struct DmaUnmap {
  static constexpr std::uint32_t kAll = 1 << 1;  // VFIO_DMA_UNMAP_FLAG_ALL

  std::uint32_t argsz = 0;
  std::uint32_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};
static_assert(sizeof(DmaUnmap) == 24);

struct DeviceInfo {
  std::uint32_t argsz = 0;
  std::uint32_t flags = 0;  // VFIO_DEVICE_FLAGS_*
  std::uint32_t num_regions = 0;
  std::uint32_t num_irqs = 0;
};
static_assert(sizeof(DeviceInfo) == 16);

struct RegionInfo {
  std::uint32_t argsz = 0;
  std::uint32_t flags = 0;  // VFIO_REGION_INFO_FLAG_*
  std::uint32_t index = 0;
  std::uint32_t cap_offset = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
};
static_assert(sizeof(RegionInfo) == 32);

struct IrqInfo {
  std::uint32_t argsz = 0;
  std::uint32_t flags = 0;  // VFIO_IRQ_INFO_*
  std::uint32_t index = 0;
  std::uint32_t count = 0;
};
static_assert(sizeof(IrqInfo) == 16);

/// Followed by a byte per interrupt when flags say DATA_BOOL.
struct IrqSet {
  std::uint32_t argsz = 0;
  std::uint32_t flags = 0;  // VFIO_IRQ_SET_*
  std::uint32_t index = 0;
  std::uint32_t start = 0;
  std::uint32_t count = 0;
};
static_assert(sizeof(IrqSet) == 20);

/// Followed by `count` bytes in a read's reply and a write's request.
struct RegionAccess {
  std::uint64_t offset = 0;
  std::uint32_t region = 0;
  std::uint32_t count = 0;
};
static_assert(sizeof(RegionAccess) == 16);

/// Followed by `count` bytes in a read's reply and a write's request.
struct DmaAccess {
  std::uint64_t address = 0;
  std::uint64_t count = 0;
};
static_assert(sizeof(DmaAccess) == 16);

}  // namespace portcullis::model::vfio_user
