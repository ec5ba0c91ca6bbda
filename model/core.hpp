// SPDX-License-Identifier: BSD-3-Clause
//
// The function as a whole: its engines, the state that commands move it through, and where kicks
// turn into work. Commands are in commands_*.cpp, one file a subject; dispatch.cpp says which of
// them the function answers in which state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/bar.hpp"
#include "model/behaviours.hpp"
#include "model/capabilities.hpp"
#include "model/command_queue.hpp"
#include "model/cq.hpp"
#include "model/device_memory.hpp"
#include "model/dma.hpp"
#include "model/eq.hpp"
#include "model/ethernet/port_counters.hpp"
#include "model/ethernet/send_queues.hpp"
#include "model/firmware_pages.hpp"
#include "model/firmware_reset.hpp"
#include "model/id_table.hpp"
#include "model/interrupt_vectors.hpp"
#include "model/iommu.hpp"
#include "model/mkey.hpp"
#include "model/model.hpp"
#include "model/multicast_groups.hpp"
#include "model/performance_agent.hpp"
#include "model/port_link.hpp"
#include "model/port_settings.hpp"
#include "model/psv_table.hpp"
#include "model/q_counters.hpp"
#include "model/references.hpp"
#include "model/registers.hpp"
#include "model/scheduler.hpp"
#include "model/shared_receives.hpp"
#include "model/steering/flow_tables.hpp"
#include "model/steering/receive_targets.hpp"
#include "model/steering/sw_icm.hpp"
#include "model/thermometer.hpp"
#include "model/transport_port.hpp"
#include "model/umem.hpp"
#include "model/user_contexts.hpp"

namespace portcullis::model {

/// How far bring-up has come. Each stage includes those before it.
enum class Stage : std::uint8_t {
  PoweredOn,    // before ENABLE_HCA
  Enabled,      // boot pages may be missing
  BootPages,    // never stored: Enabled with the boot pages given
  Initialised,  // after INIT_HCA, until TEARDOWN_HCA
};

/// What the core knows of a QP: what it refers to.
struct QpReferences {
  std::uint32_t pd = 0;
  std::uint32_t cq_send = 0;
  std::uint32_t cq_receive = 0;
  std::uint32_t uar = 0;
  UmemUse umems{};
  std::uint32_t q_counters = 0;       // from RST2INIT on
  std::uint32_t shared_receives = 0;  // 0: it has receives of its own, or none
  std::uint32_t xrcd = 0;             // of an XRC QP
  bool has_uar = true;                // it sends
  bool is_underlay = false;           // it has no queues, hence none of the above
};

class Core {
 public:
  struct Parts {
    Bar bar;
    Iommu iommu;
    Timing timing;
    Behaviours behaviours;
    std::shared_ptr<EventLoop> loop;
    /// No store to the BAR overwrites another before it is seen, so the command doorbell's vector
    /// counts: an entry starts when its own bit is rung. A driver may own an entry half filled
    /// while it rings for another (cmd_work_handler of mlx5/core/cmd.c marks it pending between
    /// ownership and doorbell). So does the number in a CQ's doorbell. Without it a ring may have
    /// been overwritten by the next one, and any ring is one for every entry, or every CQ.
    bool sees_every_store = false;
  };
  /// The transport's errors.
  [[nodiscard]] static Result<std::unique_ptr<Core>> create(Parts parts, const Options& options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Function reset: everything but the IOMMU and the counters is as after power-on.
  void power_on();
  void set_bus_master(bool on) noexcept { dma.set_bus_master(on); }
  /// Who delivers the interrupts of event queues.
  void on_interrupt(InterruptVectors::Deliver deliver, void* context) noexcept;
  void remove();
  [[nodiscard]] bool removed() const noexcept { return removed_; }
  [[nodiscard]] Census census() const;

  /// Runs one command; see CommandQueue::Execute.
  [[nodiscard]] std::optional<Verdict> execute(const Command& command);
  [[nodiscard]] bool reached(Stage needed) const noexcept;
  /// Behaviour internal-error: this command is never answered, nor any that comes after it.
  [[nodiscard]] bool breaks_at(prm::Opcode opcode);
  /// Whether that command may have to wait for firmware pages, or for DMA under its key.
  [[nodiscard]] bool may_wait(std::span<const std::byte> in) const;
  /// DESTROY_MKEY of that key does, where its promise is kept (docs/hca-contract.md).
  [[nodiscard]] bool waits_for_dma(std::uint32_t mkey_index) const;
  [[nodiscard]] const trace::DeviceProfile* profile() const noexcept {
    return options_.profile.get();
  }
  /// ENABLE_HCA: says how many pages the firmware wants.
  void start_pages();
  /// TEARDOWN_HCA: every object is gone.
  void drop_objects();
  /// Commands that wait for firmware pages run again: with them, or to be refused.
  void resume_waiting(bool granted);
  /// Commands that wait for DMA under a key, or for an agreement to a firmware reset, run again.
  void resume_later();

  /// UAR pages with a CQ, an EQ or a QP are looked at for kicks.
  void use_uar(std::uint32_t uar);
  void release_uar(std::uint32_t uar);

  /// What its commands' times are worth.
  const std::string description;

  // The state that commands work on.
  Bar bar;
  Iommu iommu;
  Counters counters;
  Dma dma;
  Scheduler scheduler;
  InitSegment registers;
  InterruptVectors interrupts;
  EqTable eqs;
  CqTable cqs;
  MkeyTable mkeys;
  PsvTable psvs;
  UmemTable umems;
  UserContexts user_contexts;
  QCounterTable q_counters;
  FirmwarePages pages;
  Capabilities capabilities;
  DeviceMemory device_memory;
  SwIcm steering_memory;
  PortSettings port;
  PortLink link;
  FirmwareReset firmware_reset;
  Thermometer thermometer;
  std::unique_ptr<Transport> transport;
  CommandQueue commands;
  Behaviours behaviours;
  FlowTables flows;
  ReceiveTargets receive_targets;
  PortCounters port_counters;
  PerformanceAgent performance;
  RateLimits rates;
  SendQueues send_queues;
  SharedReceives shared_receives;
  MulticastGroups groups;

  Stage stage = Stage::PoweredOn;
  std::uint16_t issi = 0;
  /// A fast teardown is prepared: the function is off as soon as nic_interface says DISABLED
  /// (mlx5_cmd_fast_teardown_hca of mlx5/core/fw.c).
  bool closes_with_interface = false;
  IdAllocator uar_ids;
  IdAllocator pd_ids;
  IdAllocator qp_ids;
  std::unordered_set<std::uint32_t> uars;
  std::unordered_set<std::uint32_t> pds;
  std::unordered_map<std::uint32_t, QpReferences> qps;
  std::unordered_map<std::uint32_t, UmemUse> cq_umems;
  std::unordered_map<std::uint32_t, UmemUse> mkey_umems;
  References uar_references;
  References pd_references;
  References underlay_references;  // of queue pairs, by TISs
  References eq_references;
  References cq_references;
  References q_counter_references;

 private:
  Core(Parts parts, const Options& options);
  bool look();
  bool look_at_uar(std::uint32_t uar);
  void start_over();
  void close_interface();
  enum class PageWait : std::uint8_t { None, Waiting, Granted, Refused };
  [[nodiscard]] PageWait wait_for_page(std::uint32_t slot, std::uint16_t opcode);
  /// Into the recording, so often and no more: a guest writes what there is to tell.
  void tell(std::string_view text);

  Options options_;
  bool sees_every_store_;
  Mac default_mac_{};
  std::vector<std::uint32_t> kicked_uars_;  // scratch of look()
  std::vector<std::uint32_t> used_uars_;    // those with references
  std::array<PageWait, prm::kMaxCommands> page_waits_{};
  std::vector<std::uint32_t> later_;  // slots of commands that wait for resume_later()
  std::uint32_t creates_ = 0;
  std::uint32_t told_ = 0;
  bool removed_ = false;
  std::uint64_t fences_seen_ = 0;  // 2ERR_QP, for internal-error
  bool is_broken_ = false;
};

}  // namespace portcullis::model
