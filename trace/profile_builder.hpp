// SPDX-License-Identifier: BSD-3-Clause
//
// The profile of a device, taken from the commands that a driver sends it. It looks at commands
// whole, and keeps nothing that would name a machine: of a refused one what kind of object it was
// about, of an answered one how long it took, of capabilities their bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/histogram.hpp"
#include "trace/command_text.hpp"
#include "trace/device_profile.hpp"

namespace portcullis::trace {

class ProfileBuilder {
 public:
  void add(const TraceCommand& command);

  /// Its commands, capabilities and refusals; the rest is for whoever knows it.
  [[nodiscard]] DeviceProfile profile() const;

  /// Of what was sent between INIT_HCA and TEARDOWN_HCA: objects that firmware needs memory for,
  /// and how often it was given some.
  [[nodiscard]] std::uint64_t objects_made() const noexcept { return objects_made_; }
  [[nodiscard]] std::uint64_t pages_given() const noexcept { return pages_given_; }
  /// SET_FLOW_TABLE_ENTRY that was answered with LIM_ERR.
  [[nodiscard]] std::uint64_t entries_in_the_way() const noexcept { return entries_in_the_way_; }

 private:
  struct OfOne {
    bool is_answered = false;  // once at least with 0
    std::uint8_t status = 0;   // of the first refusal
    std::uint32_t syndrome = 0;
  };
  void note_answered(const TraceCommand& command);

  std::map<std::uint16_t, Histogram> times_;  // by opcode
  std::map<CommandKind, OfOne> kinds_;
  std::map<std::uint16_t, std::vector<std::byte>> pages_;  // by op_mod
  bool is_initialised_ = false;
  std::uint64_t objects_made_ = 0;
  std::uint64_t pages_given_ = 0;
  std::uint64_t entries_in_the_way_ = 0;
};

}  // namespace portcullis::trace
