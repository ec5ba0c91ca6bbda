// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that changed behind the outcome of a revoke, wherever a step saw it: what the conclusions
// say of the promises and what a model of the device is told come from this one list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "light/facts.hpp"

namespace portcullis::light {

/// On whose word a plan answers TornDown.
enum class KeyStep : std::uint8_t {
  None,        // no key is taken: the memory is proved by its unmap
  Destroy,     // DESTROY_MKEY, A1
  Umr,         // A2
  DestroyAll,  // DESTROY_MKEY of an indirect key, A6
};

struct LateRegions {
  std::string where = {};   // "plan seed", "step floor"
  bool is_at_peer = false;  // of a client on another host
  KeyStep key_step = KeyStep::None;
  bool is_silenced_first = false;      // 2ERR_QP stands before the key's step
  std::uint64_t regions = 0;           // that were looked at
  std::uint64_t late = 0;              // of them; never 0
  std::uint64_t surely_torn_down = 0;  // of the late ones those whose outcome was that for sure
  std::uint64_t last_change_ns = 0;    // from the revoke, of the latest; 0: not recorded
  std::uint64_t late_ns = 0;           // from the outcome, likewise

  /// Longer than a packet on its way can be late: the device went on serving.
  [[nodiscard]] bool is_served(std::uint64_t path_ns) const noexcept;
};

/// In the order of the steps; empty where nothing changed.
[[nodiscard]] std::vector<LateRegions> late_regions(const Facts& facts);

/// "plan seed: 2 of 2 regions changed after the outcome".
[[nodiscard]] std::string text_of(const LateRegions& late);

}  // namespace portcullis::light
