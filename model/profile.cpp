// SPDX-License-Identifier: BSD-3-Clause
#include "model/profile.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "base/clock.hpp"
#include "model/behaviours.hpp"
#include "model/command_times.hpp"
#include "model/model.hpp"
#include "trace/bundle.hpp"

namespace portcullis::model {
namespace {

std::uint64_t instant_ns(prm::Opcode /*opcode*/) { return 0; }

// Measured on firmware 16.35.4506: 2ERR_QP and DESTROY_MKEY about 1.5 ms together, about 12 ms with
// SET_FLOW_TABLE_ENTRY. Nothing else is known of any command.
std::uint64_t cx5_ns(prm::Opcode opcode) {
  constexpr std::uint64_t kPairNs = 1'500 * kNsPerUs;
  constexpr std::uint64_t kWithFlowEntryNs = 12 * kNsPerMs;
  return opcode == prm::Opcode::SET_FLOW_TABLE_ENTRY ? kWithFlowEntryNs - kPairNs : kPairNs / 2;
}

constexpr std::array kTimings{
    Timing{"instant", "0 ns of firmware time for every command", &instant_ns},
    Timing{"cx5-16.35.4506",
           "2ERR_QP + DESTROY_MKEY 1.5 ms, even split assumed; SET_FLOW_TABLE_ENTRY the rest of "
           "12 ms; every other command 750 us, assumed",
           &cx5_ns},
};

}  // namespace

Result<Timing> find_timing(std::string_view name) {
  std::string accepted;
  for (const Timing& timing : kTimings) {
    if (timing.name == name) return timing;
    accepted += (accepted.empty() ? "" : ", ") + std::string(timing.name);
  }
  return fail(Errc::InvalidArgument,
              "unknown timing '" + std::string(name) + "'; accepted: " + accepted);
}

const std::vector<std::string_view>& timing_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Timing& timing : kTimings) all.push_back(timing.name);
    return all;
  }();
  return names;
}

std::optional<FirmwareVersion> parse_firmware(std::string_view text) {
  constexpr std::uint32_t kMost = 0xffff;  // fw_rev and cmdif_rev_fw_sub have 16 bits for each
  std::array<std::uint32_t, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [rest, error] = std::from_chars(at, end, parts[i]);
    const bool is_last = i + 1 == parts.size();
    if (error != std::errc() || parts[i] > kMost || (rest == end) != is_last ||
        (!is_last && *rest != '.'))
      return std::nullopt;
    at = rest + 1;
  }
  return FirmwareVersion{parts[0], parts[1], parts[2]};
}

std::string describe(const Timing& timing, const trace::DeviceProfile* profile) {
  if (profile == nullptr) return fmt::format("timing={}: {}", timing.name, timing.description);
  return fmt::format(
      "profile of {}, firmware {}: {} commands by their round trips there, each other {}, assumed",
      profile->source, profile->firmware, profile->commands.size(),
      duration_text(static_cast<double>(CommandTimes::assumed_ns(*profile))));
}

Result<void> adopt(Options& options, trace::DeviceProfile profile, std::string_view file) {
  if (!parse_firmware(profile.firmware))
    return fail(Errc::Malformed,
                fmt::format("{}: firmware \"{}\", so the device never came up and nothing is known "
                            "of it; a bundle with step bring-up done is accepted",
                            file, profile.firmware));
  std::vector<std::string> words = profile.behaviours;
  if (const auto known = find_behaviours(words, options.timing); !known)
    return fail(Errc::Malformed, fmt::format("{}: {}", file, known.error().text));
  words.insert(words.end(), options.behaviours.begin(), options.behaviours.end());
  options.behaviours = std::move(words);
  options.port_type = profile.is_ethernet ? PortType::Ethernet : PortType::InfiniBand;
  options.virtual_function = profile.is_virtual_function;
  options.profile = std::make_shared<const trace::DeviceProfile>(std::move(profile));
  return {};
}

Result<void> adopt_bundle(Options& options, const std::string& path) {
  constexpr std::string_view kFile = "profile.json";
  const std::string name = path + ": " + std::string(kFile);
  PORTCULLIS_TRY_ASSIGN(const std::string text,
                        trace::read_from_bundle(path, kFile, trace::kMostProfileBytes));
  PORTCULLIS_TRY_ASSIGN(auto profile, trace::profile_from_json(text, name));
  return adopt(options, std::move(profile), name);
}

}  // namespace portcullis::model
