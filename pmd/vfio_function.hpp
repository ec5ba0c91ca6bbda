// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 function bound to vfio-pci, through DPDK's public VFIO calls: BAR0, bus mastering,
// reset, DMA. Whatever keeps it from being attached is one line with its remedy. The EAL must run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_access.hpp"
#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/vfio_dma.hpp"
#include "prm/init_segment.hpp"

namespace portcullis::pmd {

/// The initialisation segment and at least one UAR page behind it.
inline constexpr std::size_t kLeastBarBytes = prm::mlx5_init_seg::bytes + 2 * kPageBytes;

/// "0000:03:00.0" of "0000:03:00.0" or "03:00.0"; InvalidArgument for anything else.
[[nodiscard]] Result<std::string> canonical_bdf(std::string_view text);

struct PciIds {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
};

/// BAR0 as the kernel set it up (`resource` of the device in `sys`); nothing where it does not say.
[[nodiscard]] std::optional<std::uint64_t> bar0_bytes(const std::string& bdf,
                                                      const std::filesystem::path& sys = "/sys");

/// The IOMMU group of a device.
struct IommuGroup {
  std::string number;       // "12"; empty: the device has none
  bool is_noiommu = false;  // VFIO made it up for a device without an IOMMU
  struct Member {
    std::string bdf;
    std::string driver;       // empty: none
    bool in_the_way = false;  // its driver keeps VFIO from owning the group
  };
  std::vector<Member> others{};  // without the device itself
};
[[nodiscard]] IommuGroup iommu_group_of(const std::string& bdf,
                                        const std::filesystem::path& sys = "/sys");

/// What can be seen in `sys` and `dev` before anything is opened: the device is there, is a
/// ConnectX-5 with a BAR0 that will do, has an IOMMU group that nobody else uses, is bound to
/// vfio-pci, and the group may be opened.
[[nodiscard]] Result<PciIds> check_vfio_ready(const std::string& bdf,
                                              const std::filesystem::path& sys = "/sys",
                                              const std::filesystem::path& dev = "/dev");

/// The group's file can be opened at this moment; Busy when another process has it.
[[nodiscard]] Result<void> check_group_opens(const std::string& bdf,
                                             const std::filesystem::path& sys = "/sys",
                                             const std::filesystem::path& dev = "/dev");

/// Why VFIO did not give a device of `group` that check_vfio_ready had nothing against.
/// `open_error`: the errno of opening the group's file once more, 0 when that works. `eal_log`:
/// what the EAL said meanwhile.
[[nodiscard]] Error refused_by_vfio(const std::string& bdf, const std::string& group,
                                    int open_error, std::string_view eal_log);

class VfioFunction final : public PciFunction, public ConfigAccess {
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
  [[nodiscard]] std::optional<bool> relaxed_ordering() const override;
  [[nodiscard]] Result<void> reset() override;
  [[nodiscard]] Result<std::uint32_t> read_config_dword(std::uint32_t offset) override;
  [[nodiscard]] Result<void> write_config_dword(std::uint32_t offset, std::uint32_t value) override;

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
