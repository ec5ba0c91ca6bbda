// SPDX-License-Identifier: BSD-3-Clause
#include "model/core.hpp"

#include <algorithm>
#include <utility>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "prm/command_fields.hpp"
#include "prm/doorbell.hpp"
#include "prm/object_commands.hpp"

namespace portcullis::model {
namespace {

constexpr std::uint32_t kCmdifRev6 = 6;
// UAR pages begin behind the initialisation segment and end where device memory begins.
constexpr std::uint32_t kFirstUar = 16;
constexpr std::uint32_t kEndUar = DeviceMemory::kWindowAt / prm::kUarPageBytes;
constexpr std::uint32_t kFirstPd = 1;
constexpr std::uint32_t kFirstQpn = 0x40;  // 0 and 1 are the special QPs
// Doorbells in the BlueFlame half of a page: two of 256 bytes a register, four registers.
constexpr std::size_t kBfStep = prm::bf_buffer_bytes(9);
constexpr std::uint32_t kBootShare = 8;       // one startup page in eight is a boot page
constexpr std::uint32_t kCreatesPerPage = 4;  // behaviour page-starved
// Locally administered. Models on one wire need addresses of their own: Options::mac.
constexpr Mac kDefaultMac{0x02, 0x50, 0x43, 0x00, 0x00, 0x01};

/// The profile's has been looked at by adopt().
FirmwareVersion firmware_of(const Options& options) {
  if (!options.profile) return {};
  return parse_firmware(options.profile->firmware).value_or(FirmwareVersion{});
}

/// For which firmware needs memory, behaviour page-starved.
bool needs_page(std::uint16_t opcode) {
  return opcode == prm::number(prm::Opcode::CREATE_MKEY) ||
         opcode == prm::number(prm::Opcode::CREATE_CQ) ||
         opcode == prm::number(prm::Opcode::CREATE_QP);
}

Core& core_of(void* context) { return *static_cast<Core*>(context); }

}  // namespace

Core::Core(Parts parts, const Options& options)
    : description(describe(parts.timing, options.profile.get())),
      bar(std::move(parts.bar)),
      iommu(std::move(parts.iommu)),
      dma(iommu, counters.dma_faults),
      scheduler(std::move(parts.loop)),
      registers(bar.bytes(), parts.behaviours.cmdif_rev_6 ? kCmdifRev6 : prm::kCmdInterfaceRev,
                firmware_of(options)),
      interrupts(scheduler),
      eqs(
          dma, Capabilities::kLogMaxEq,
          [](void* context, prm::HealthSyndrome synd) {
            core_of(context).registers.set_health(prm::number(synd));
          },
          this),
      cqs(dma, eqs, scheduler, Capabilities::kLogMaxCq),
      mkeys(Capabilities::kLogMaxMkey),
      psvs(Capabilities::kLogMaxMkey),
      umems(Capabilities::kLogMaxUmem),
      user_contexts(Capabilities::kLogMaxUctx),
      pages(dma, eqs),
      capabilities(options.virtual_function, options.port_type, parts.behaviours,
                   options.profile.get()),
      device_memory(bar.bytes(), capabilities.device_memory()),
      link(
          port, behaviours, scheduler, eqs,
          [](void* context) {
            Core& self = core_of(context);
            if (self.transport) self.transport->port_changed();
          },
          this),
      firmware_reset(
          eqs, scheduler, [](void* context) { core_of(context).resume_later(); }, this),
      commands(
          {&dma, &scheduler, &eqs, &counters,
           [](void* context, const Command& command) { return core_of(context).execute(command); },
           this, [](void* context, auto in) { return core_of(context).may_wait(in); }},
          CommandTimes(parts.timing, options.profile, options.seed)),
      behaviours(std::move(parts.behaviours)),
      flows({&behaviours, options.port_type,
             [](void* context, std::uint32_t tirn) {
               return core_of(context).receive_targets.has_tir(tirn);
             },
             [](void* context, std::uint32_t qpn) { return core_of(context).qps.contains(qpn); },
             [](void* context, std::uint32_t qpn) {
               return core_of(context).transport->has_received(qpn);
             },
             this, capabilities.has_object_type(prm::kObjTypeSwIcm) ? &steering_memory : nullptr,
             [](void* context, std::string_view text) { core_of(context).tell(text); }}),
      receive_targets({&dma, &mkeys, &cqs, &scheduler, &counters.frames_dropped, &q_counters,
                       &umems, behaviours.dropless_rq_ms.value_or(0) * kNsPerMs}),
      send_queues({&dma, &mkeys, &cqs, &scheduler, &receive_targets.domains(), &port,
                   &port_counters, &umems, &rates}),
      shared_receives(dma, eqs, umems),
      uar_ids(kFirstUar, kEndUar),
      pd_ids(kFirstPd, 1u << Capabilities::kLogMaxPd),
      qp_ids(kFirstQpn, 1u << Capabilities::kLogMaxQp),
      options_(options),
      sees_every_store_(parts.sees_every_store),
      default_mac_(options.mac.value_or(kDefaultMac)) {
  port.type = options.port_type;
  port.mac = default_mac_;
  pd_ids.reuse_first(behaviours.reuse_numbers);
  qp_ids.reuse_first(behaviours.reuse_numbers);
  mkeys.reuse_indices(behaviours.reuse_numbers);
  mkeys.check_domain_below(!behaviours.klm_domain_unchecked);
  mkeys.check_qp(behaviours.mkc_qpn != KeyBinding::Unchecked);
  iommu.keep_stale(behaviours.a5_off);
  dma.set_bar(bar.bytes());
  dma.set_steering_memory(&steering_memory);
}

Result<std::unique_ptr<Core>> Core::create(Parts parts, const Options& options) {
  std::unique_ptr<trace::TraceFile> trace;
  if (!options.trace_path.empty()) {
    const std::string timing = options.profile ? describe(parts.timing, options.profile.get())
                                               : "timing=" + std::string(parts.timing.name);
    const std::string source = "model (" + timing + "; behaviours=" + parts.behaviours.names + ")";
    PORTCULLIS_TRY_ASSIGN(
        trace, trace::TraceFile::create(options.trace_path, source, options.on_recording_lost));
  }
  std::unique_ptr<Core> core(new Core(std::move(parts), options));
  core->commands.record_to(std::move(trace));
  TransportDeps deps{&core->dma,        &core->mkeys,    &core->cqs,  &core->eqs,
                     &core->scheduler,  &core->counters, &core->port, &core->behaviours,
                     &core->q_counters, &core->flows};
  deps.psvs = &core->psvs;
  deps.deliver_to_tir = [&to = core->receive_targets](const FlowDecision& decision,
                                                      std::span<const std::byte> frame, Origin from,
                                                      Offer offer) -> std::uint64_t {
    // What goes to several queues waits for none.
    const Offer how = decision.copies.empty() ? offer : Offer::Final;
    const std::uint64_t waits_ns =
        to.deliver(decision.to.tirn, decision.to.frame(frame),
                   {decision.to.flow_tag, from, nullptr, how, decision.to.metadata});
    for (const FlowTarget& copy : decision.copies)
      static_cast<void>(to.deliver(copy.tirn, copy.frame(frame),
                                   {copy.flow_tag, from, nullptr, Offer::Final, copy.metadata}));
    return waits_ns;
  };
  deps.deliver_datagram = [&to = core->receive_targets](const FlowDecision& decision,
                                                        const IpoibDatagram& datagram,
                                                        bool is_own) {
    static_cast<void>(
        to.deliver(decision.to.tirn, datagram.frame, {decision.to.flow_tag, {is_own}, &datagram}));
    for (const FlowTarget& copy : decision.copies)
      static_cast<void>(
          to.deliver(copy.tirn, datagram.frame, {copy.flow_tag, {is_own}, &datagram}));
  };
  deps.room_for_frames = [&queues = core->send_queues] { queues.room(); };
  deps.port_counters = &core->port_counters;
  deps.shared_receives = &core->shared_receives;
  deps.groups = &core->groups;
  deps.host_endian_atomics = core->capabilities.host_endian_atomics();
  TransportOptions transport_options{options.wire, options.pcap_path, options.seed,
                                     Capabilities::kLogMaxQp, Capabilities::kLogMaxMsg};
  transport_options.is_virtual_function = options.virtual_function;
  transport_options.pace = options.pace;
  transport_options.on_recording_lost = options.on_recording_lost;
  const std::uint64_t data_path_ns =
      std::max(core->behaviours.data_path_ns.value_or(0), core->behaviours.a1_off_ns.value_or(0));
  if (data_path_ns != 0 && !options.pace)
    transport_options.pace = std::make_shared<FixedPace>(data_path_ns);
  PORTCULLIS_TRY_ASSIGN(core->transport, Transport::create(deps, transport_options));
  core->send_queues.connect(core->transport->outlet());
  core->mkeys.set_idle_hook({[](void* context, std::uint32_t) {
                               core_of(context).resume_later();
                               core_of(context).transport->keys_idle();
                             },
                             core.get()});
  core->scheduler.loop().add_source({[](void* context) { return core_of(context).look(); },
                                     [](void* context) {
                                       Core& self = core_of(context);
                                       if (!self.removed_)
                                         self.registers.show_time(self.scheduler.now_ns());
                                     },
                                     core.get()});
  core->power_on();
  return core;
}

Core::~Core() { scheduler.loop().remove_source(this); }

void Core::on_interrupt(InterruptVectors::Deliver deliver, void* context) noexcept {
  interrupts.deliver_to(deliver, context);
  eqs.on_interrupt(
      [](void* self, std::uint32_t vector) noexcept {
        static_cast<InterruptVectors*>(self)->raise(vector);
      },
      &interrupts);
}

void Core::power_on() {
  if (removed_) return;
  scheduler.clear();
  is_broken_ = false;
  start_over();
  firmware_reset.power_on();
  port = PortSettings{};
  port.type = options_.port_type;
  port.mac = default_mac_;
  port.vport_mtu = PortSettings{}.vport_mtu;
  port.unicast.clear();
  link.reset();
  thermometer = {};
  port_counters = {};
  performance = {};
  dma.set_bus_master(false);
  registers.power_on(scheduler.now_ns());
  if (behaviours.never_ready) return;
  const Task boot{[](void* context, std::uint64_t) { core_of(context).registers.set_ready(); },
                  this, 0};
  if (behaviours.slow_init_ms)
    scheduler.schedule(scheduler.now_ns() + *behaviours.slow_init_ms * kNsPerMs, boot);
  else
    scheduler.post(boot);
}

/// What a driver made of the function is gone.
void Core::start_over() {
  commands.reset();
  drop_objects();
  pages.clear();
  capabilities.power_on();
  stage = Stage::PoweredOn;
  issi = 0;
  closes_with_interface = false;
  told_ = 0;
}

void Core::tell(std::string_view text) {
  constexpr std::uint32_t kMostTold = 100;
  if (told_ < kMostTold) commands.remark(text);
  if (++told_ == kMostTold) commands.remark("and so on; no more is told");
}

void Core::close_interface() {
  counters.objects_at_teardown += census().objects();
  start_over();
  link.reset();
  firmware_reset.interface_closed();
}

bool Core::breaks_at(prm::Opcode opcode) {
  if (is_broken_) return true;
  if (!behaviours.internal_error_at || opcode != prm::Opcode::QP_2ERR) return false;
  if (++fences_seen_ != *behaviours.internal_error_at) return false;
  is_broken_ = true;
  registers.set_health(prm::number(prm::HealthSyndrome::FW_INTERNAL_ERR));
  return true;
}

void Core::remove() {
  removed_ = true;
  scheduler.clear();
  commands.reset();
  drop_objects();
  dma.set_bus_master(false);
  bar.fill_with_ones();
}

void Core::drop_objects() {
  transport->reset();
  flows.clear();
  send_queues.clear();
  rates.clear();
  receive_targets.clear();
  shared_receives.clear();
  groups.clear();
  qps.clear();
  mkeys.clear();
  psvs.clear();
  device_memory.clear();
  steering_memory.clear();
  cqs.clear();
  cq_umems.clear();
  mkey_umems.clear();
  umems.clear();
  user_contexts.clear();
  q_counters.clear();
  eqs.clear();
  interrupts.clear();
  pds.clear();
  uars.clear();
  uar_ids.clear();
  pd_ids.clear();
  qp_ids.clear();
  for (References* references : {&uar_references, &pd_references, &eq_references, &cq_references,
                                 &q_counter_references, &underlay_references})
    references->clear();
  used_uars_.clear();
  page_waits_.fill(PageWait::None);
  later_.clear();
  creates_ = 0;
}

void Core::start_pages() {
  // A VF's pages are its PF's to give (req_pages_handler of mlx5/core/pagealloc.c: func_id).
  if (options_.virtual_function) return;
  const std::uint32_t boot = (options_.startup_pages + kBootShare - 1) / kBootShare;
  pages.start(boot, options_.startup_pages - boot);
}

Census Core::census() const {
  Census census;
  census.uars = uars.size();
  census.pds = pds.size();
  census.eqs = eqs.size();
  census.cqs = cqs.size();
  census.mkeys = mkeys.size();
  census.umems = umems.size();
  census.uctxs = user_contexts.size();
  census.qps = qps.size();
  census.q_counters = q_counters.size();
  census.flow_tables = flows.tables();
  census.flow_groups = flows.groups();
  census.flow_entries = flows.entries();
  census.flow_counters = flows.counters.size();
  census.rqs = receive_targets.rqs();
  census.tirs = receive_targets.tirs();
  census.srqs = shared_receives.queues();
  census.xrcds = shared_receives.domains().count();
  census.pages = pages.held();
  census.dma_mappings = iommu.mappings();
  census.commands_in_flight = commands.in_flight();
  return census;
}

void Core::use_uar(std::uint32_t uar) {
  if (!uar_references.any(uar)) used_uars_.push_back(uar);
  uar_references.add(uar);
}

void Core::release_uar(std::uint32_t uar) {
  uar_references.drop(uar);
  if (uar_references.any(uar)) return;
  std::erase(used_uars_, uar);
  if (!uars.contains(uar)) uar_ids.give_back(uar);
}

bool Core::look() {
  if (removed_) {
    // Whatever the driver stored since reads as ones again.
    bar.fill_with_ones(prm::mlx5_init_seg::bytes);
    return false;
  }
  registers.restore_queue_sizes();
  bool worked = false;
  if (closes_with_interface && registers.nic_interface() == prm::NicInterface::DISABLED)
    close_interface();
  // A disabled interface, like firmware that is not ready, does not look at the queue.
  if (const std::uint32_t rung = registers.take_doorbell();
      rung != 0 && registers.is_ready() &&
      registers.nic_interface() == prm::NicInterface::FULL_DRIVER) {
    commands.ring(sees_every_store_ ? rung : CommandQueue::kEverySlot, registers.command_queue(),
                  capabilities.checksums());
    worked = true;
  }
  for (const std::uint32_t uar : used_uars_) worked = look_at_uar(uar) || worked;
  scheduler.shuffle(std::span(kicked_uars_));
  for (const std::uint32_t uar : kicked_uars_) {
    transport->kick_uar(uar);
    send_queues.kick_uar(uar);
  }
  worked = worked || !kicked_uars_.empty();
  kicked_uars_.clear();
  worked = receive_targets.look() || worked;
  return transport->look() || worked;
}

bool Core::look_at_uar(std::uint32_t uar) {
  std::byte* const page = bar.bytes().data() + prm::uar_offset(uar);
  bool worked = false;
  for (const std::size_t offset : {prm::kEqDoorbellArm, prm::kEqDoorbellNoArm}) {
    const auto value = cells::take<std::uint32_t>(page + offset);
    if (value == 0) continue;
    eqs.doorbell(uar, cells::be32(value), offset == prm::kEqDoorbellArm);
    worked = true;
  }
  if (const auto rung = cells::take<std::uint64_t>(page + prm::kCqDoorbell); rung != 0) {
    if (sees_every_store_)
      cqs.ring(uar, prm::cq_doorbell_cqn(cells::be64(rung)));
    else
      cqs.kick(uar);
    worked = true;
  }
  bool kicked = false;
  for (std::size_t at = prm::kBfOffset; at < prm::kUarPageBytes; at += kBfStep)
    kicked = cells::take<std::uint64_t>(page + at) != 0 || kicked;
  if (kicked) kicked_uars_.push_back(uar);
  return worked;
}

bool Core::waits_for_dma(std::uint32_t mkey_index) const {
  return mkeys.is_indirect(mkey_index) ? !behaviours.a6_off : !behaviours.a1_off_ns;
}

bool Core::may_wait(std::span<const std::byte> in) const {
  if (needs_page(prm::number(prm::opcode_of(in)))) return behaviours.page_starved;
  if (prm::opcode_of(in) != prm::Opcode::DESTROY_MKEY || in.size() < prm::destroy_mkey_in::bytes)
    return false;
  return waits_for_dma(
      static_cast<std::uint32_t>(prm::ConstView<prm::destroy_mkey_in>::at(in).get<"mkey_index">()));
}

Core::PageWait Core::wait_for_page(std::uint32_t slot, std::uint16_t opcode) {
  if (const PageWait known = std::exchange(page_waits_[slot], PageWait::None);
      known != PageWait::None)
    return known;
  if (!behaviours.page_starved || stage != Stage::Initialised || !needs_page(opcode))
    return PageWait::None;
  if (++creates_ % kCreatesPerPage != 0) return PageWait::None;
  page_waits_[slot] = PageWait::Waiting;
  pages.request(1);
  return PageWait::Waiting;
}

void Core::resume_waiting(bool granted) {
  for (std::uint32_t slot = 0; slot < page_waits_.size(); ++slot) {
    if (page_waits_[slot] != PageWait::Waiting) continue;
    page_waits_[slot] = granted ? PageWait::Granted : PageWait::Refused;
    commands.resume(slot);
  }
}

void Core::resume_later() {
  for (const std::uint32_t slot : std::exchange(later_, {})) commands.resume(slot);
}

}  // namespace portcullis::model
