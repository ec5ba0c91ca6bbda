// SPDX-License-Identifier: BSD-3-Clause
//
// How long firmware takes, and which findings and hypotheses are switched on. Every name has a
// description, because a figure from the model is worth what its profile says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::model {

struct Timing {
  std::string_view name;
  std::string_view description;  // says what is assumed
  std::uint64_t (*command_ns)(prm::Opcode opcode);
};

struct Behaviours {
  bool page_starved = false;
  bool slow_init = false;
  bool never_ready = false;
  bool cmdif_rev_6 = false;
  std::string names = "none";  // as given, comma separated
};

/// InvalidArgument naming the value and those accepted.
[[nodiscard]] Result<Timing> find_timing(std::string_view name);
[[nodiscard]] Result<Behaviours> find_behaviours(const std::vector<std::string>& names);
/// What a behaviour does, one line; empty for an unknown name.
[[nodiscard]] std::string_view behaviour_description(std::string_view name);

}  // namespace portcullis::model
