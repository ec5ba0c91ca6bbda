// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a DROP entry of a shape stops packets here. Capabilities promise too much and too little
// on this generation, so the question is put to the device before any lease exists: with the entry
// a WRITE over loopback must meet silence and change nothing, without it the same WRITE must
// succeed by its own retransmission. Then the other way round: the connection now carries traffic,
// and on one firmware such a QP went on as if the entry were not there (floor document, 3.2).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_path.hpp"
#include "steering/drop_group.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::steering {

struct SelfTestVerdict {
  bool stops_new = false;      // a QP that has received nothing yet
  bool stops_running = false;  // a QP under traffic
  bool recovers = false;       // the WRITE went through once the entry was gone

  [[nodiscard]] bool verified() const noexcept { return stops_new && recovers; }
};

/// "verified: stops new connections, not running ones".
[[nodiscard]] std::string describe(const SelfTestVerdict& verdict);

struct SelfTestOptions {
  pmd::RocePath loopback;             // from the port to itself
  std::uint32_t index = 0;            // of the group, free
  std::uint64_t quiet_ms = 20;        // silence that long is silence
  std::uint64_t patience_ms = 2'000;  // for success
};

/// What stops a WRITE, as it is put there and taken away again.
struct Stop {
  std::function<Result<void>()> put;
  std::function<Result<void>()> take;
};
/// What one WRITE met.
struct Trial {
  bool silenced = false;   // nothing came of it while the stop was there
  bool recovered = false;  // and it went through by its own retransmission afterwards
};
/// Puts the stop there, posts a WRITE of `value`, listens, takes the stop away, listens again. An
/// error when a command fails or the WRITE ends in anything but success or silence; the stop is
/// taken away then too, also one that could not be put there whole.
[[nodiscard]] Result<Trial> try_write(LoopbackPair& pair, const Stop& stop, std::uint64_t value,
                                      const SelfTestOptions& options);

/// Of an entry of `group` that drops what goes to a connection of its own.
[[nodiscard]] Result<SelfTestVerdict> self_test(const pmd::Context& context, DropGroup& group,
                                                const SelfTestOptions& options);

}  // namespace portcullis::steering
