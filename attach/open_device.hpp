// SPDX-License-Identifier: BSD-3-Clause
//
// From what a user writes after --device= to a device: the ConnectX-5 in software, in this process
// or in another, a PCI function under VFIO, or a NIC that its kernel driver keeps. The one place
// that knows them all.
//
//   model[,timing=NAME][,behaviour=A+B=VALUE][,execution=stepped|polled][,seed=N][,vf][,pcap=FILE]
//        [,trace=FILE][,link-wait-ms=N][,checksum=on|off][,mkc-qpn=on|off]
//        [,neighbour=on|off][,loopback=plain|forced]
//   model,profile=BUNDLE[,behaviour=..][,execution=..][,seed=N][,pcap=FILE][,trace=FILE]..
//   shm:PATH[,link-wait-ms=N][,checksum=on|off][,mkc-qpn=on|off][,neighbour=on|off]
//        [,loopback=plain|forced]
//   0000:03:00.0[,trace=FILE][,link-wait-ms=N][,checksum=on|off][,mkc-qpn=on|off]
//        [,neighbour=on|off][,loopback=plain|forced]
//   mlx5_0[,trace=FILE]
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attach/shm_function.hpp"
#include "base/device.hpp"
#include "base/result.hpp"
#include "devx/kept_nic.hpp"
#include "model/model.hpp"
#include "pmd/eal.hpp"
#include "pmd/vfio_function.hpp"
#include "trace/recording_file.hpp"
#include "trace/trace_file.hpp"

namespace portcullis::attach {

/// A PCI function under VFIO, by its canonical BDF.
struct VfioName {
  std::string bdf;
};

/// An RDMA device of the kernel's, by the name in /sys/class/infiniband.
struct KeptName {
  std::string name;
};

/// A model that another process has: the path of its socket (hca-server --shm).
struct ShmName {
  std::string path;
};

/// What its bring-up is to do otherwise; of a NIC that its kernel driver keeps nothing is.
struct BringUpWishes {
  std::optional<std::uint64_t> link_wait_ms = std::nullopt;  // none: as pmd::HcaOptions has it
  std::optional<bool> checks_answers = std::nullopt;         // the same
  std::optional<bool> binds_keys = std::nullopt;             // the same
  std::optional<bool> answers_neighbours = std::nullopt;     // the same
  std::optional<bool> forces_loopback = std::nullopt;        // the same
};

/// A device as asked for, not opened yet.
struct DeviceSpec {
  std::variant<model::Options, VfioName, KeptName, ShmName> kind;
  /// Of a card: the file that its commands are recorded in (docs/trace-format.md); empty: none. A
  /// model in this process has that in its options.
  std::string trace_path = {};
  BringUpWishes bring_up = {};

  [[nodiscard]] bool is_emulated() const noexcept {
    return is_in_process() || std::holds_alternative<ShmName>(kind);
  }
  /// New with each opening; anything else may have had an owner before.
  [[nodiscard]] bool is_in_process() const noexcept {
    return std::holds_alternative<model::Options>(kind);
  }
  [[nodiscard]] bool is_kept() const noexcept { return std::holds_alternative<KeptName>(kind); }
  /// The function's BDF; of a kept NIC as sysfs has it, empty where it does not say; empty for a
  /// model.
  [[nodiscard]] std::string bdf() const;
  /// Which function it is, however it is reached: "0000:03:00.0", "shm:/run/hca", "model". A kept
  /// NIC's is its BDF, and its name where sysfs does not say that.
  [[nodiscard]] std::string function_name() const;
  /// What the card lacks before a driver may start on it, in one line; ok for a model.
  [[nodiscard]] Result<void> check_ready() const;
  /// The EAL as this device needs it: `arguments` begin with the program's name. PCI and huge pages
  /// are for VFIO alone.
  [[nodiscard]] Result<pmd::Eal> start_eal(std::vector<std::string> arguments) const;
};

/// InvalidArgument with one line that names the word and what is accepted. A profile's bundle is
/// read here: System or Malformed in one line that begins with its path.
[[nodiscard]] Result<DeviceSpec> parse_device(std::string_view text);

class OpenDevice {
 public:
  /// A function under VFIO needs a running EAL; a kept NIC nothing. `on_recording_lost`, where
  /// it is given, hears of a trace or a capture of the model's that is not whole.
  [[nodiscard]] static Result<OpenDevice> open(const DeviceSpec& spec,
                                               trace::OnRecordingLost on_recording_lost = {});

  /// Valid as long as this.
  [[nodiscard]] Device device();
  /// DeviceGone once the process that has the function went, or was given up; of any other device
  /// its own sensors say how it is.
  [[nodiscard]] Result<void> condition();
  /// The model runs on a core of its own: serve() must be called there before the driver starts.
  [[nodiscard]] bool needs_core() const noexcept { return needs_core_; }
  /// Runs the model until `stop`; returns at once when the device needs no core. `naps`: see
  /// model::Model::run.
  void serve(const std::atomic<bool>& stop, bool naps = false);
  /// Where the driver's commands are to be recorded; null: nowhere, or the model does it.
  [[nodiscard]] trace::TraceFile* trace_file() noexcept { return trace_.get(); }
  [[nodiscard]] const BringUpWishes& bring_up_wishes() const noexcept { return bring_up_; }
  /// Of a NIC that its kernel driver keeps; null otherwise.
  [[nodiscard]] devx::KeptNic* kept_nic() noexcept { return kept_.get(); }
  /// To make it fail on purpose; null for hardware.
  [[nodiscard]] model::Model* model() noexcept { return model_.get(); }

 private:
  OpenDevice() = default;
  [[nodiscard]] Result<void> open_hardware(const DeviceSpec& spec);
  [[nodiscard]] Result<void> record(const DeviceSpec& spec,
                                    trace::OnRecordingLost on_recording_lost);

  BringUpWishes bring_up_;
  std::unique_ptr<trace::TraceFile> trace_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<pmd::VfioFunction> function_;
  std::unique_ptr<devx::KeptNic> kept_;
  std::unique_ptr<ShmFunction> shm_;
  bool needs_core_ = false;
};

}  // namespace portcullis::attach
