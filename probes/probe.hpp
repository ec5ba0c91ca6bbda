// SPDX-License-Identifier: BSD-3-Clause
//
// The four bring-up diagnostics of the floor document, section 4, for whoever wants to know what
// flow steering of a firmware is worth. Each installs something for the whole function, asks by a
// WRITE over loopback what it does, takes it out again and says what that shows. A build has a
// probe only where its CMake option PORTCULLIS_PROBE_* says so, because it stops every tenant while
// it runs.
//
//   nic-rx-drop           NIC_RX DROP of UDP port 4791       is NIC_RX in the path of RoCEv2?
//   rdma-rx-ft            CREATE_FLOW_TABLE in RDMA_RX       is it there at all?
//   rdma-rx-catchall-drop RDMA_RX DROP of everything         is it in the active dispatch path?
//   rdma-rx-bth-mismatch  RDMA_RX DROP of bth_opcode 0x0A    is the opcode parsed and compared?
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::probes {

enum class Probe : std::uint8_t { NicRxDrop, RdmaRxFt, RdmaRxCatchallDrop, RdmaRxBthMismatch };
inline constexpr std::array kProbes{Probe::NicRxDrop, Probe::RdmaRxFt, Probe::RdmaRxCatchallDrop,
                                    Probe::RdmaRxBthMismatch};

[[nodiscard]] std::string_view name(Probe probe) noexcept;
/// Those that this build has.
[[nodiscard]] std::vector<Probe> built_in();
/// "probes nic-rx-drop, rdma-rx-ft"; empty for a build without.
[[nodiscard]] std::string build_note();

struct Report {
  Probe probe{};
  std::string installed;  // what, in the interface's words
  std::string observed;   // what the WRITE met
  std::string verdict;    // what that shows, in the terms of the floor document
  bool as_seen = false;   // the verdict that the floor document has
};

/// Three lines.
[[nodiscard]] std::string describe(const Report& report);

struct Options {
  pmd::RocePath loopback;       // from the port to itself
  std::uint64_t quiet_ms = 50;  // silence that long is silence
};

/// Everything it made is gone again. An error where the probe cannot run: its text is one line. A
/// refusal that is itself the finding (rdma-rx-ft) is a report.
[[nodiscard]] Result<Report> run(Probe probe, const pmd::Context& context, const Options& options);

}  // namespace portcullis::probes
