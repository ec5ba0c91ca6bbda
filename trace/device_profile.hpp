// SPDX-License-Identifier: BSD-3-Clause
//
// A device as it answered, small enough to be told to the model: how long each command took, the
// capabilities, what was refused, and which findings (model/behaviours.hpp) were made of it. It
// stands in a bundle of first-light as profile.json, a text for people too, and comes from
// strangers: whatever is read is bounded and checked.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.hpp"
#include "base/result.hpp"
#include "prm/hca_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::trace {

inline constexpr std::uint32_t kProfileVersion = 1;
/// Of the text, which a reader holds as a tree of many times that.
inline constexpr std::size_t kMostProfileBytes = std::size_t{1} << 20;
/// A driver waits a minute for a command at most; one that takes longer was never answered.
inline constexpr std::uint64_t kMostCommandNs = 60'000'000'000;
inline constexpr std::size_t kMostTimes = 128;  // of one command

/// How long one command took, of all that were answered with 0.
struct CommandTimes {
  std::uint16_t opcode = 0;
  std::uint64_t least_ns = 0;
  std::uint64_t most_ns = 0;
  std::vector<Histogram::Bin> times = {};  // ascending, without overlap; none is empty
};

/// What QUERY_HCA_CAP answered to this op_mod before anything was set.
struct CapabilityPage {
  std::uint16_t op_mod = 0;
  std::vector<std::byte> page = {};  // kCapabilityBytes of them
};
/// Those of every kind of page: what QUERY_HCA_CAP's output has behind its head.
inline constexpr std::size_t kCapabilityBytes =
    prm::place<prm::query_hca_cap_out, "capability">.width / 8;

/// What sort of command one is: its opcode, its op_mod, and what the same command is sent about.
struct CommandKind {
  std::uint16_t opcode = 0;
  std::uint16_t op_mod = 0;
  /// table_type of flow steering, register_id, qpc.st, 1 for an EQ that takes events; else 0.
  std::uint32_t about = 0;
  auto operator<=>(const CommandKind&) const = default;  // NOLINT(modernize-use-nullptr): its 0
};
[[nodiscard]] CommandKind kind_of(std::span<const std::byte> in);

/// A kind that was refused each time, for what it asked and not for the state it asked it in.
struct RefusedKind {
  CommandKind kind = {};
  std::uint8_t status = 0;
  std::uint32_t syndrome = 0;
};

struct DeviceProfile {
  std::string source = {};    // what it was taken from: "first-light, vfio"
  std::string firmware = {};  // "16.35.4506"
  bool is_ethernet = true;
  bool is_virtual_function = false;
  std::vector<std::string> behaviours = {};  // NAME or NAME=VALUE
  std::vector<CommandTimes> commands = {};   // by opcode, each once
  std::vector<CapabilityPage> capabilities = {};
  std::vector<RefusedKind> refusals = {};

  /// Null where nothing is known.
  [[nodiscard]] const CommandTimes* times_of(std::uint16_t opcode) const noexcept;
  [[nodiscard]] const CapabilityPage* page_of(std::uint16_t op_mod) const noexcept;
  [[nodiscard]] const RefusedKind* refusal_of(const CommandKind& kind) const noexcept;
};

/// Neighbouring bins counted as one until there are at most kMostTimes.
[[nodiscard]] CommandTimes times_from(std::uint16_t opcode, const Histogram& answered);

[[nodiscard]] std::string to_json(const DeviceProfile& profile);
/// Malformed, as "FILE:LINE: MEMBER: what; what is accepted". `file` is only a name. Words of
/// `behaviours` are not looked at: who acts on them knows them.
[[nodiscard]] Result<DeviceProfile> profile_from_json(std::string_view text, std::string_view file);

}  // namespace portcullis::trace
