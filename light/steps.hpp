// SPDX-License-Identifier: BSD-3-Clause
//
// First light: everything that is asked of a device that nobody has run this driver on. Each step
// opens the device, asks, and leaves it reset, so that one that fails costs the others nothing; and
// each has a deadline of its own.
//
//   bring-up   from reset to a port with a link; what the device says it is
//   commands   the objects of a lease made and destroyed, for the times of their commands
//   loopback   WRITEs of one packet and of several to the port's own address
//   reach      the same by force and not, of each path MTU, with the link up and down
//   key        a memory key that names a QP, asked through that QP and through another
//   entries    a DROP entry of each shape, before a connection's traffic and under it
//   probes     the four bring-up diagnostics of the floor document
//   plans      leases revoked by each plan under a client's WRITEs
//   floor      when a client fails, over ack timeouts and retry counts
//   audit      whether memory changes after a fence, by the plans that rest on a promise each
//   peer       plans and floor once more, with a client on another host; only where one is named
//   end        up once more, healthy, and down
//
// entries and probes stop packets of the whole function while they run, and reach takes the link of
// a PF down, so they want a card that does nothing else; on one that its kernel driver keeps the
// two are left out, and the link stays up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/open_device.hpp"
#include "attach/recording_channel.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "light/facts.hpp"
#include "pmd/crash_dump.hpp"
#include "pmd/gid.hpp"
#include "proof/audit.hpp"

namespace portcullis::light {

/// A client on another host: lease-verify --sweep.
struct PeerWish {
  std::string server = {};               // HOST:PORT where it listens; empty: there is none
  std::optional<pmd::Gid> address = {};  // of our port, for it; none: its link-local one
  /// In the facts it is "the peer" otherwise, wherever its name would stand.
  bool keeps_name = false;
};

struct Options {
  attach::DeviceSpec device;
  std::vector<std::string> steps;  // by name; empty: all; without a peer never that step
  PeerWish peer = {};
  std::uint64_t rounds = 200;     // of objects made and destroyed
  std::uint64_t writes = 1'000;   // round trips over loopback
  std::uint64_t revokes = 20;     // by each plan
  std::uint64_t fences = 10'000;  // of each plan that is audited
  std::uint64_t step_deadline_ms = 240'000;
  LogSink log = {};  // of the driver
  /// Hears what is for whoever runs this, and for nobody who is sent what was found. May be empty.
  LogSink to_user = {};
  /// Hears of every command. May be empty.
  attach::OnCommand on_command = {};
  /// Hears of each step before it and behind it, then with its state. May be empty.
  std::function<void(const StepFact&)> on_step = {};
  /// Hears before each step of all that was found so far: should the program end there and then,
  /// that step has failed, and those behind it are "not run". May be empty.
  std::function<void(const Facts&)> on_facts = {};
  /// Hears of every fence of the audit. May be empty.
  std::function<void(const std::string& plan, const proof::FenceRecord&)> on_fence = {};
  /// Of each step that failed, before the function is reset, and behind the last one, the crash
  /// dump is read, and heard of: what is in it only the vendor knows, addresses and keys perhaps.
  /// Empty: it is not.
  std::function<void(const std::string& step, const pmd::CrashDump&)> on_crash_dump = {};
  /// Asked now and then: what is left is not run. May be empty.
  std::function<bool()> is_stopped = {};
};

/// The one that needs a peer.
inline constexpr std::string_view kPeerStep = "peer";
inline constexpr std::string_view kBringUpStep = "bring-up";

/// In their order.
[[nodiscard]] std::span<const std::string_view> step_names() noexcept;
/// InvalidArgument names the word and what is accepted: names of steps with commas.
[[nodiscard]] Result<std::vector<std::string>> parse_steps(std::string_view text);

/// Runs the steps asked for, whatever becomes of one. Needs a running EAL as the device does.
[[nodiscard]] Facts run(const Options& options);

}  // namespace portcullis::light
