// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 in software, in process. It answers the programming interface, not our driver:
// reserved bits, bad states and unknown opcodes get the status a device gives. Everything a test or
// a bench may ask of it from outside stands here.
//
// Stepped: runs inside the driver's relax(), on a virtual clock; a whole run is a function of the
// seed. Polled: run() on a core of its own, wall clock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "model/port_type.hpp"
#include "trace/device_profile.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::model {

class Pace;
class Wire;

enum class Execution : std::uint8_t { Stepped, Polled };

struct Options {
  std::string timing = "instant";         // or "cx5-16.35.4506"; of a profile says nothing
  std::vector<std::string> behaviours{};  // NAME or NAME=VALUE, see behaviour_help()
  Execution execution = Execution::Stepped;
  std::uint64_t seed = 1;
  bool virtual_function = false;  // device id 0x1018, no HOST_ENDIANNESS
  /// Times, refusals, capabilities and firmware are those of that device; see adopt().
  std::shared_ptr<const trace::DeviceProfile> profile{};
  PortType port_type = PortType::Ethernet;
  std::string pcap_path{};           // empty: none
  std::string trace_path{};          // every command, docs/trace-format.md; empty: none
  std::shared_ptr<Wire> wire{};      // null: a wire of its own, where only its own frames come back
  std::shared_ptr<Pace> pace{};      // how long the data path takes; null: see behaviours
  std::uint32_t startup_pages = 64;  // asked for at boot and init together; none by a VF
  std::optional<std::array<std::uint8_t, 6>> mac{};  // models on one wire need different ones
  /// Hears once, in one line, of each of the two files above that could not be written on: a full
  /// disk. Asked by whoever runs the model, or destroys it. May be empty.
  trace::OnRecordingLost on_recording_lost{};
};

/// What the device holds; all zero after a clean teardown.
struct Census {
  std::uint64_t uars = 0, pds = 0, eqs = 0, cqs = 0, mkeys = 0, qps = 0, umems = 0, q_counters = 0;
  std::uint64_t flow_tables = 0, flow_groups = 0, flow_entries = 0, flow_counters = 0;
  std::uint64_t rqs = 0, tirs = 0, srqs = 0, xrcds = 0, uctxs = 0;
  std::uint64_t pages = 0;         // firmware pages given and not returned
  std::uint64_t dma_mappings = 0;  // IOMMU entries
  std::uint64_t commands_in_flight = 0;
  [[nodiscard]] std::uint64_t objects() const {
    return uars + pds + eqs + cqs + mkeys + qps + umems + q_counters + flow_tables + flow_groups +
           flow_entries + flow_counters + rqs + tirs + srqs + xrcds + uctxs;
  }
};

/// One command fault: the `nth` command (1 = next) with `opcode` meets it, once or from then on.
struct CommandFaultRule {
  enum class Kind : std::uint8_t {
    Status,          // answers `status` and `syndrome`, does nothing
    StatusAfter,     // does it, then answers `status`
    DeliveryStatus,  // gives the slot back with this delivery status
    NeverReturns,    // keeps ownership for ever
    BadSignature,    // output or entry signature is wrong
    Delay,           // `delay_ns` later than the timing says
  };
  std::uint16_t opcode = 0;  // 0: every command
  Kind kind = Kind::Status;
  std::uint8_t status = 0;
  std::uint32_t syndrome = 0;
  std::uint64_t delay_ns = 0;
  std::uint32_t nth = 1;
  bool repeat = false;
};

/// One frame fault: the `nth` frame sent from now on that matches meets it, once or from then on,
/// each with `probability`.
struct FrameFaultRule {
  enum class Kind : std::uint8_t {
    Drop,
    Duplicate,    // arrives twice
    Delay,        // `delay_ns` later
    CorruptIcrc,  // its ICRC is wrong
    FlipBit,      // a seeded bit of the frame is wrong
    Reorder,      // a seeded 1 to 8 later frames of the port go first, or 20 us pass
    Jitter,       // a seeded 0 to `delay_ns` later; at most 4 s
  };
  Kind kind = Kind::Drop;
  std::optional<std::uint8_t> bth_opcode{};  // any when absent
  std::optional<std::uint32_t> dest_qpn{};
  std::uint64_t delay_ns = 0;
  std::uint32_t nth = 1;
  bool repeat = false;
  double probability = 1;
};

/// What went over the wire and through the IOMMU since creation.
struct Counters {
  std::uint64_t commands = 0;
  std::uint64_t frames_sent = 0, frames_received = 0, frames_dropped = 0, icrc_errors = 0;
  std::uint64_t frames_steered_away = 0;  // that a flow table dropped; also in frames_dropped
  std::uint64_t dma_faults = 0;           // addresses the driver did not map, or bus master off
  std::uint64_t naks_sent = 0, retransmissions = 0;
  std::uint64_t objects_at_teardown = 0;  // not destroyed when TEARDOWN_HCA came
  std::uint64_t pages_at_disable = 0;     // not taken back when DISABLE_HCA came
};

/// Hears of every access of the device to memory of this process, when it has been made. What it
/// says of a run rests on nothing but the device.
class DmaObserver {
 public:
  virtual ~DmaObserver() = default;
  virtual void on_dma(std::span<const std::byte> memory, bool is_write) noexcept = 0;
};

class Model {
 public:
  /// InvalidArgument for an unknown timing or behaviour (the text names what is accepted), System
  /// when the pcap or trace file cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<Model>> create(const Options& options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// The driver's view; valid as long as the model.
  [[nodiscard]] Device device();

  /// Polled only: serves until `stop`; call it on a core of its own, once. `naps`: when nothing has
  /// happened for a millisecond or so it looks again every 50 us, and after a fifth of a second
  /// every 500 us, for who shares that core.
  void run(const std::atomic<bool>& stop, bool naps = false);

  void inject(const CommandFaultRule& rule);
  void inject(const FrameFaultRule& rule);
  /// Null: nobody hears. Stays until it is replaced, also over a function reset.
  void observe_dma(DmaObserver* observer) noexcept;
  /// Ends a step of the data path that Options::pace holds until released. False: there is none.
  bool release(std::uint64_t ticket);
  /// The device asks for `pages` more (EQE PAGE_REQUEST), or gives |pages| back when negative.
  void request_pages(std::int32_t pages);
  /// health_buffer.synd becomes `synd`, rfr set; commands are still answered.
  void set_health_syndrome(std::uint8_t synd);
  /// The health counter stands still.
  void freeze_health_counter();
  /// Every register reads all ones from now on, nothing is answered: the card was pulled.
  void surprise_remove();

  [[nodiscard]] Census census() const;
  [[nodiscard]] Counters counters() const;

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Accepted names, for error lines and --help.
[[nodiscard]] const std::vector<std::string_view>& timing_names();
[[nodiscard]] const std::vector<std::string_view>& behaviour_names();
/// A line for every behaviour: its name, the values it takes, what it does.
[[nodiscard]] std::string behaviour_help();
/// Those that a model of these options has, a timing's own included, "a+b=14" or "none".
/// InvalidArgument names the word and what is accepted.
[[nodiscard]] Result<std::string> behaviours_in_force(const Options& options);
/// Makes `options` those of a device that answers as `profile` says: its port, its function and its
/// behaviours, before those that are there already. Malformed in one line that begins with `file`
/// where the model cannot be so.
[[nodiscard]] Result<void> adopt(Options& options, trace::DeviceProfile profile,
                                 std::string_view file);
/// The same of profile.json in a bundle of first-light. System or Malformed in one line that begins
/// with `path`.
[[nodiscard]] Result<void> adopt_bundle(Options& options, const std::string& path);

}  // namespace portcullis::model
