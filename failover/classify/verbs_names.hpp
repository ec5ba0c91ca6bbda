// SPDX-License-Identifier: BSD-3-Clause
//
// The names of enum ibv_wr_opcode and enum ibv_wc_status (infiniband/verbs.h), and what the
// classifier takes each for. A name of verbs.h is never an error; a test holds both lists against
// the installed header.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "failover/classify/request.hpp"

namespace portcullis::failover {

struct OpcodeName {
  std::string_view name;
  std::optional<Opcode> opcode;
  SideEffect side_effect = SideEffect::None;
};

struct StatusName {
  std::string_view name;
  Outcome outcome = Outcome::Unmodelled;
};

[[nodiscard]] const std::vector<OpcodeName>& opcode_names();
[[nodiscard]] const std::vector<StatusName>& status_names();

}  // namespace portcullis::failover
