// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_words.hpp"

#include <fmt/format.h>

namespace portcullis::tools {

std::string name_text(std::uint64_t id, std::uint64_t epoch) {
  return fmt::format("{:x}:{:x}", id, epoch);
}

std::string outcome_text(wire::Outcome outcome, wire::Memory memory, std::uint32_t failed_mask) {
  std::string text(wire::name(outcome));
  if (failed_mask != 0) text += fmt::format(" (failed {})", wire::steps_text(failed_mask));
  if (outcome == wire::Outcome::NotFound) return text;
  if (memory == wire::Memory::Unproved) return text + ", memory unproved";
  return text + fmt::format(", memory proved by {}", wire::name(memory));
}

}  // namespace portcullis::tools
