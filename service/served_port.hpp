// SPDX-License-Identifier: BSD-3-Clause
//
// A function owned through the driver, with one RoCE address: what leases are served on. Whatever
// waits on its device looks at the watched region meanwhile, so that a change during a fence is
// seen when it happens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attach/function.hpp"
#include "attach/port.hpp"
#include "base/device.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "neighbour/responder.hpp"
#include "pmd/function.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"
#include "service/region_watch.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::service {

struct ServedPortOptions {
  std::optional<pmd::Gid> address = {};  // none: its link-local one
  std::optional<std::uint32_t> vlan = {};
  // Each may be empty.
  LogSink log = {};
  trace::OnRecordingLost on_recording_lost = {};
  attach::OnCommand on_command = {};  // hears of every command of the driver
};

class ServedPort {
 public:
  /// Opens, brings up, and gives the port its address, with its own MAC. Its neighbours are
  /// answered in every wait and in idle(), where the device offers it.
  [[nodiscard]] static Result<std::unique_ptr<ServedPort>> open(const attach::DeviceSpec& spec,
                                                                const ServedPortOptions& options);
  ServedPort(const ServedPort&) = delete;
  ServedPort& operator=(const ServedPort&) = delete;
  ~ServedPort();

  [[nodiscard]] pmd::Function& driver() noexcept { return function_->driver(); }
  [[nodiscard]] const pmd::RoceAddress& address() const noexcept { return port_->address(); }
  /// From the port to itself.
  [[nodiscard]] const pmd::RocePath& path() const noexcept { return port_->path(); }
  /// Where the address stands in the port's table.
  [[nodiscard]] std::uint8_t address_index() const noexcept { return port_->address_index(); }
  /// To make it fail on purpose; null for hardware.
  [[nodiscard]] model::Model* model() noexcept { return function_->model(); }
  /// What a client's host must be told: an entry where nobody answers for the port.
  [[nodiscard]] std::string neighbour_advice() const;
  [[nodiscard]] Clock clock() const noexcept { return plain_.clock; }
  /// "vfio 0000:03:00.0 fw 16.35.4506, emulated: not NIC latency".
  [[nodiscard]] std::string description() const;

  /// Looked at in every wait from now on; null: none.
  void watch(RegionWatch* region) noexcept { watched_ = region; }
  /// Serves events, then lets up to `most_ns` pass: asleep, or on the clock of a stepped model. An
  /// error where the device has failed, or the process that offers it has gone.
  [[nodiscard]] Result<void> idle(std::uint64_t most_ns);

 private:
  explicit ServedPort(const Device& opened) : plain_(opened) {}
  void answer() {
    if (responder_) responder_->poll();
  }
  static void relax_entry(void* port, std::uint64_t until_ns) noexcept;

  // Destroyed from the last to the first.
  Device plain_;  // as opened
  RegionWatch* watched_ = nullptr;
  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
  std::unique_ptr<neighbour::Responder> responder_;  // null: nobody answers for the port
};

}  // namespace portcullis::service
