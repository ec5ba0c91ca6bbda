// SPDX-License-Identifier: BSD-3-Clause
#include "model/model.hpp"

#include <linux/pci_regs.h>
#include <pthread.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/config_access.hpp"
#include "model/core.hpp"
#include "model/engine_lock.hpp"
#include "model/vendor_gateway.hpp"
#include "prm/vendor_space.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint16_t kVendorId = 0x15b3;          // PCI_VENDOR_ID_MELLANOX, pci_ids.h
constexpr std::uint16_t kConnectX5 = 0x1017;         // mlx5_core_pci_table, mlx5/core/main.c
constexpr std::uint16_t kConnectX5Virtual = 0x1018;  // the same

/// The IOMMU of the function, as a driver sees it.
class ModelDmaSpace final : public DmaSpace {
 public:
  ModelDmaSpace(Core& core, EngineLock& lock) : core_(core), lock_(lock) {}
  Result<Iova> map(std::span<std::byte> memory) override {
    const EngineLock::Outside locked(lock_);
    return core_.iommu.map(memory);
  }
  Result<void> unmap(Iova iova, std::size_t bytes) override {
    const EngineLock::Outside locked(lock_);
    return core_.iommu.unmap(iova, bytes);
  }
  Result<void> retire(Iova iova, std::size_t bytes) override {
    const EngineLock::Outside locked(lock_);
    return core_.iommu.retire(iova, bytes);
  }

 private:
  Core& core_;
  EngineLock& lock_;
};

class ModelFunction final : public PciFunction, public ConfigAccess {
 public:
  ModelFunction(Core& core, EngineLock& lock, bool virtual_function)
      : core_(core), lock_(lock), virtual_function_(virtual_function) {
    if (VendorGateway::is_there(virtual_function, core.behaviours.crash_dump))
      gateway_.emplace(core.behaviours.crash_dump, &core);
  }
  std::uint16_t vendor_id() const override { return kVendorId; }
  std::uint16_t device_id() const override {
    return virtual_function_ ? kConnectX5Virtual : kConnectX5;
  }
  Result<void> set_bus_master(bool on) override {
    const EngineLock::Outside locked(lock_);
    if (core_.removed()) return gone();
    core_.set_bus_master(on);
    return {};
  }
  std::optional<bool> relaxed_ordering() const override {
    if (virtual_function_) return std::nullopt;  // its bit is wired to 0: the PF's counts
    return core_.behaviours.is_pci_relaxed();
  }
  Result<void> reset() override {
    const EngineLock::Outside locked(lock_);
    if (core_.removed()) return gone();
    core_.power_on();
    if (gateway_) gateway_->reset();
    return {};
  }
  /// The ids and, of the capabilities, the gateway alone.
  Result<std::uint32_t> read_config_dword(std::uint32_t offset) override {
    const EngineLock::Outside locked(lock_);
    if (core_.removed()) return tl::unexpected<Error>(gone().error());
    constexpr unsigned kDeviceShift = 16;
    if (offset == PCI_VENDOR_ID) return vendor_id() | std::uint32_t{device_id()} << kDeviceShift;
    if (!gateway_) return 0U;
    if (offset == PCI_CAPABILITY_LIST) return VendorGateway::kAt;
    if (offset == VendorGateway::kAt) return VendorGateway::header(0);
    return is_of_gateway(offset) ? gateway_->read(offset - VendorGateway::kAt) : 0U;
  }
  Result<void> write_config_dword(std::uint32_t offset, std::uint32_t value) override {
    const EngineLock::Outside locked(lock_);
    if (core_.removed()) return gone();
    if (gateway_ && is_of_gateway(offset)) gateway_->write(offset - VendorGateway::kAt, value);
    return {};
  }

 private:
  static bool is_of_gateway(std::uint32_t offset) noexcept {
    return offset > VendorGateway::kAt && offset < VendorGateway::kAt + prm::vsc::kBytes;
  }
  static Result<void> gone() {
    return fail(Errc::DeviceGone, "the configuration space reads all ones: the card was pulled");
  }

  Core& core_;
  EngineLock& lock_;
  bool virtual_function_;
  std::optional<VendorGateway> gateway_;  // none: there is no such capability
};

}  // namespace

struct Model::State {
  State(std::unique_ptr<Core> the_core, const Options& options)
      : core(std::move(the_core)),
        dma_space(*core, lock),
        function(*core, lock, options.virtual_function),
        execution(options.execution),
        description("model (" + core->description + "; behaviours=" + core->behaviours.names +
                    ")") {}

  static void step(void* context, std::uint64_t until_ns) noexcept {
    static_cast<EventLoop*>(context)->step(until_ns);
  }
  static void wait(void* /*context*/, std::uint64_t /*until_ns*/) noexcept { pause_cpu(); }

  EngineLock lock;
  std::unique_ptr<Core> core;
  ModelDmaSpace dma_space;
  ModelFunction function;
  Execution execution;
  std::string description;
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;

Result<std::unique_ptr<Model>> Model::create(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(const Timing timing, find_timing(options.timing));
  PORTCULLIS_TRY_ASSIGN(Behaviours behaviours, find_behaviours(options.behaviours, options.timing));
  const bool stepped = options.execution == Execution::Stepped;
  if (options.wire && !stepped)
    return fail(Errc::InvalidArgument,
                "a shared wire with polled execution; models that share a wire must be stepped");
  PORTCULLIS_TRY_ASSIGN(Bar bar, Bar::create());
  PORTCULLIS_TRY_ASSIGN(Iommu iommu, Iommu::create());
  auto loop = options.wire ? shared_loop(*options.wire, options.seed)
                           : std::make_shared<EventLoop>(options.execution, options.seed);
  PORTCULLIS_TRY_ASSIGN(std::unique_ptr<Core> core,
                        Core::create({std::move(bar), std::move(iommu), timing,
                                      std::move(behaviours), std::move(loop)},
                                     options));
  return std::unique_ptr<Model>(new Model(std::make_unique<State>(std::move(core), options)));
}

Device Model::device() {
  EventLoop& loop = state_->core->scheduler.loop();
  const bool stepped = state_->execution == Execution::Stepped;
  return Device{state_->core->bar.bytes(),
                &state_->dma_space,
                &state_->function,
                loop.clock(),
                stepped ? Relax(&State::step, &loop) : Relax(&State::wait, nullptr),
                state_->description};
}

/// A nap costs some 20 us of a core, most of it the kernel's: 50 us apart they are a sixth of one,
/// which is too much for a model that nobody has asked anything for long.
void Model::run(const std::atomic<bool>& stop, bool naps) {
  constexpr std::uint32_t kLooksBeforeANap = 20'000;
  constexpr std::uint32_t kLooksBeforeALongNap = kLooksBeforeANap + 2'000;  // a fifth of a second
  constexpr std::chrono::microseconds kNap{50};
  constexpr std::chrono::microseconds kLongNap{500};
  if (state_->execution != Execution::Polled) return;
  (void)::pthread_setname_np(::pthread_self(), "model");
  EventLoop& loop = state_->core->scheduler.loop();
  std::uint32_t looks = 0;  // since it last had something to do
  while (!stop.load(std::memory_order_relaxed)) {
    bool worked = false;
    if (const auto locked = state_->lock.try_step()) worked = loop.step(0);
    looks = worked ? 0 : looks + 1;
    if (naps && looks > kLooksBeforeALongNap) {
      std::this_thread::sleep_for(kLongNap);
      looks = kLooksBeforeALongNap;
    } else if (naps && looks > kLooksBeforeANap) {
      std::this_thread::sleep_for(kNap);
    } else if (!worked) {
      pause_cpu();
    }
  }
}

void Model::inject(const CommandFaultRule& rule) {
  const EngineLock::Outside locked(state_->lock);
  state_->core->commands.inject(rule);
}

void Model::inject(const FrameFaultRule& rule) {
  const EngineLock::Outside locked(state_->lock);
  state_->core->transport->inject(rule);
}

void Model::observe_dma(DmaObserver* observer) noexcept {
  const EngineLock::Outside locked(state_->lock);
  state_->core->dma.set_observer(observer);
}

bool Model::release(std::uint64_t ticket) {
  const EngineLock::Outside locked(state_->lock);
  return state_->core->transport->release(ticket);
}

void Model::request_pages(std::int32_t pages) {
  const EngineLock::Outside locked(state_->lock);
  state_->core->pages.request(pages);
}

void Model::set_health_syndrome(std::uint8_t synd) {
  const EngineLock::Outside locked(state_->lock);
  state_->core->registers.set_health(synd);
}

void Model::freeze_health_counter() {
  const EngineLock::Outside locked(state_->lock);
  state_->core->registers.freeze_counter();
}

void Model::surprise_remove() {
  const EngineLock::Outside locked(state_->lock);
  state_->core->remove();
}

Census Model::census() const {
  const EngineLock::Outside locked(state_->lock);
  return state_->core->census();
}

Counters Model::counters() const {
  const EngineLock::Outside locked(state_->lock);
  return state_->core->counters;
}

}  // namespace portcullis::model
