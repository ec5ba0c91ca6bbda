// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/messages.hpp"

namespace portcullis::model::vfio_user {

std::string_view name(Command command) noexcept {
  switch (command) {
    case Command::Version:
      return "VFIO_USER_VERSION";
    case Command::DmaMap:
      return "VFIO_USER_DMA_MAP";
    case Command::DmaUnmap:
      return "VFIO_USER_DMA_UNMAP";
    case Command::DeviceGetInfo:
      return "VFIO_USER_DEVICE_GET_INFO";
    case Command::DeviceGetRegionInfo:
      return "VFIO_USER_DEVICE_GET_REGION_INFO";
    case Command::DeviceGetRegionIoFds:
      return "VFIO_USER_DEVICE_GET_REGION_IO_FDS";
    case Command::DeviceGetIrqInfo:
      return "VFIO_USER_DEVICE_GET_IRQ_INFO";
    case Command::DeviceSetIrqs:
      return "VFIO_USER_DEVICE_SET_IRQS";
    case Command::RegionRead:
      return "VFIO_USER_REGION_READ";
    case Command::RegionWrite:
      return "VFIO_USER_REGION_WRITE";
    case Command::DmaRead:
      return "VFIO_USER_DMA_READ";
    case Command::DmaWrite:
      return "VFIO_USER_DMA_WRITE";
    case Command::DeviceReset:
      return "VFIO_USER_DEVICE_RESET";
    case Command::RegionWriteMulti:
      return "VFIO_USER_REGION_WRITE_MULTI";
    case Command::DeviceFeature:
      return "VFIO_USER_DEVICE_FEATURE";
    case Command::MigDataRead:
      return "VFIO_USER_MIG_DATA_READ";
    case Command::MigDataWrite:
      return "VFIO_USER_MIG_DATA_WRITE";
  }
  return "unknown vfio-user command";
}

}  // namespace portcullis::model::vfio_user
