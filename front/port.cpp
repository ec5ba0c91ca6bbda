// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/port.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "attach/open_device.hpp"
#include "base/log_sink.hpp"
#include "front/one_line.hpp"
#include "front/port_impl.hpp"
#include "prm/enums.hpp"

namespace portcullis {
namespace {

constexpr std::uint16_t kMostVlanId = 4094;

/// The process's one EAL, for as long as a port needs it.
Result<std::shared_ptr<pmd::Eal>> running_eal(std::vector<std::string> arguments) {
  static std::mutex starting;  // ports that are opened in two threads at once
  const std::lock_guard<std::mutex> one(starting);
  static std::weak_ptr<pmd::Eal> running;
  if (auto eal = running.lock()) return eal;
  arguments.insert(arguments.begin(), "portcullis");
  PORTCULLIS_TRY_ASSIGN(auto started, pmd::Eal::start(std::move(arguments), false));
  auto eal = std::make_shared<pmd::Eal>(std::move(started));
  running = eal;
  return eal;
}

/// A line may come in the middle of a grant or a fence. What whoever hears throws would leave it
/// there, with objects that nobody takes back.
LogSink that_never_throws(std::function<void(std::string_view)> log) {
  if (!log) return {};
  return [log = std::move(log)](std::string_view line) noexcept {
    try {
      log(one_line(std::string(line)));
    } catch (...) {  // port.hpp says so
    }
  };
}

Result<void> check(const PortOptions& options) {
  if (options.address) PORTCULLIS_TRY(attach::check_port_address(*options.address));
  for (const std::string& argument : options.eal_arguments)
    if (argument == "-h" || argument == "--help" || argument == "--log-level=help")
      return fail(Errc::InvalidArgument, "eal_arguments: " + argument +
                                             " prints a help and ends the process; arguments to "
                                             "start the EAL with are accepted");
  if (!options.vlan_id || *options.vlan_id <= kMostVlanId) return {};
  return fail(Errc::InvalidArgument,
              "vlan_id " + std::to_string(*options.vlan_id) + "; 0 to 4094 is accepted");
}

}  // namespace

Result<DeviceSpec> DeviceSpec::parse(std::string_view text) {
  PORTCULLIS_TRY_ASSIGN(const attach::DeviceSpec spec, in_one_line(attach::parse_device(text)));
  return DeviceSpec(std::string(text), spec.bdf(), spec.is_emulated());
}

Result<void> Port::Impl::open(const DeviceSpec& spec, const PortOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const attach::DeviceSpec parsed, attach::parse_device(spec.text()));
  if (!parsed.is_emulated() && !parsed.is_kept()) {
    PORTCULLIS_TRY_ASSIGN(eal, running_eal(options.eal_arguments));
  }
  const LogSink log = that_never_throws(options.log);
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open(parsed));
  PORTCULLIS_TRY_ASSIGN(function,
                        attach::Function::bring_up(std::move(opened), {.bring_up = {.log = log}}));
  if (context().caps.port_type == prm::number(prm::PortType::IB))
    return fail(Errc::Unsupported,
                "the port is InfiniBand; a port of type Ethernet is accepted, for leases are "
                "addressed by RoCE");
  PORTCULLIS_TRY_ASSIGN(
      port, attach::Port::create(context(), {.gid = options.address, .vlan_id = options.vlan_id}));
  responder = neighbour::Responder::set_up_or_say(context(), address(), log);
  return {};
}

Port::Port(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Port::Port(Port&& other) noexcept = default;
Port& Port::operator=(Port&& other) noexcept = default;
Port::~Port() = default;

Result<Port> Port::open(const DeviceSpec& spec, const PortOptions& options) {
  PORTCULLIS_TRY(in_one_line(check(options)));
  auto impl = std::make_shared<Impl>();
  PORTCULLIS_TRY(in_one_line(impl->open(spec, options)));
  return Port(std::move(impl));
}

const Gid& Port::gid() const noexcept { return impl_->address().gid; }
const Mac& Port::mac() const noexcept { return impl_->address().mac; }
const std::string& Port::firmware_version() const noexcept {
  return impl_->driver().firmware_version();
}
bool Port::is_emulated() const noexcept { return impl_->driver().is_emulated(); }

std::string Port::description() const {
  return impl_->context().device.description + " fw " + firmware_version() +
         (is_emulated() ? ", emulated: not NIC latency" : "");
}

std::uint64_t Port::now_ns() const noexcept { return impl_->clock().now_ns(); }

Result<void> Port::wait_ms(std::uint64_t ms) {
  constexpr std::uint64_t kStepNs = kNsPerMs;
  const Device& device = impl_->context().device;
  std::uint64_t left_ns = std::min(ms, ~std::uint64_t{0} / kNsPerMs) * kNsPerMs;
  PORTCULLIS_TRY(impl_->poll());
  while (left_ns > 0) {
    const std::uint64_t before_ns = device.clock.now_ns();
    const std::uint64_t step_ns = std::min(left_ns, kStepNs);
    if (device.clock.is_virtual()) {
      device.relax(before_ns + step_ns);
    } else {
      std::this_thread::sleep_for(std::chrono::nanoseconds(step_ns));
    }
    PORTCULLIS_TRY(impl_->poll());
    left_ns -= std::min(left_ns, device.clock.now_ns() - before_ns);
  }
  return {};
}

}  // namespace portcullis
