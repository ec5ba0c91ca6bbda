// SPDX-License-Identifier: BSD-3-Clause
#include "model/behaviours.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "model/model.hpp"

namespace portcullis::model {
namespace {

using Flag = bool Behaviours::*;
using Number = std::optional<std::uint64_t> Behaviours::*;
using Share = std::optional<double> Behaviours::*;  // 0 to 1

/// One of a few words.
struct Choice {
  std::span<const std::string_view> words;
  void (*choose)(Behaviours& chosen, std::optional<std::size_t> word);
  std::optional<std::size_t> (*chosen)(const Behaviours& behaviours);
};

/// In the order of the enumerators.
template <auto Member, const auto& Words>
constexpr Choice choice_of() {
  return {Words,
          [](Behaviours& chosen, std::optional<std::size_t> word) {
            auto& member = chosen.*Member;
            member.reset();
            using Value = typename std::remove_reference_t<decltype(member)>::value_type;
            if (word) member = static_cast<Value>(*word);
          },
          [](const Behaviours& behaviours) -> std::optional<std::size_t> {
            const auto& member = behaviours.*Member;
            if (!member) return std::nullopt;
            return static_cast<std::size_t>(*member);
          }};
}

constexpr std::array<std::string_view, 3> kLoopbackWords{"refused", "needs-link", "forced-only"};
constexpr std::array<std::string_view, 3> kKeyBindingWords{"refused", "strict", "unchecked"};
constexpr std::array<std::string_view, 4> kCrashDumpWords{"absent", "refused", "held", "stuck"};

/// What a Number takes.
struct Range {
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::string_view unit = "";
  std::string_view suffix = "";                        // stands behind the number
  std::optional<std::uint64_t> preset = std::nullopt;  // what NAME alone, or `timing`, gives it
  bool is_time = false;  // in ns, and written with its unit: 100ns, 1us, 2ms
};

struct Row {
  std::string_view name;
  std::variant<Flag, Number, Share, Choice> member;
  std::string_view description;
  Range range{};
  std::string_view timing = "";  // which switches it on; a Number needs a preset then
};

constexpr std::string_view kCx5 = "cx5-16.35.4506";

constexpr std::array kRows{
    Row{"page-starved", &Behaviours::page_starved,
        "every fourth CREATE command first asks for a firmware page and waits for it"},
    Row{"slow-init",
        &Behaviours::slow_init_ms,
        "initializing stays set that long (3000) after power-on and reset",
        {.least = 1, .greatest = 600'000, .unit = "ms", .preset = 3000}},
    Row{"never-ready", &Behaviours::never_ready, "initializing stays set for ever"},
    Row{"cmdif-rev-6", &Behaviours::cmdif_rev_6,
        "the command interface says revision 6, which no driver speaks"},
    Row{"link-up-ms",
        &Behaviours::link_up_ms,
        "an Ethernet link is up that long after a reset, or after its port was switched on",
        {.least = 1, .greatest = 600'000, .unit = "ms"}},
    Row{"pmtu",
        &Behaviours::pmtu,
        "the port carries frames of at most so many bytes, 1522 until register PMTU is written, "
        "and loses longer ones",
        {.least = 576, .greatest = 10'218, .preset = 10'218}},
    Row{"vf-needs-uc-list", &Behaviours::vf_needs_uc_list,
        "a virtual function is sent nothing before its vport lists the address"},
    Row{"outside-sm", &Behaviours::outside_sm,
        "an InfiniBand port waits in INIT for a subnet manager on the wire"},
    Row{"eth-offloads", &Behaviours::eth_offloads,
        "a function says that it has the data path of a network interface (eth_net_offloads; on an "
        "InfiniBand port ipoib_enhanced_offloads), and Linux makes one"},
    Row{"dropless-rq",
        &Behaviours::dropless_rq_ms,
        "a frame for a receive queue without receives waits in the port's buffer, at most that "
        "long (100), instead of being lost",
        {.least = 1, .greatest = 10'000, .unit = "ms", .preset = 100}},
    Row{"loopback", choice_of<&Behaviours::loopback, kLoopbackWords>(),
        "packets of a port to itself: refused where they are forced (ads.fl), lost without a link "
        "where they are forced, too, or lost where they are not"},
    Row{"mkc-qpn", choice_of<&Behaviours::mkc_qpn, kKeyBindingWords>(),
        "a key that names a QP: refused, taken if that is a QP of its domain, or taken and not "
        "looked at"},
    Row{"relaxed-ordering", &Behaviours::relaxed_ordering,
        "the function may order its DMA loosely, and keys may ask for it"},
    Row{"strict-pci-ordering", &Behaviours::strict_pci_ordering,
        "the bit of PCI Express for relaxed ordering is off, whatever keys may ask for"},
    Row{"crash-dump", choice_of<&Behaviours::crash_dump, kCrashDumpWords>(),
        "the capability by which a crash dump is read: not there, without a space to scan, its "
        "semaphore held by another, or its words never answered"},
    Row{"reuse-numbers", &Behaviours::reuse_numbers,
        "a PD, QP or mkey number that was given back is the next one given"},
    Row{"internal-error",
        &Behaviours::internal_error_at,
        "at that many 2ERR_QP the health buffer says FW_INTERNAL_ERR, and no command is answered "
        "any "
        "more until a reset",
        {.least = 1, .greatest = 1'000'000}},
    Row{"loss", &Behaviours::loss, "this share of the frames is lost; a seed says which"},
    Row{"duplicate", &Behaviours::duplicate, "this share of the frames arrives twice"},
    Row{"reorder", &Behaviours::reorder,
        "this share of the frames lets 1 to 8 later ones pass, or waits 20 us"},
    Row{"corrupt", &Behaviours::corrupt, "this share of the frames has one bit wrong"},
    Row{"delay-ns",
        &Behaviours::delay_ns,
        "every frame is late by a seeded 0 to so many ns, and may be overtaken",
        {.least = 1, .greatest = 4'000'000'000}},
    Row{"a1-off",
        &Behaviours::a1_off_ns,
        "DESTROY_MKEY is answered while DMA under the key is pending, against assumption A1; with "
        "a "
        "value memory is touched that long after the key check",
        {.least = 1, .greatest = 60'000'000'000, .unit = "ns", .preset = 0, .is_time = true}},
    Row{"a2-off", &Behaviours::a2_off, "a UMR completes though DMA under its key is still to come"},
    Row{"a5-off", &Behaviours::a5_off,
        "the device still reaches what the IOMMU has unmapped, against assumption A5"},
    Row{"a6-off", &Behaviours::a6_off,
        "DESTROY_MKEY of an indirect key is answered while DMA through it is pending, against "
        "assumption A6"},
    Row{"klm-domain-unchecked", &Behaviours::klm_domain_unchecked,
        "the protection domain of a key that an indirect one leads to is not looked at"},
    Row{"replay-unchecked", &Behaviours::replay_unchecked,
        "a READ that is asked for again goes where the first one went, and no key is looked at"},
    Row{"read-untracked", &Behaviours::read_untracked,
        "DESTROY_MKEY and UMR do not wait for READs that the key has allowed"},
    Row{"dispatch-cache",
        &Behaviours::dispatch_cache_ms,
        "a QP that has received is served that long after 2ERR_QP (hypothesis)",
        {.least = 1, .greatest = 600'000, .unit = "ms"}},
    Row{"dispatch-cache-keeps-key", &Behaviours::dispatch_cache_keeps_key,
        "and WRITEs to the page that was written last meet no key check (hypothesis)"},
    Row{"data-path-ns",
        &Behaviours::data_path_ns,
        "memory is touched that long (1000, hypothesis) after the key check that allowed it",
        {.least = 1, .greatest = 60'000'000'000, .unit = "ns", .preset = 1000}},
    Row{"rdma-rx-in-path",
        &Behaviours::rdma_rx_in_path,
        "a root table of RDMA_RX decides over RoCE packets; off, it is accepted and does nothing",
        {},
        kCx5},
    Row{"nic-rx-bypassed-for-roce",
        &Behaviours::nic_rx_bypassed_for_roce,
        "RoCE packets do not meet the tables of NIC_RX",
        {},
        kCx5},
    Row{"dst-qp-inert",
        &Behaviours::dst_qp_inert,
        "an entry that asks for bth_dst_qp matches nothing outside of an underlay QP's table",
        {},
        kCx5},
    Row{"hot-qp-ignores-new-rules",
        &Behaviours::hot_qp_ignores_new_rules,
        "a QP that has received keeps what steering decided, until it is reset",
        {},
        kCx5},
    Row{"no-occupied-index",
        &Behaviours::no_occupied_index,
        "SET_FLOW_TABLE_ENTRY on an occupied index answers LIM_ERR",
        {},
        kCx5},
    Row{"no-bth-opcode", &Behaviours::no_bth_opcode,
        "the capability bth_opcode is 0, and a group that asks for it is refused"},
    Row{"bth-opcode-not-parsed", &Behaviours::bth_opcode_not_parsed,
        "an entry that asks for bth_opcode is accepted and matches nothing"},
    Row{"rdma-rx-refused", &Behaviours::rdma_rx_refused,
        "CREATE_FLOW_TABLE in RDMA_RX answers BAD_PARAM_ERR"},
    Row{"rdma-rx-silent-null", &Behaviours::rdma_rx_silent_null,
        "CREATE_FLOW_TABLE in RDMA_RX answers success and table 0, and makes nothing"},
    Row{"underlay-root-inert", &Behaviours::underlay_root_inert,
        "a root table of one underlay QP is accepted and does nothing (hypothesis)"},
    Row{"min-ack-timeout",
        &Behaviours::min_ack_timeout,
        "no QP's ack timeout is below 4.096 us x 2^N (hypothesis)",
        {.least = 1, .greatest = 31}},
    Row{"retx-total",
        &Behaviours::retx_total_ms,
        "a requester gives up after that long without progress, whatever its retry count "
        "(hypothesis)",
        {.least = 1, .greatest = 600'000, .unit = "ms"}},
    Row{"retry-total",
        &Behaviours::retry_total,
        "what a retry count of 7 comes to, in timeouts: 8T counts the last one, as by default; 7T "
        "does not (hypothesis)",
        {.least = 7, .greatest = 8, .suffix = "T"}},
};

bool is_flag(const Row& row) { return std::holds_alternative<Flag>(row.member); }
bool is_share(const Row& row) { return std::holds_alternative<Share>(row.member); }
const Choice* choice(const Row& row) { return std::get_if<Choice>(&row.member); }

void turn_off(const Row& row, Behaviours& chosen) {
  std::visit(
      [&chosen](auto member) {
        if constexpr (std::is_same_v<decltype(member), Choice>)
          member.choose(chosen, std::nullopt);
        else
          chosen.*member = {};
      },
      row.member);
}

struct TimeUnit {
  std::string_view name;
  std::uint64_t ns;
};
constexpr std::array kTimeUnits{TimeUnit{"ms", 1'000'000}, TimeUnit{"us", 1'000},
                                TimeUnit{"ns", 1}};

/// In the largest unit that holds it whole.
std::string time_text(std::uint64_t ns) {
  const auto* const unit =
      std::ranges::find_if(kTimeUnits, [ns](const TimeUnit& each) { return ns % each.ns == 0; });
  return std::to_string(ns / unit->ns) + std::string(unit->name);
}

/// "slow-init=1-4000 (ms)", "retry-total=7T-8T", "loss=0-1", "mkc-qpn=refused|strict" or
/// "never-ready".
std::string form_of(const Row& row) {
  std::string form(row.name);
  if (const Choice* const words = choice(row)) {
    for (const std::string_view word : words->words)
      form += (word == words->words.front() ? "=" : "|") + std::string(word);
    return form;
  }
  if (is_flag(row)) return form;
  if (is_share(row)) return form + "=0-1";
  if (row.range.is_time)
    return form + "[=TIME] (" + time_text(row.range.least) + " to " +
           time_text(row.range.greatest) + ", as in 100ns, 1us, 2ms)";
  const std::string suffix(row.range.suffix);
  form += "=" + std::to_string(row.range.least) + suffix + "-" +
          std::to_string(row.range.greatest) + suffix;
  return row.range.unit.empty() ? form : form + " (" + std::string(row.range.unit) + ")";
}

template <class T>
std::optional<T> parse(std::string_view text, T least, T greatest) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  // so that what is no number is refused, too
  return value >= least && value <= greatest ? std::optional(value) : std::nullopt;
}

/// "1us": the number of ns.
std::optional<std::uint64_t> parse_time(std::string_view text, const Range& range) {
  const auto* const unit = std::ranges::find_if(
      kTimeUnits, [text](const TimeUnit& each) { return text.ends_with(each.name); });
  if (unit == kTimeUnits.end()) return std::nullopt;
  text.remove_suffix(unit->name.size());
  const auto count = parse<std::uint64_t>(text, 1, range.greatest / unit->ns);
  if (!count || *count * unit->ns < range.least) return std::nullopt;
  return *count * unit->ns;
}

/// NAME=`text`, or NAME alone. False: it does not take that.
bool turn_on(const Row& row, Behaviours& chosen, std::optional<std::string_view> text) {
  if (is_flag(row)) {
    chosen.*std::get<Flag>(row.member) = true;
    return !text;
  }
  if (const Choice* const words = choice(row)) {
    const auto word = std::ranges::find(words->words, text.value_or(""));
    if (word == words->words.end()) return false;
    words->choose(chosen, static_cast<std::size_t>(word - words->words.begin()));
    return true;
  }
  if (is_share(row)) {
    auto& share = chosen.*std::get<Share>(row.member);
    share = text ? parse<double>(*text, 0, 1) : std::nullopt;
    return share.has_value();
  }
  auto& number = chosen.*std::get<Number>(row.member);
  if (row.range.is_time) {
    number = text ? parse_time(*text, row.range) : row.range.preset;
    return number.has_value();
  }
  if (text && !text->ends_with(row.range.suffix)) return false;
  if (text) text->remove_suffix(row.range.suffix.size());
  number = text ? parse(*text, row.range.least, row.range.greatest) : row.range.preset;
  return number.has_value();
}

Result<void> apply(const std::string& word, Behaviours& chosen) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&name](const Row& each) { return each.name == name; });
  if (row == kRows.end()) {
    std::string names;
    for (const std::string_view each : behaviour_names())
      names += (names.empty() ? "" : ", ") + std::string(each);
    return fail(Errc::InvalidArgument, "unknown behaviour '" + name + "'; accepted: " + names);
  }
  if (word == name + "=off") {
    turn_off(*row, chosen);
    return {};
  }
  const auto value = equals == std::string::npos
                         ? std::nullopt
                         : std::optional(std::string_view(word).substr(equals + 1));
  if (!turn_on(*row, chosen, value))
    return fail(Errc::InvalidArgument,
                "behaviour '" + word + "'; accepted: " + form_of(*row) + ", " + name + "=off");
  return {};
}

/// "=14", "=0.1", nothing for a flag that is on, "=off".
std::string value_in_force(const Row& row, const Behaviours& chosen) {
  constexpr std::string_view kOff = "=off";
  if (is_flag(row)) return std::string(chosen.*std::get<Flag>(row.member) ? "" : kOff);
  if (const Choice* const words = choice(row)) {
    const auto word = words->chosen(chosen);
    return word ? "=" + std::string(words->words[*word]) : std::string(kOff);
  }
  if (!is_share(row)) {
    const auto& number = chosen.*std::get<Number>(row.member);
    if (number && row.range.is_time) return *number == 0 ? "" : "=" + time_text(*number);
    return number ? "=" + std::to_string(*number) + std::string(row.range.suffix)
                  : std::string(kOff);
  }
  const auto& share = chosen.*std::get<Share>(row.member);
  if (!share) return std::string(kOff);
  std::array<char, 32> text{};  // the shortest text of a double has 24 characters at most
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), *share);
  return "=" + std::string(text.data(), error == std::errc{} ? end : text.data());
}

/// What is in force, in the table's order, and what a timing would have switched on.
std::string names_in_force(const Behaviours& chosen, std::string_view timing) {
  std::string names;
  for (const Row& row : kRows) {
    const std::string value = value_in_force(row, chosen);
    if (value == "=off" && row.timing != timing) continue;
    names += (names.empty() ? "" : "+") + std::string(row.name) + value;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Result<Behaviours> find_behaviours(const std::vector<std::string>& words, std::string_view timing) {
  Behaviours chosen;
  for (const Row& row : kRows)
    if (row.timing == timing) static_cast<void>(turn_on(row, chosen, std::nullopt));
  for (const std::string& word : words) PORTCULLIS_TRY(apply(word, chosen));
  chosen.names = names_in_force(chosen, timing);
  return chosen;
}

const std::vector<std::string_view>& behaviour_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Row& row : kRows) all.push_back(row.name);
    return all;
  }();
  return names;
}

std::string behaviour_help() {
  std::string text;
  for (const Row& row : kRows) {
    text += "  " + form_of(row) + ": " + std::string(row.description);
    if (!row.timing.empty()) text += " (on with timing=" + std::string(row.timing) + ")";
    text += '\n';
  }
  return text;
}

Result<std::string> behaviours_in_force(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(Behaviours chosen, find_behaviours(options.behaviours, options.timing));
  return std::move(chosen.names);
}

}  // namespace portcullis::model
