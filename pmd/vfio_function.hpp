// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 function bound to vfio-pci, through DPDK's public VFIO calls: BAR0, bus mastering,
// reset, DMA. Whatever keeps it from being attached is one line with its remedy. The EAL must run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/vfio_dma.hpp"

namespace portcullis::pmd {

/// "0000:03:00.0" of "0000:03:00.0" or "03:00.0"; InvalidArgument for anything else.
[[nodiscard]] Result<std::string> canonical_bdf(std::string_view text);

struct PciIds {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
};

/// What can be seen in `sys` and `dev` before anything is opened: the device is there, is a
/// ConnectX-5, is bound to vfio-pci, has an IOMMU group, and the group may be opened.
[[nodiscard]] Result<PciIds> check_vfio_ready(const std::string& bdf,
                                              const std::filesystem::path& sys = "/sys",
                                              const std::filesystem::path& dev = "/dev");

class VfioFunction final : public PciFunction {
 public:
  /// `bdf` as canonical_bdf gives it.
  [[nodiscard]] static Result<std::unique_ptr<VfioFunction>> attach(const std::string& bdf);
  VfioFunction(const VfioFunction&) = delete;
  VfioFunction& operator=(const VfioFunction&) = delete;
  ~VfioFunction() override;

  /// Valid as long as this.
  [[nodiscard]] Device device() noexcept;

  [[nodiscard]] std::uint16_t vendor_id() const override { return ids_.vendor; }
  [[nodiscard]] std::uint16_t device_id() const override { return ids_.device; }
  [[nodiscard]] Result<void> set_bus_master(bool on) override;
  [[nodiscard]] Result<void> reset() override;

 private:
  VfioFunction(std::string bdf, PciIds ids, int fd, bool resettable)
      : bdf_(std::move(bdf)), ids_(ids), fd_(fd), resettable_(resettable) {}

  [[nodiscard]] Result<void> map_bar();
  [[nodiscard]] Result<void> find_configuration_space();

  std::string bdf_;
  PciIds ids_;
  int fd_;
  bool resettable_;
  std::uint64_t configuration_at_ = 0;  // in the device's file
  std::span<std::byte> bar_;
  std::unique_ptr<VfioDmaSpace> dma_;
};

}  // namespace portcullis::pmd
