// SPDX-License-Identifier: BSD-3-Clause
//
// From what a user writes after --device= to a device: the ConnectX-5 in software, a PCI function
// under VFIO, or a NIC that its kernel driver keeps. The one place that knows them all.
//
//   model[,timing=NAME][,behaviour=A+B=VALUE][,execution=stepped|polled][,seed=N][,vf][,pcap=FILE]
//        [,trace=FILE]
//   0000:03:00.0
//   mlx5_0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "devx/kept_nic.hpp"
#include "model/model.hpp"
#include "pmd/eal.hpp"
#include "pmd/vfio_function.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::attach {

/// A PCI function under VFIO, by its canonical BDF.
struct VfioName {
  std::string bdf;
};

/// An RDMA device of the kernel's, by the name in /sys/class/infiniband.
struct KeptName {
  std::string name;
};

/// A device as asked for, not opened yet.
struct DeviceSpec {
  std::variant<model::Options, VfioName, KeptName> kind;

  [[nodiscard]] bool is_emulated() const noexcept {
    return std::holds_alternative<model::Options>(kind);
  }
  [[nodiscard]] bool is_kept() const noexcept { return std::holds_alternative<KeptName>(kind); }
  /// The function's BDF; of a kept NIC as sysfs has it, empty where it does not say; empty for a
  /// model.
  [[nodiscard]] std::string bdf() const;
  /// What the card lacks before a driver may start on it, in one line; ok for a model.
  [[nodiscard]] Result<void> check_ready() const;
  /// The EAL as this device needs it: `arguments` begin with the program's name. PCI and huge pages
  /// are for VFIO alone.
  [[nodiscard]] Result<pmd::Eal> start_eal(std::vector<std::string> arguments) const;
};

/// InvalidArgument with one line that names the word and what is accepted.
[[nodiscard]] Result<DeviceSpec> parse_device(std::string_view text);

class OpenDevice {
 public:
  /// A function under VFIO needs a running EAL; a kept NIC nothing. `on_recording_lost`, where
  /// it is given, hears of a trace or a capture of the model's that is not whole.
  [[nodiscard]] static Result<OpenDevice> open(const DeviceSpec& spec,
                                               trace::OnRecordingLost on_recording_lost = {});

  /// Valid as long as this.
  [[nodiscard]] Device device();
  /// The model runs on a core of its own: serve() must be called there before the driver starts.
  [[nodiscard]] bool needs_core() const noexcept { return needs_core_; }
  /// Runs the model until `stop`; returns at once when the device needs no core. `naps`: see
  /// model::Model::run.
  void serve(const std::atomic<bool>& stop, bool naps = false);
  /// Of a NIC that its kernel driver keeps; null otherwise.
  [[nodiscard]] devx::KeptNic* kept_nic() noexcept { return kept_.get(); }
  /// To make it fail on purpose; null for hardware.
  [[nodiscard]] model::Model* model() noexcept { return model_.get(); }

 private:
  OpenDevice() = default;
  [[nodiscard]] Result<void> open_hardware(const DeviceSpec& spec);

  std::unique_ptr<model::Model> model_;
  std::unique_ptr<pmd::VfioFunction> function_;
  std::unique_ptr<devx::KeptNic> kept_;
  bool needs_core_ = false;
};

}  // namespace portcullis::attach
