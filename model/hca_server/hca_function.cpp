// SPDX-License-Identifier: BSD-3-Clause
#include "model/hca_server/hca_function.hpp"

#include <linux/vfio.h>

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/dma_bytes.hpp"
#include "base/shared_pages.hpp"
#include "model/transport/frame_faults.hpp"
#include "prm/vendor_space.hpp"

namespace portcullis::model {
namespace {

/// How long nobody asks the configuration space for anything while the link is off: less than
/// Linux's 500 ms, and more than its driver needs to save that space before.
constexpr std::uint64_t kQuietNs = 200 * kNsPerMs;

vfio_user::ConfigSpace::Options config_options(const Options& options,
                                               const Behaviours& behaviours) {
  return {.device_id = options.virtual_function ? vfio_user::ConfigSpace::kDeviceConnectX5Vf
                                                : vfio_user::ConfigSpace::kDeviceConnectX5,
          .bar_bytes = Bar::kBytes,
          .msix_vectors = HcaFunction::kVectors,
          .strict_ordering = behaviours.strict_pci_ordering,
          .has_vendor_gateway =
              VendorGateway::is_there(options.virtual_function, behaviours.crash_dump)};
}

}  // namespace

Result<std::unique_ptr<HcaFunction>> HcaFunction::create(Options options, Uplink::Channels channels,
                                                         Owner owner) {
  if (channels.size() > 1 && options.port_type == PortType::InfiniBand)
    return fail(Errc::InvalidArgument,
                "--wire: one is accepted on an InfiniBand port, which is no switch");
  PORTCULLIS_TRY_ASSIGN(const Timing timing, find_timing(options.timing));
  PORTCULLIS_TRY_ASSIGN(Behaviours behaviours, find_behaviours(options.behaviours, options.timing));
  PORTCULLIS_TRY_ASSIGN(Bar bar, Bar::create());
  UniqueFd bar_file;
  if (owner == Owner::Process) {
    PORTCULLIS_TRY_ASSIGN(bar_file, make_shared_file("bar0", Bar::kBytes, /*is_fixed=*/true));
    PORTCULLIS_TRY(share_pages(bar.bytes(), bar_file.get(), 0));
  }
  PORTCULLIS_TRY_ASSIGN(Iommu iommu, Iommu::create());
  if (!options.wire) options.wire = std::make_shared<Wire>(0, options.port_type);
  auto loop = std::make_shared<EventLoop>(Execution::Polled, options.seed);
  PORTCULLIS_TRY_ASSIGN(
      std::unique_ptr<Core> core,
      Core::create({std::move(bar), std::move(iommu), timing, std::move(behaviours), loop,
                    /*sees_every_store=*/owner == Owner::Guest},
                   options));
  return std::unique_ptr<HcaFunction>(new HcaFunction(
      std::move(core), options,
      channels.empty()
          ? nullptr
          : std::make_unique<Uplink>(options.wire, std::move(loop), std::move(channels)),
      std::move(bar_file)));
}

HcaFunction::HcaFunction(std::unique_ptr<Core> core, const Options& options,
                         std::unique_ptr<Uplink> uplink, UniqueFd bar_file)
    : bar_file_(std::move(bar_file)),
      core_(std::move(core)),
      uplink_(std::move(uplink)),
      config_(config_options(options, core_->behaviours)) {
  if (VendorGateway::is_there(options.virtual_function, core_->behaviours.crash_dump))
    gateway_.emplace(core_->behaviours.crash_dump, core_.get());
  core_->on_interrupt(
      [](void* context, std::uint32_t vector) noexcept {
        static_cast<HcaFunction*>(context)->interrupt(vector);
      },
      this);
  // A process shares all memory that there is: what is in no range is a fault.
  if (!bar_file_.is_open()) core_->dma.set_remote(this);
  if (uplink_) uplink_->inject(frame_faults(core_->behaviours), options.seed);
}

bool HcaFunction::read(Iova from, std::span<std::byte> to) noexcept {
  return client_ != nullptr && client_->dma_read(from, to).has_value();
}

bool HcaFunction::write(Iova to, std::span<const std::byte> from) noexcept {
  return client_ != nullptr && client_->dma_write(to, from).has_value();
}

bool HcaFunction::serve() {
  // QEMU 10.1 waits seconds for the answer to a BAR read and gives the device up then; on a busy
  // machine this process has a fraction of a core, and work may make work for ever (RNR retries).
  constexpr std::uint64_t kLongestNs = kNsPerMs;
  constexpr std::size_t kTasksAtATime = 64;
  lose_link_if_due();
  const std::uint64_t until_ns = Clock::wall().now_ns() + kLongestNs;
  EventLoop& loop = core_->scheduler.loop();
  serving_ = true;
  bool has_more = false;
  do {
    const bool has_frames = uplink_ && uplink_->take();
    stores_.apply_oldest(core_->bar.bytes());
    has_more = loop.step(0, kTasksAtATime) || has_frames;
    if (std::exchange(reset_due_, false)) {
      core_->power_on();
      has_more = true;
    }
    has_more = has_more || !stores_.empty();
  } while (has_more && Clock::wall().now_ns() < until_ns);
  serving_ = false;
  return has_more;
}

std::vector<pollfd> HcaFunction::wire_waits() const {
  return uplink_ ? uplink_->waits() : std::vector<pollfd>{};
}

void HcaFunction::interrupt(std::uint32_t vector) noexcept {
  if (client_ == nullptr || !config_.bus_master() || !config_.msix_enabled()) return;
  client_->trigger_msix(vector);
}

std::uint64_t HcaFunction::region_bytes(std::uint32_t region) const {
  switch (region) {
    case VFIO_PCI_BAR0_REGION_INDEX:
      return Bar::kBytes;
    case VFIO_PCI_CONFIG_REGION_INDEX:
      return vfio_user::ConfigSpace::kBytes;
    default:
      return 0;
  }
}

int HcaFunction::region_file(std::uint32_t region) const {
  return region == VFIO_PCI_BAR0_REGION_INDEX ? bar_file_.get() : -1;
}

std::uint32_t HcaFunction::interrupts(std::uint32_t index) const {
  return index == VFIO_PCI_MSIX_IRQ_INDEX ? kVectors : 0;
}

/// Where behind the capability's beginning; none: it is none of the gateway's registers.
std::optional<std::uint32_t> HcaFunction::gateway_register(std::uint32_t region,
                                                           std::uint64_t offset,
                                                           std::size_t bytes) const {
  constexpr std::uint64_t kFirst = VendorGateway::kAt + sizeof(std::uint32_t);
  constexpr std::uint64_t kEnd = VendorGateway::kAt + prm::vsc::kBytes;
  const bool is_one = gateway_ && region == VFIO_PCI_CONFIG_REGION_INDEX && bytes != 0 &&
                      offset % sizeof(std::uint32_t) + bytes <= sizeof(std::uint32_t) &&
                      offset >= kFirst && offset < kEnd;
  if (!is_one) return std::nullopt;
  return static_cast<std::uint32_t>(offset - VendorGateway::kAt);
}

void HcaFunction::read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> to) {
  if (const auto at = gateway_register(region, offset, to.size())) {
    const std::uint32_t value = gateway_->read_part(*at, static_cast<std::uint32_t>(to.size()));
    std::memcpy(to.data(), &value, to.size());
    return;
  }
  if (region == VFIO_PCI_CONFIG_REGION_INDEX) return read_config(offset, to);
  dma_copy(to.data(), core_->bar.bytes().subspan(offset, to.size()).data(), to.size());
  stores_.overlay(offset, to);
}

void HcaFunction::write(std::uint32_t region, std::uint64_t offset,
                        std::span<const std::byte> from) {
  if (const auto at = gateway_register(region, offset, from.size())) {
    std::uint32_t value = 0;
    std::memcpy(&value, from.data(), from.size());
    return gateway_->write_part(*at, value, static_cast<std::uint32_t>(from.size()));
  }
  if (region == VFIO_PCI_CONFIG_REGION_INDEX) return write_config(offset, from);
  stores_.push(offset, from);
}

void HcaFunction::read_config(std::uint64_t offset, std::span<std::byte> to) {
  note_config_access();
  config_.read(offset, to);
}

void HcaFunction::write_config(std::uint64_t offset, std::span<const std::byte> from) {
  note_config_access();
  if (config_.write(offset, from).function_reset) return reset();
  core_->set_bus_master(config_.bus_master());
}

Result<void> HcaFunction::mapped(const vfio_user::GuestRange& range) {
  if (range.readable && range.writeable && !range.memory.empty()) {
    core_->iommu.map_at(range.address, range.memory);
  } else {
    core_->iommu.map_special({range.address, range.bytes,
                              range.memory.empty() ? nullptr : range.memory.data(), range.readable,
                              range.writeable});
  }
  return {};
}

void HcaFunction::unmapped(const vfio_user::GuestRange& range) {
  core_->iommu.unmap_at(range.address, range.bytes);
}

void HcaFunction::lose_link_if_due() {
  if (!core_->firmware_reset.awaits_link()) return quiet_since_ns_.reset();
  const std::uint64_t now_ns = Clock::wall().now_ns();
  if (!quiet_since_ns_) quiet_since_ns_ = now_ns;
  if (now_ns - *quiet_since_ns_ >= kQuietNs) reset();
}

void HcaFunction::note_config_access() {
  lose_link_if_due();
  if (quiet_since_ns_) quiet_since_ns_ = Clock::wall().now_ns();
}

// While a step waits for a DMA, its objects must stay until it has ended. It ends before another
// message is read: the DMA is given up, and without bus mastering it asks for no other.
void HcaFunction::reset() {
  config_.reset();
  if (gateway_) gateway_->reset();
  stores_.clear();
  if (!serving_) return core_->power_on();
  core_->set_bus_master(false);
  client_->abandon_dma();
  reset_due_ = true;
}

}  // namespace portcullis::model
