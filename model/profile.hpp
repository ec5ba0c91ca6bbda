// SPDX-License-Identifier: BSD-3-Clause
//
// How long firmware takes. Every timing has a description, because a figure from the model is
// worth what its timing says.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::model {

struct Timing {
  std::string_view name;
  std::string_view description;  // says what is assumed
  std::uint64_t (*command_ns)(prm::Opcode opcode);
};

/// InvalidArgument naming the value and those accepted.
[[nodiscard]] Result<Timing> find_timing(std::string_view name);

}  // namespace portcullis::model
