// SPDX-License-Identifier: BSD-3-Clause
//
// From what a user writes after --device= to a device: the ConnectX-5 in software, or a PCI
// function under VFIO. The one place that knows both.
//
//   model[,timing=NAME][,behaviour=A+B=VALUE][,execution=stepped|polled][,seed=N][,vf][,pcap=FILE]
//        [,trace=FILE]
//   0000:03:00.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/device.hpp"
#include "base/result.hpp"
#include "model/model.hpp"
#include "pmd/vfio_function.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::attach {

/// A device as asked for, not opened yet.
struct DeviceSpec {
  std::variant<model::Options, std::string> kind;  // a model, or a function's canonical BDF

  /// No NIC and no privileges needed; what pmd::Eal::start wants to know.
  [[nodiscard]] bool is_emulated() const noexcept { return kind.index() == 0; }
  /// The function's BDF; empty for a model.
  [[nodiscard]] std::string bdf() const;
};

/// InvalidArgument with one line that names the word and what is accepted.
[[nodiscard]] Result<DeviceSpec> parse_device(std::string_view text);

class OpenDevice {
 public:
  /// A function under VFIO needs a running EAL. `on_recording_lost`, where it is given, hears of a
  /// trace or a capture of the model's that is not whole.
  [[nodiscard]] static Result<OpenDevice> open(const DeviceSpec& spec,
                                               trace::OnRecordingLost on_recording_lost = {});

  /// Valid as long as this.
  [[nodiscard]] Device device();
  /// The model runs on a core of its own: serve() must be called there before the driver starts.
  [[nodiscard]] bool needs_core() const noexcept { return needs_core_; }
  /// Runs the model until `stop`; returns at once when the device needs no core.
  void serve(const std::atomic<bool>& stop);
  /// To make it fail on purpose; null for hardware.
  [[nodiscard]] model::Model* model() noexcept { return model_.get(); }

 private:
  OpenDevice() = default;

  std::unique_ptr<model::Model> model_;
  std::unique_ptr<pmd::VfioFunction> function_;
  bool needs_core_ = false;
};

}  // namespace portcullis::attach
