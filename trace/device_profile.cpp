// SPDX-License-Identifier: BSD-3-Clause
#include "trace/device_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.hpp"
#include "prm/command_fields.hpp"
#include "prm/enums.hpp"
#include "prm/flow_commands.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"
#include "trace/text.hpp"

namespace portcullis::trace {
namespace {

constexpr std::string_view kFormat = "portcullis-profile";
constexpr std::string_view kMembers =
    "format, version, source, firmware, port, virtual_function, behaviours, commands, "
    "capabilities, refusals";
constexpr std::size_t kMostCommands = 512;
constexpr std::size_t kMostPages = 64;
constexpr std::size_t kMostWords = 256;  // behaviours, and refusals
constexpr std::size_t kMostTextBytes = 256;
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 40;  // of one bin: sums fit
constexpr std::uint32_t kMost16 = 0xffff;
constexpr std::uint32_t kMost32 = 0xffff'ffff;

constexpr std::array kOfTables{
    prm::Opcode::SET_FLOW_TABLE_ROOT,    prm::Opcode::CREATE_FLOW_TABLE,
    prm::Opcode::DESTROY_FLOW_TABLE,     prm::Opcode::CREATE_FLOW_GROUP,
    prm::Opcode::DESTROY_FLOW_GROUP,     prm::Opcode::SET_FLOW_TABLE_ENTRY,
    prm::Opcode::DELETE_FLOW_TABLE_ENTRY};

bool is_of_tables(prm::Opcode opcode) {
  return std::ranges::find(kOfTables, opcode) != kOfTables.end();
}

std::string hex_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

/// A whole number from `least` to `most`.
Result<std::uint64_t> whole(const JsonCursor& at, std::uint64_t least, std::uint64_t most) {
  const auto& value = at.value();
  if (!value.whole || *value.whole < least || *value.whole > most)
    return at.refuse(fmt::format("a whole number from {} to {}", least, most));
  return *value.whole;
}

Result<std::string> text_of(const JsonCursor& at) {
  PORTCULLIS_TRY_ASSIGN(std::string text, at.string());
  const auto is_plain = [](unsigned char c) { return c >= ' ' && c < 0x7f; };
  if (text.size() > kMostTextBytes || !std::ranges::all_of(text, is_plain))
    return at.refuse(fmt::format("at most {} characters of ASCII", kMostTextBytes));
  return text;
}

Result<void> expect_at_most(const JsonCursor& list, std::size_t most) {
  PORTCULLIS_TRY(list.expect_array());
  if (list.size() > most) return list.bad(fmt::format("more than {} items", most));
  return {};
}

/// [first, last, count, first, last, count, ..]
Result<std::vector<Histogram::Bin>> read_bins(const JsonCursor& at, const CommandTimes& one) {
  constexpr std::size_t kNumbers = 3;
  PORTCULLIS_TRY(expect_at_most(at, kNumbers * kMostTimes));
  if (at.size() == 0 || at.size() % kNumbers != 0)
    return at.bad("threes of numbers are accepted: first ns, last ns, count");
  std::vector<Histogram::Bin> bins;
  for (std::size_t i = 0; i < at.size(); i += kNumbers) {
    Histogram::Bin bin;
    const std::uint64_t least = bins.empty() ? 0 : bins.back().last_ns + 1;
    PORTCULLIS_TRY_ASSIGN(bin.first_ns, whole(at.item(i), least, one.most_ns));
    PORTCULLIS_TRY_ASSIGN(bin.last_ns, whole(at.item(i + 1), std::max(bin.first_ns, one.least_ns),
                                             2 * kMostCommandNs));
    PORTCULLIS_TRY_ASSIGN(bin.count, whole(at.item(i + 2), 1, kMostCount));
    bins.push_back(bin);
  }
  return bins;
}

Result<CommandTimes> read_times(const JsonCursor& at) {
  PORTCULLIS_TRY(at.expect_object("command, opcode, least_ns, most_ns, times"));
  CommandTimes one;
  PORTCULLIS_TRY_ASSIGN(const auto opcode, whole(at.at("opcode"), 0, kMost16));
  one.opcode = static_cast<std::uint16_t>(opcode);
  PORTCULLIS_TRY_ASSIGN(one.least_ns, whole(at.at("least_ns"), 0, kMostCommandNs));
  PORTCULLIS_TRY_ASSIGN(one.most_ns, whole(at.at("most_ns"), one.least_ns, kMostCommandNs));
  PORTCULLIS_TRY_ASSIGN(one.times, read_bins(at.at("times"), one));
  return one;
}

Result<CapabilityPage> read_page(const JsonCursor& at) {
  PORTCULLIS_TRY(at.expect_object("op_mod, hex"));
  CapabilityPage page;
  PORTCULLIS_TRY_ASSIGN(const auto op_mod, whole(at.at("op_mod"), 0, kMost16));
  page.op_mod = static_cast<std::uint16_t>(op_mod);
  PORTCULLIS_TRY_ASSIGN(const std::string hex, at.at("hex").string());
  const auto refuse = [&at] {
    return at.at("hex").bad(
        fmt::format("{} bytes in hexadecimal digits are accepted", kCapabilityBytes));
  };
  if (hex.size() != 2 * kCapabilityBytes) return refuse();
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto value = to_number(std::string_view(hex).substr(i, 2), 16);
    if (!value) return refuse();
    page.page.push_back(static_cast<std::byte>(*value));
  }
  return page;
}

Result<RefusedKind> read_refusal(const JsonCursor& at) {
  PORTCULLIS_TRY(at.expect_object("command, opcode, op_mod, about, status, syndrome"));
  RefusedKind one;
  PORTCULLIS_TRY_ASSIGN(const auto opcode, whole(at.at("opcode"), 0, kMost16));
  PORTCULLIS_TRY_ASSIGN(const auto op_mod, whole(at.at("op_mod"), 0, kMost16));
  PORTCULLIS_TRY_ASSIGN(const auto about, whole(at.at("about"), 0, kMost32));
  PORTCULLIS_TRY_ASSIGN(const auto status, whole(at.at("status"), 1, 0xff));
  PORTCULLIS_TRY_ASSIGN(const auto syndrome, whole(at.at("syndrome"), 0, kMost32));
  one.kind = {static_cast<std::uint16_t>(opcode), static_cast<std::uint16_t>(op_mod),
              static_cast<std::uint32_t>(about)};
  one.status = static_cast<std::uint8_t>(status);
  one.syndrome = static_cast<std::uint32_t>(syndrome);
  return one;
}

/// Every item of the array `key` by `read_one`; none of the two that `is_same`.
template <class T, class Read, class Same>
Result<void> read_list(const JsonCursor& root, std::string_view key, std::size_t most,
                       std::vector<T>& to, Read&& read_one, Same&& is_same) {
  const JsonCursor list = root.at(key);
  PORTCULLIS_TRY(expect_at_most(list, most));
  for (std::size_t i = 0; i < list.size(); ++i) {
    PORTCULLIS_TRY_ASSIGN(T one, read_one(list.item(i)));
    const auto is_this = [&](const T& other) { return is_same(one, other); };
    if (std::ranges::any_of(to, is_this)) return list.item(i).bad("stands there twice");
    to.push_back(std::move(one));
  }
  return {};
}

Result<void> read_head(const JsonCursor& root, DeviceProfile& profile) {
  PORTCULLIS_TRY_ASSIGN(const std::string format, root.at("format").string());
  if (format != kFormat) return root.at("format").refuse(fmt::format("\"{}\"", kFormat));
  PORTCULLIS_TRY(whole(root.at("version"), kProfileVersion, kProfileVersion));
  PORTCULLIS_TRY(root.expect_object(kMembers));
  PORTCULLIS_TRY_ASSIGN(profile.source, text_of(root.at("source")));
  PORTCULLIS_TRY_ASSIGN(profile.firmware, text_of(root.at("firmware")));
  PORTCULLIS_TRY_ASSIGN(const std::string port, root.at("port").string());
  if (port != "eth" && port != "ib") return root.at("port").refuse("\"eth\" or \"ib\"");
  profile.is_ethernet = port == "eth";
  PORTCULLIS_TRY_ASSIGN(profile.is_virtual_function, root.at("virtual_function").boolean());
  return {};
}

}  // namespace

const CommandTimes* DeviceProfile::times_of(std::uint16_t opcode) const noexcept {
  const auto found = std::ranges::find(commands, opcode, &CommandTimes::opcode);
  return found == commands.end() ? nullptr : &*found;
}

const CapabilityPage* DeviceProfile::page_of(std::uint16_t op_mod) const noexcept {
  const auto found = std::ranges::find(capabilities, op_mod, &CapabilityPage::op_mod);
  return found == capabilities.end() ? nullptr : &*found;
}

const RefusedKind* DeviceProfile::refusal_of(const CommandKind& kind) const noexcept {
  const auto found = std::ranges::find(refusals, kind, &RefusedKind::kind);
  return found == refusals.end() ? nullptr : &*found;
}

CommandKind kind_of(std::span<const std::byte> in) {
  const prm::Opcode opcode = prm::opcode_of(in);
  CommandKind kind{prm::number(opcode), prm::op_mod_of(in), 0};
  // All of them have table_type in one place (mlx5_ifc.h).
  constexpr std::size_t kTableType = prm::place<prm::create_flow_table_in, "table_type">.offset / 8;
  if (opcode == prm::Opcode::CREATE_QP && in.size() >= prm::create_qp_in::bytes) {
    kind.about =
        static_cast<std::uint32_t>(prm::ConstView<prm::create_qp_in>::at(in).get<"qpc.st">());
  } else if (opcode == prm::Opcode::ACCESS_REG && in.size() >= prm::access_register_in::bytes) {
    kind.about = static_cast<std::uint32_t>(
        prm::ConstView<prm::access_register_in>::at(in).get<"register_id">());
  } else if (opcode == prm::Opcode::CREATE_EQ && in.size() >= prm::create_eq_in::bytes) {
    const auto events = prm::ConstView<prm::create_eq_in>::at(in).bytes<"event_bitmask">();
    const bool has_events =
        std::ranges::any_of(events, [](std::byte b) { return b != std::byte{0}; });
    kind.about = has_events ? 1 : 0;
  } else if (is_of_tables(opcode) && in.size() > kTableType) {
    kind.about = std::to_integer<std::uint32_t>(in[kTableType]);
  }
  return kind;
}

CommandTimes times_from(std::uint16_t opcode, const Histogram& answered) {
  CommandTimes one{.opcode = opcode,
                   .least_ns = std::min(answered.min_ns(), kMostCommandNs),
                   .most_ns = std::min(answered.max_ns(), kMostCommandNs)};
  const auto bins = answered.bins();
  const std::size_t together = (bins.size() + kMostTimes - 1) / kMostTimes;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i].first_ns > one.most_ns) break;  // the last of what took a minute
    if (i % together == 0) {
      one.times.push_back(bins[i]);
      continue;
    }
    one.times.back().last_ns = bins[i].last_ns;
    one.times.back().count += bins[i].count;
  }
  if (!one.times.empty())
    one.times.back().last_ns = std::min(one.times.back().last_ns, 2 * kMostCommandNs);
  return one;
}

std::string to_json(const DeviceProfile& profile) {
  using Json = nlohmann::ordered_json;
  Json json{{"format", kFormat},
            {"version", kProfileVersion},
            {"source", profile.source},
            {"firmware", profile.firmware},
            {"port", profile.is_ethernet ? "eth" : "ib"},
            {"virtual_function", profile.is_virtual_function},
            {"behaviours", profile.behaviours}};
  json["commands"] = Json::array();
  for (const CommandTimes& each : profile.commands) {
    Json times = Json::array();
    for (const Histogram::Bin& bin : each.times)
      for (const std::uint64_t number : {bin.first_ns, bin.last_ns, bin.count})
        times.push_back(number);
    json["commands"].push_back({{"command", prm::name(prm::Opcode{each.opcode})},
                                {"opcode", each.opcode},
                                {"least_ns", each.least_ns},
                                {"most_ns", each.most_ns},
                                {"times", std::move(times)}});
  }
  json["capabilities"] = Json::array();
  for (const CapabilityPage& each : profile.capabilities)
    json["capabilities"].push_back({{"op_mod", each.op_mod}, {"hex", hex_of(each.page)}});
  json["refusals"] = Json::array();
  for (const RefusedKind& each : profile.refusals)
    json["refusals"].push_back({{"command", prm::name(prm::Opcode{each.kind.opcode})},
                                {"opcode", each.kind.opcode},
                                {"op_mod", each.kind.op_mod},
                                {"about", each.kind.about},
                                {"status", each.status},
                                {"syndrome", each.syndrome}});
  // Words of a device may be no UTF-8.
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<DeviceProfile> profile_from_json(std::string_view text, std::string_view file) {
  if (text.size() > kMostProfileBytes)
    return fail(Errc::Malformed, fmt::format("{}: {} bytes; at most {} are accepted", file,
                                             text.size(), kMostProfileBytes));
  PORTCULLIS_TRY_ASSIGN(const JsonValue json, parse_json(text, file));
  const JsonCursor root(json, file);
  DeviceProfile profile;
  PORTCULLIS_TRY(read_head(root, profile));
  PORTCULLIS_TRY(read_list(root, "behaviours", kMostWords, profile.behaviours, &text_of,
                           [](const auto& a, const auto& b) { return a == b; }));
  PORTCULLIS_TRY(read_list(root, "commands", kMostCommands, profile.commands, &read_times,
                           [](const auto& a, const auto& b) { return a.opcode == b.opcode; }));
  PORTCULLIS_TRY(read_list(root, "capabilities", kMostPages, profile.capabilities, &read_page,
                           [](const auto& a, const auto& b) { return a.op_mod == b.op_mod; }));
  PORTCULLIS_TRY(read_list(root, "refusals", kMostWords, profile.refusals, &read_refusal,
                           [](const auto& a, const auto& b) { return a.kind == b.kind; }));
  return profile;
}

}  // namespace portcullis::trace
