// SPDX-License-Identifier: BSD-3-Clause
//
// How long firmware takes, by name, and which firmware. Every timing has a description, because a
// figure from the model is worth what its timing says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "prm/opcodes.hpp"
#include "trace/device_profile.hpp"

namespace portcullis::model {

struct Timing {
  std::string_view name;
  std::string_view description;  // says what is assumed
  std::uint64_t (*command_ns)(prm::Opcode opcode);
};

struct FirmwareVersion {
  std::uint32_t major = 16;  // 16.35.4506, the one that the timing figures are from
  std::uint32_t minor = 35;
  std::uint32_t sub = 4506;
};
/// "16.35.4506": three numbers of 16 bits.
[[nodiscard]] std::optional<FirmwareVersion> parse_firmware(std::string_view text);

/// "timing=NAME: DESCRIPTION", or the same of a profile: what it was taken from, and what is
/// assumed.
[[nodiscard]] std::string describe(const Timing& timing, const trace::DeviceProfile* profile);

/// InvalidArgument naming the value and those accepted.
[[nodiscard]] Result<Timing> find_timing(std::string_view name);

}  // namespace portcullis::model
