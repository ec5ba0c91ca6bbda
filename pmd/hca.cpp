// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca.hpp"

#include <algorithm>
#include <utility>

#include "pmd/capabilities.hpp"
#include "pmd/function_commands.hpp"
#include "pmd/pci_ids.hpp"
#include "pmd/port_mac.hpp"
#include "prm/enums.hpp"
#include "prm/init_segment.hpp"
#include "prm/view.hpp"

namespace portcullis::pmd {
namespace {

using Segment = prm::Registers<prm::mlx5_init_seg>;

/// MLX5_TO_FW_INIT_MS of Linux, where the device does not say.
constexpr std::uint64_t kFirmwareInitMs = 2'000;
/// cmdif_checksum of a device that signs what it answers.
constexpr std::uint32_t kSignsAnswers = 3;
constexpr std::uint32_t kAllOnes = 0xffff'ffff;

constexpr std::uint64_t mask_of(prm::EventType type) {
  return std::uint64_t{1} << prm::number(type);
}
/// MLX5_ASYNC_EVENT_MASK of Linux without its SRQ events, and PAGE_REQUEST: one queue for all.
/// Commands are polled, so CMD is left out.
constexpr std::uint64_t kEventMask =
    mask_of(prm::EventType::PATH_MIG) | mask_of(prm::EventType::COMM_EST) |
    mask_of(prm::EventType::SQ_DRAINED) | mask_of(prm::EventType::CQ_ERROR) |
    mask_of(prm::EventType::WQ_CATAS_ERROR) | mask_of(prm::EventType::PATH_MIG_FAILED) |
    mask_of(prm::EventType::WQ_INVAL_REQ_ERROR) | mask_of(prm::EventType::WQ_ACCESS_ERROR) |
    mask_of(prm::EventType::PORT_CHANGE) | mask_of(prm::EventType::PAGE_REQUEST);

/// Says which step an error comes from.
Result<void> step(const char* name, Result<void> result) {
  if (!result) result.error().text = std::string(name) + ": " + result.error().text;
  return result;
}

/// Undoing: goes on after a refusal, stops once the device does not answer or cannot be believed,
/// and keeps the first error.
class Undoing {
 public:
  template <class Action>
  void run(const char* name, Action&& action) {
    if (stopped_) return;
    auto result = step(name, std::forward<Action>(action)());
    if (result) return;
    stopped_ = result.error().code != Errc::CommandFailed;
    keep(std::move(result));
  }
  void keep(Result<void> result) {
    if (verdict_) verdict_ = std::move(result);
  }
  [[nodiscard]] Result<void> verdict() && { return std::move(verdict_); }

 private:
  Result<void> verdict_;
  bool stopped_ = false;
};

Result<void> check_device(const Device& device) {
  constexpr std::size_t kLeastBarBytes = prm::mlx5_init_seg::bytes;
  PORTCULLIS_TRY(check_pci_id(device.function->vendor_id(), device.function->device_id()));
  const std::size_t bar_bytes = device.bar.size();
  if (bar_bytes < kLeastBarBytes)
    return fail(Errc::Unsupported, "a BAR of " + std::to_string(bar_bytes) + " bytes; at least " +
                                       std::to_string(kLeastBarBytes) + " expected");
  return {};
}

}  // namespace

Result<std::unique_ptr<Hca>> Hca::bring_up(const Device& device, const Options& options) {
  // First: an Hca switches off and resets what it has, and this may be somebody else's.
  PORTCULLIS_TRY(step("device", check_device(device)));
  std::unique_ptr<Hca> hca(new Hca(device, options.log));
  // What came up so far goes down with it.
  if (auto done = hca->run_steps(options); !done) return forward_error(std::move(done));
  return hca;
}

Hca::Hca(const Device& device, LogSink log)
    : context_{.device = device, .arena = &arena_, .caps = {}},
      log_(std::move(log)),
      arena_(*device.dma),
      health_(context_.device) {}

Hca::~Hca() { (void)tear_down(); }

Result<void> Hca::run_steps(const Options& options) {
  using Phase = prm::QueryPagesOpMod;
  PciFunction& function = *context_.device.function;
  const std::uint64_t pre_init_ms = options.firmware_pre_init_ms;
  PORTCULLIS_TRY(step("bus mastering", function.set_bus_master(true)));
  PORTCULLIS_TRY(step("firmware pre-initialisation", wait_for_firmware(pre_init_ms)));
  PORTCULLIS_TRY(step("command queue", start_commands(options)));
  PORTCULLIS_TRY(step("ENABLE_HCA", enable()));
  PORTCULLIS_TRY(step("ISSI", negotiate_issi(*context_.commands)));
  PORTCULLIS_TRY(step("boot pages", pages_->give_startup(Phase::BOOT_PAGES)));
  if (!is_virtual_function())
    PORTCULLIS_TRY(step("HOST_ENDIANNESS", set_host_endianness(*context_.commands)));
  PORTCULLIS_TRY(step("capabilities", set_capabilities(options.checks_answers)));
  PORTCULLIS_TRY(step("init pages", pages_->give_startup(Phase::INIT_PAGES)));
  PORTCULLIS_TRY(step("INIT_HCA", initialise()));
  PORTCULLIS_TRY(step("board", note_board()));
  PORTCULLIS_TRY(step("UAR", allocate_uar()));
  PORTCULLIS_TRY(step("event queue", create_event_queue(options.log_event_entries)));
  PORTCULLIS_TRY(step("capabilities in force", note_capabilities()));
  PORTCULLIS_TRY(step("loopback", note_wishes(options)));
  PORTCULLIS_TRY(step("RoCE", enable_roce()));
  PORTCULLIS_TRY(step("port", bring_up_port(options.link_wait_ms)));
  PORTCULLIS_TRY(step("length of frames", widen_frames()));
  PORTCULLIS_TRY(step("address", announce()));
  return {};
}

bool Hca::is_virtual_function() const noexcept {
  return context_.device.function->device_id() == kConnectX5VfDeviceId;
}

/// Firmware holds initializing at 1 until it can be talked to. Behind a reset the register may read
/// all ones for a while, and Linux waits for that as well (wait_fw_init and fw_initializing of
/// mlx5_core, which look at bit 31 alone).
Result<void> Hca::wait_for_firmware(std::uint64_t timeout_ms) const {
  const Segment segment(context_.device.bar);
  const std::uint64_t until_ns = context_.device.clock.now_ns() + timeout_ms * kNsPerMs;
  std::uint32_t initializing = 0;
  const bool ended = wait_until(context_.device, until_ns, [&] {
    initializing = segment.get<"initializing">();
    return (initializing & prm::kInitializing) == 0;
  });
  if (!ended && initializing == kAllOnes)
    return fail(Errc::DeviceGone, "the device is gone: its registers still read all ones after " +
                                      std::to_string(timeout_ms) + " ms");
  if (!ended)
    return fail(Errc::Timeout,
                "the firmware is still initialising after " + std::to_string(timeout_ms) + " ms");
  return {};
}

Result<void> Hca::start_commands(const Options& options) {
  Device& device = context_.device;
  PORTCULLIS_TRY_ASSIGN(commands_, CommandQueue::create(device, arena_, health_));
  context_.commands =
      options.present_commands ? &options.present_commands(*commands_) : commands_.get();
  commands_->on_idle([this] { serve_events(); });
  pages_.emplace(device, *context_.commands, arena_, log_);

  const Segment segment(device.bar);
  const std::uint32_t revision = segment.get<"fw_rev">();
  firmware_version_ = std::to_string(revision & 0xffff) + "." + std::to_string(revision >> 16) +
                      "." + std::to_string(segment.get<"cmdif_rev_fw_sub">() & 0xffff);
  // Linux reads both only where cmd_q_init_to is not 0 (mlx5_tout_query_iseg).
  const std::uint64_t init_ms = prm::iseg_timeout_ms(segment.get<"cmd_q_init_to">());
  const std::uint64_t command_ms = prm::iseg_timeout_ms(segment.get<"cmd_exec_to">());
  if (init_ms != 0 && command_ms != 0) commands_->set_timeout_ns(command_ms * kNsPerMs);
  return wait_for_firmware(init_ms != 0 ? init_ms : kFirmwareInitMs);
}

Result<void> Hca::enable() {
  PORTCULLIS_TRY(enable_hca(*context_.commands));
  enabled_ = true;
  return {};
}

Result<void> Hca::set_capabilities(bool checks_answers) {
  PORTCULLIS_TRY_ASSIGN(const std::uint32_t checksum,
                        set_general_capabilities(*context_.commands, checks_answers));
  if (checksum == kSignsAnswers) commands_->verify_answers();
  PORTCULLIS_TRY(set_atomic_capabilities(*context_.commands));
  return set_roce_capabilities(*context_.commands);
}

Result<void> Hca::initialise() {
  PORTCULLIS_TRY(init_hca(*context_.commands));
  initialised_ = true;
  return {};
}

Result<void> Hca::note_board() {
  PORTCULLIS_TRY_ASSIGN(board_id_, read_board_id(*context_.commands));
  return {};
}

Result<void> Hca::allocate_uar() {
  PORTCULLIS_TRY_ASSIGN(Uar uar, Uar::create(context_));
  context_.uar = &uar_.emplace(std::move(uar));
  return {};
}

Result<void> Hca::create_event_queue(std::uint32_t log_entries) {
  PORTCULLIS_TRY_ASSIGN(EventQueue queue,
                        EventQueue::create(context_, *uar_, {log_entries, kEventMask}));
  context_.eqn = events_.emplace(std::move(queue)).number();
  return {};
}

Result<void> Hca::note_capabilities() {
  PORTCULLIS_TRY_ASSIGN(context_.caps, read_capabilities(*context_.commands));
  return {};
}

/// dr_send_allow_fl of mlx5_core asks the same capability before it sets ads.fl.
Result<void> Hca::note_wishes(const Options& options) {
  context_.binds_keys = options.binds_keys;
  context_.answers_neighbours = options.answers_neighbours;
  context_.forces_loopback = options.forces_loopback;
  const bool ethernet = context_.caps.port_type == prm::number(prm::PortType::ETH);
  if (!options.forces_loopback || !ethernet || context_.caps.forced_loopback != 0) return {};
  return fail(Errc::Unsupported,
              "packets cannot be forced back to this port (roce_cap.fl_rc_qp_when_roce_enabled is "
              "0); loopback=plain is accepted");
}

Result<void> Hca::enable_roce() {
  const bool ethernet = context_.caps.port_type == prm::number(prm::PortType::ETH);
  if (!ethernet || context_.caps.roce == 0) return {};
  return enable_roce_on_vport(*context_.commands);
}

// As opening a network interface of Linux does (mlx5e_modify_admin_state); a virtual function's
// port is not its own to set.
Result<void> Hca::bring_up_port(std::uint64_t link_wait_ms) {
  if (context_.caps.port_type != prm::number(prm::PortType::ETH)) return {};
  if (!is_virtual_function()) {
    PORTCULLIS_TRY(set_port_up(*context_.commands));
  }
  const Device& device = context_.device;
  const std::uint64_t until_ns = device.clock.now_ns() + link_wait_ms * kNsPerMs;
  PORTCULLIS_TRY_ASSIGN(const PortState state, wait_for_link(device, *context_.commands, until_ns));
  if (!state.link_up && log_)
    log_("the link of port 1 is down after " + std::to_string(link_wait_ms) + " ms (" +
         describe(state) + "): check the cable and the peer's port");
  return {};
}

/// What Linux goes on without, too: told in the log. A device that does not answer, or cannot be
/// believed, is another matter.
Result<void> Hca::forgive_refusal(Result<void> result, const char* what_then) const {
  if (result || result.error().code != Errc::CommandFailed) return result;
  if (log_) log_(result.error().text + "; " + what_then);
  return {};
}

// mlx5e_set_dev_port_mtu of Linux. A port that was never asked carries the 1,522 bytes of a host's
// frame, and what is longer is lost without a word: that would look like a fence.
Result<void> Hca::widen_frames() {
  if (context_.caps.port_type != prm::number(prm::PortType::ETH)) return {};
  constexpr std::uint32_t kWanted = frame_bytes(prm::QpcMtu::MTU_4096);
  CommandChannel& commands = *context_.commands;
  const auto widen = [&]() -> Result<void> {
    PORTCULLIS_TRY_ASSIGN(FrameLimits limits, query_frame_limits(commands));
    if (limits.in_force < std::min(kWanted, limits.greatest)) {
      PORTCULLIS_TRY(set_frame_limit(commands, std::min(kWanted, limits.greatest)));
      PORTCULLIS_TRY_ASSIGN(limits, query_frame_limits(commands));
    }
    context_.frame_bytes = limits.in_force;
    return {};
  };
  PORTCULLIS_TRY(forgive_refusal(widen(), "packets of a large path MTU may be lost"));
  const std::uint32_t in_force = context_.frame_bytes;
  if (in_force != 0 && in_force < kWanted && log_)
    log_("port 1 carries frames of " + std::to_string(in_force) +
         " bytes; a path MTU of 4096 needs " + std::to_string(kWanted));
  return {};
}

Result<void> Hca::announce() {
  if (context_.caps.port_type != prm::number(prm::PortType::ETH)) return {};
  const auto announce_own = [this]() -> Result<void> {
    PORTCULLIS_TRY_ASSIGN(const Mac mac, port_mac(context_));
    return announce_address(*context_.commands, mac);
  };
  return forgive_refusal(announce_own(), "a virtual function may be sent nothing");
}

Result<void> Hca::poll() {
  health_.poll();
  serve_events();
  return condition();
}

Result<void> Hca::condition() const {
  if (!health_.is_good()) return tl::unexpected<Error>(health_.error());
  return {};
}

std::optional<Event> Hca::next_event() {
  serve_events();
  if (pending_events_.empty()) return std::nullopt;
  const Event event = pending_events_.front();
  pending_events_.pop_front();
  return event;
}

// Called from waits as well: a command that is waited for in here must not come back to it.
void Hca::serve_events() {
  if (!events_ || serving_) return;
  serving_ = true;
  constexpr std::size_t kMostInOneGo = 256;
  for (std::size_t i = 0; i < kMostInOneGo; ++i) {
    const std::optional<Event> event = events_->poll();
    if (!event) break;
    take(*event);
  }
  events_->update_consumer_index();
  pages_->serve();
  serving_ = false;
}

void Hca::take(const Event& event) {
  if (const auto* request = std::get_if<PageRequestEvent>(&event)) {
    pages_->request(*request);
    return;
  }
  if (std::holds_alternative<UnknownEvent>(event)) return;  // the queue counts them
  if (std::holds_alternative<InternalErrorEvent>(event))
    health_.report_failure("the device reported INTERNAL_ERROR");
  if (pending_events_.size() < kMostPendingEvents) {
    pending_events_.push_back(event);
  } else {
    ++events_lost_;
  }
}

Result<void> Hca::tear_down() {
  if (down_) return {};
  down_ = true;
  Undoing undoing;
  undoing.keep(hand_back());
  Result<void> stopped = stop_function();
  tell_of_undone(stopped);
  undoing.keep(std::move(stopped));
  // Whoever still holds an object of this function gets an answer at once, and never "ok".
  health_.report_failure("the function has been torn down");
  return std::move(undoing).verdict();
}

Result<void> Hca::hand_back() {
  Undoing undoing;
  if (!commands_) return {};  // nothing came up that is behind it
  const UndoScope scope(*context_.commands);
  if (events_) undoing.run("event queue", [this] { return stop_events(); });
  if (uar_) undoing.run("UAR", [this] { return uar_->destroy(); });
  if (initialised_)
    undoing.run("TEARDOWN_HCA", [this] { return teardown_hca(*context_.commands); });
  if (pages_) undoing.run("firmware pages", [this] { return pages_->reclaim_all(); });
  if (enabled_) undoing.run("DISABLE_HCA", [this] { return disable_hca(*context_.commands); });
  return std::move(undoing).verdict();
}

/// What the function's objects name may not be freed while the device could still reach it: where
/// nothing proves that it cannot, memory stays mapped, and who closes the device has it reset.
void Hca::tell_of_undone(const Result<void>& stopped) const {
  if (!commands_ || !log_) return;
  const std::string left = commands_->undone().left();
  if (left.empty()) return;
  log_("not done one by one: " + left + " (" + commands_->undone().why() + "); " +
       (stopped ? "bus mastering is off and the function was reset, so none of it is left"
                : "the device could not be stopped (" + stopped.error().text +
                      "): it is reset when it is closed, at this process's end at the latest"));
}

Result<void> Hca::stop_events() {
  // Page requests are served until the queue is gone: DESTROY_EQ itself may be waiting for one.
  Result<void> verdict = events_->destroy();
  commands_->on_idle({});
  events_.reset();
  pages_->settle();
  return verdict;
}

Result<void> Hca::stop_function() {
  PciFunction& function = *context_.device.function;
  Result<void> verdict = step("bus mastering", function.set_bus_master(false));
  Result<void> reset = step("reset", function.reset());
  return verdict ? std::move(reset) : std::move(verdict);
}

}  // namespace portcullis::pmd
