// SPDX-License-Identifier: BSD-3-Clause
//
// What leased is told: built-in values, over them a file in TOML, over both the command line. A
// word that is not known, a value out of its range or of another type is refused with the file, the
// line and what is accepted; nothing is passed over. docs/leased.md lists every word.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/udp_socket.hpp"
#include "fleet/directory.hpp"
#include "fleet/etcd.hpp"
#include "lease/fence_plan.hpp"
#include "pmd/gid.hpp"
#include "quic/connection.hpp"
#include "quic/credentials.hpp"
#include "service/daemon/policy.hpp"
#include "service/daemon/privileges.hpp"

namespace portcullis::service::daemon {

struct DeviceConfig {
  std::string name = "model";
  std::optional<pmd::Gid> address = {};  // none: the link-local one
  std::vector<std::string> eal = {};     // arguments, for a PCI function
  lease::Plan plan = lease::seed_plan();
  std::uint32_t slots = 1024;
  std::uint64_t grace_ms = 5'000;
  std::uint64_t residence_ms = 0;
  std::uint32_t mtu = 1024;
  bool polls = false;  // never sleeps: for a core of its own
};

/// For clients of other hosts.
struct QuicConfig {
  UdpAddress address;
  quic::CredentialFiles files;
  quic::Timeouts timeouts;
};

/// One node of many, which meet in etcd.
struct FleetConfig {
  fleet::EtcdOptions etcd = {};
  std::string node = {};  // its name; empty: the host's
  std::uint64_t session_s = 10;
  std::optional<fleet::Isolation> isolation = {};  // none: without etcd it keeps what it has
  // What those are told who look for a node.
  std::vector<std::string> labels = {};
  std::uint64_t memory_bytes = 0;  // that it gives to leases; 0: what the host has
  std::string quic_address = {};   // how other hosts reach it; empty: as [quic] listen has it

  bool operator==(const FleetConfig&) const = default;
};

struct Config {
  DeviceConfig device;
  ProcessConfig process;
  std::filesystem::path socket;
  unsigned socket_mode = 0600;
  std::optional<std::filesystem::path> journal;                    // none: nothing is kept
  std::uint64_t journal_keep_ms = 30 * std::uint64_t{86'400'000};  // of what has ended
  std::string left_function;           // the journal's leases there are given up, unproved
  std::optional<QuicConfig> quic;      // none: this host's clients alone
  std::optional<FleetConfig> fleet;    // none: it works alone
  std::optional<std::string> metrics;  // "ADDRESS:PORT" of HTTP; none: nobody reads
  Users users;
  Certificates certificates;
  Limits limits;
};

/// The words in which `next` says something else than what runs, and that no reload changes:
/// "[device] slots". Of [process] and [etcd] the table's name alone.
[[nodiscard]] std::vector<std::string> counts_from_a_restart(const Config& running,
                                                             const Config& next);

/// As it is without a file: the socket in the user's run directory, the journal in the directory
/// for state, both root's own for root; the user who runs it, and root, are operators. NotFound
/// when neither the environment nor the user says where that is.
[[nodiscard]] Result<Config> default_config();
/// `base` with what the file says. InvalidArgument, with "FILE:LINE: "; System when it cannot be
/// read.
[[nodiscard]] Result<Config> read_config(const std::filesystem::path& file, Config base);

}  // namespace portcullis::service::daemon
