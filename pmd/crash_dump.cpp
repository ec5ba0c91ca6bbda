// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/crash_dump.hpp"

#include <fmt/format.h>
#include <linux/pci_regs.h>

#include <optional>

#include "base/clock.hpp"
#include "base/config_access.hpp"
#include "prm/vendor_space.hpp"

namespace portcullis::pmd {
namespace {

namespace vsc = prm::vsc;

/// The largest that is believed: ConnectX-5 says some MiB.
constexpr std::uint32_t kMostSpaceBytes = std::uint32_t{64} << 20;

class Gateway {
 public:
  Gateway(const Device& device, ConfigAccess& config, std::uint32_t at,
          const CrashDumpOptions& options)
      : device_(&device), config_(&config), at_(at), options_(&options) {}

  /// mlx5_vsc_gw_lock: free, then marked with a number that nobody else has, and still so marked.
  Result<void> lock() {
    const std::uint64_t until_ns = device_->clock.now_ns() + options_->semaphore_ms * kNsPerMs;
    while (true) {
      PORTCULLIS_TRY_ASSIGN(const std::uint32_t holder, read(vsc::kSemaphore));
      if (holder == 0) {
        PORTCULLIS_TRY_ASSIGN(const std::uint32_t ours, read(vsc::kCounter));
        PORTCULLIS_TRY(write(vsc::kSemaphore, ours));
        PORTCULLIS_TRY_ASSIGN(const std::uint32_t now, read(vsc::kSemaphore));
        if (now == ours && ours != 0) return {};
      }
      if (device_->clock.now_ns() >= until_ns)
        return fail(Errc::Busy,
                    fmt::format("another holds the semaphore of the vendor specific capability for "
                                "{} ms",
                                options_->semaphore_ms));
      pause(kNsPerMs);
    }
  }
  Result<void> unlock() { return write(vsc::kSemaphore, 0); }

  /// mlx5_vsc_gw_set_space. How large the space is; 0: the device does not say.
  Result<std::uint32_t> choose(std::uint16_t space) {
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t before, read(vsc::kControl));
    PORTCULLIS_TRY(write(vsc::kControl, (before & ~vsc::kSpaceMask) | space));
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t control, read(vsc::kControl));
    if (control >> vsc::kStatusShift == 0)
      return fail(Errc::Unsupported,
                  fmt::format("the vendor specific capability has no space {:#x}", space));
    if ((control & vsc::kSizeValid) == 0) return 0U;
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t size, read(vsc::kAddress));
    return size & vsc::kAddressMask;
  }

  /// mlx5_vsc_sem_set_space: marked with a number of ours, or with 0 let go.
  Result<void> take_device(bool takes) {
    PORTCULLIS_TRY(choose(vsc::kSemaphoreDomain));
    std::uint32_t mark = 0;
    if (takes) {
      PORTCULLIS_TRY_ASSIGN(mark, read(vsc::kCounter));
    }
    PORTCULLIS_TRY(write(vsc::kData, mark));
    PORTCULLIS_TRY(write(vsc::kAddress, vsc::kSwResetSemaphore | vsc::kFlag));
    PORTCULLIS_TRY(wait_for_flag(false));
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t now, word_at(vsc::kSwResetSemaphore));
    if (now == mark) return {};
    return fail(Errc::Busy, "another function resets the device, or reads its crash dump");
  }

  /// mlx5_vsc_gw_read.
  Result<std::uint32_t> word_at(std::uint32_t address) {
    PORTCULLIS_TRY(write(vsc::kAddress, address & vsc::kAddressMask));
    PORTCULLIS_TRY(wait_for_flag(true));
    return read(vsc::kData);
  }
  /// Behind word_at(): where the next word is that can be read (mlx5_vsc_gw_read_fast).
  Result<std::uint32_t> next_address() {
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t address, read(vsc::kAddress));
    return address & vsc::kAddressMask;
  }

 private:
  Result<std::uint32_t> read(std::uint32_t offset) {
    return config_->read_config_dword(at_ + offset);
  }
  Result<void> write(std::uint32_t offset, std::uint32_t value) {
    return config_->write_config_dword(at_ + offset, value);
  }
  void pause(std::uint64_t ns) const {
    static_cast<void>(wait_until(*device_, device_->clock.now_ns() + ns, [] { return false; }));
  }

  Result<void> wait_for_flag(bool wanted) {
    const std::uint64_t until_ns = device_->clock.now_ns() + options_->answer_ms * kNsPerMs;
    while (true) {
      PORTCULLIS_TRY_ASSIGN(const std::uint32_t address, read(vsc::kAddress));
      if (((address & vsc::kFlag) != 0) == wanted) return {};
      if (device_->clock.now_ns() >= until_ns)
        return fail(Errc::DeviceFailed,
                    fmt::format("the vendor specific capability has not answered within {} ms",
                                options_->answer_ms));
      device_->relax(until_ns);
    }
  }

  const Device* device_;
  ConfigAccess* config_;
  std::uint32_t at_;
  const CrashDumpOptions* options_;
};

/// Where the capability stands; none: it does not.
Result<std::optional<std::uint32_t>> find_capability(ConfigAccess& config) {
  constexpr int kMostCapabilities = 48;
  constexpr std::uint32_t kAligned = 0xfc;
  constexpr std::uint32_t kByte = 0xff;
  PORTCULLIS_TRY_ASSIGN(std::uint32_t at, config.read_config_dword(PCI_CAPABILITY_LIST));
  for (int i = 0; i < kMostCapabilities && (at &= kAligned) != 0; ++i) {
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t head, config.read_config_dword(at));
    if ((head & kByte) == PCI_CAP_ID_VNDR && (head >> 16 & kByte) >= vsc::kBytes)
      return std::optional(at);
    at = head >> 8;
  }
  return std::nullopt;
}

/// The whole space, or what of it came by the deadline.
Result<void> scan(Gateway& gateway, const Device& device, const CrashDumpOptions& options,
                  CrashDump& dump) {
  const std::uint64_t until_ns = device.clock.now_ns() + options.deadline_ms * kNsPerMs;
  std::uint32_t at = 0;
  while (at < dump.space_bytes) {
    if (device.clock.now_ns() >= until_ns || (options.is_stopped && options.is_stopped()))
      return {};
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t value, gateway.word_at(at));
    PORTCULLIS_TRY_ASSIGN(const std::uint32_t next, gateway.next_address());
    dump.words.push_back({.address = at, .value = value});
    if (next <= at)
      return fail(Errc::DeviceFailed,
                  fmt::format("the scan goes from {:#x} back to {:#x}", at, next));
    at = next;
  }
  dump.is_whole = true;
  return {};
}

Result<CrashDump> collect(Gateway& gateway, const Device& device, const CrashDumpOptions& options) {
  CrashDump dump;
  PORTCULLIS_TRY(gateway.take_device(true));
  const auto size = gateway.choose(vsc::kScanCrSpace);
  Result<void> done = size ? Result<void>() : Result<void>(tl::unexpected<Error>(size.error()));
  if (done) dump.space_bytes = *size;
  if (done && (dump.space_bytes == 0 || dump.space_bytes > kMostSpaceBytes))
    done = fail(Errc::Malformed, fmt::format("a space of {} bytes; 4 to {} are accepted",
                                             dump.space_bytes, kMostSpaceBytes));
  if (done) done = scan(gateway, device, options, dump);
  // Whatever was met, the device is let go.
  const auto released = gateway.take_device(false);
  PORTCULLIS_TRY(done);
  PORTCULLIS_TRY(released);
  return dump;
}

}  // namespace

Result<CrashDump> read_crash_dump(const Device& device, const CrashDumpOptions& options) {
  auto* const config = dynamic_cast<ConfigAccess*>(device.function);
  if (config == nullptr)
    return fail(Errc::Unsupported, "no configuration space can be reached for this device");
  PORTCULLIS_TRY_ASSIGN(const auto at, find_capability(*config));
  if (!at)
    return fail(
        Errc::Unsupported,
        "the function has no vendor specific capability, which most physical functions have");
  Gateway gateway(device, *config, *at, options);
  PORTCULLIS_TRY(gateway.lock());
  auto dump = collect(gateway, device, options);
  const auto unlocked = gateway.unlock();
  if (dump) PORTCULLIS_TRY(unlocked);
  return dump;
}

}  // namespace portcullis::pmd
