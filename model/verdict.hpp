// SPDX-License-Identifier: BSD-3-Clause
//
// What an engine says to a command: the status and syndrome that the output mailbox will carry.
// Syndromes are vendor specific and unpublished, so the model's are numbers of its own; they tell
// apart the places in the model that refuse, and nothing may depend on their values.
#pragma once

#include <cstdint>

#include "prm/status.hpp"

namespace portcullis::model {

struct [[nodiscard]] Verdict {
  prm::CommandStatus status = prm::CommandStatus::OK;
  std::uint32_t syndrome = 0;
  bool later = false;  // no verdict yet: the command runs again when what it waits for is done

  [[nodiscard]] constexpr bool ok() const noexcept {
    return !later && status == prm::CommandStatus::OK;
  }
};

[[nodiscard]] constexpr Verdict refuse(prm::CommandStatus status, std::uint32_t syndrome) noexcept {
  return Verdict{status, syndrome};
}

/// The command waits, see Core::execute.
[[nodiscard]] constexpr Verdict not_yet() noexcept {
  return Verdict{prm::CommandStatus::OK, 0, true};
}

}  // namespace portcullis::model
