// SPDX-License-Identifier: BSD-3-Clause
//
// The port's way from administrative state to traffic, and the events it raises.
//
//   Ethernet     up as soon as it may be, or link-up-ms later (model/behaviours.hpp)
//   InfiniBand   may be up -> trains -> INIT -> a subnet manager gives it a LID -> ACTIVE;
//                with behaviour outside-sm one on the wire does, by way of ARMED
//
// No figure is published for the second: training and sweep take seconds on a fabric, and the
// values here are assumed. They are long enough for a driver to make the EQ that is to hear of
// them: test_mlx5vfio_async_event of rdma-core opens the function, makes its EQ and then waits.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "model/behaviours.hpp"
#include "model/eq.hpp"
#include "model/mad.hpp"
#include "model/port_settings.hpp"
#include "model/scheduler.hpp"

namespace portcullis::model {

class PortLink {
 public:
  static constexpr std::uint64_t kTrainingNs = 2 * kNsPerSecond;
  static constexpr std::uint64_t kSweepNs = 3 * kNsPerSecond;
  static constexpr std::uint16_t kSmLid = 0xbfff;  // the highest unicast LID

  using OnChange = void (*)(void* context);
  /// `port` says which kind it is, and changes; all of it outlives this.
  PortLink(PortSettings& port, const Behaviours& behaviours, Scheduler& scheduler, EqTable& eqs,
           OnChange on_change, void* context) noexcept
      : port_(&port),
        behaviours_(&behaviours),
        scheduler_(&scheduler),
        eqs_(&eqs),
        on_change_(on_change),
        context_(context) {}

  /// Power-on and TEARDOWN_HCA: a link that needs time is down until INIT_HCA. No event.
  void reset() noexcept;
  /// INIT_HCA; without `bring_up` the link waits for PAOS (disable_link_up of the capabilities).
  void start(bool bring_up);
  /// PAOS.admin_status with ase.
  void set_admin(bool up);
  /// A subnet manager's Set of PortInfo. False: a state that the port cannot go to, or no LID for a
  /// host; nothing changed.
  bool obey(const PortOrder& order);
  /// Its Set of P_KeyTable. The driver hears of keys that are others than before.
  void take_pkeys(const PkeyOrder& order);

 private:
  void begin();
  void take_down();
  void train_again();
  void after(std::uint64_t ns, void (PortLink::*next)());
  static void run_task(void* self, std::uint64_t generation);
  [[nodiscard]] bool needs_time() const noexcept {
    return port_->type == PortType::InfiniBand || behaviours_->link_up_ms.has_value();
  }
  void ethernet_up();
  void trained();
  void swept();
  [[nodiscard]] bool may_become(PortState wanted) const noexcept;
  void changed(prm::PortChangeSubtype what);

  PortSettings* port_;
  const Behaviours* behaviours_;
  Scheduler* scheduler_;
  EqTable* eqs_;
  OnChange on_change_;
  void* context_;
  void (PortLink::*next_)() = nullptr;
  std::uint64_t generation_ = 0;  // a task of an older one finds nothing to do
};

}  // namespace portcullis::model
