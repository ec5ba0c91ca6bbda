// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace portcullis::pfc::packet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kAny = ~std::uint64_t{0};
constexpr std::uint64_t kSizes[] = {10'000, 100'000, 1'000'000, kAny};
constexpr double kShown[] = {0.5, 0.95, 0.99, 0.999};
constexpr const char* kNames[] = {"p50", "p95", "p99", "p999"};

std::string size_name(std::uint64_t bytes) {
  if (bytes == 0) return "all sizes";
  if (bytes == kAny) return "above 1 MB";
  return bytes >= 1'000'000 ? fmt::format("up to {} MB", bytes / 1'000'000)
                            : fmt::format("up to {} KB", bytes / 1000);
}

std::string times_text(const Histogram& took) {
  std::string text;
  for (std::size_t i = 0; i < std::size(kShown); ++i)
    if (took.tells(kShown[i]))
      text += fmt::format("{} {}, ", kNames[i],
                          duration_text(static_cast<double>(took.percentile_ns(kShown[i]))));
  return text + "at most " + duration_text(static_cast<double>(took.max_ns()));
}

std::string slowdown_text(const Histogram& slowdown) {
  std::string text;
  for (std::size_t i = 0; i < std::size(kShown); ++i)
    if (slowdown.tells(kShown[i]))
      text += fmt::format("{} {:.4g}, ", kNames[i],
                          static_cast<double>(slowdown.percentile_ns(kShown[i])) / 1000);
  return text + fmt::format("at most {:.4g}", static_cast<double>(slowdown.max_ns()) / 1000);
}

Json percentiles(const Histogram& of, double unit) {
  Json json = Json::object();
  for (std::size_t i = 0; i < std::size(kShown); ++i)
    if (of.tells(kShown[i]))
      json[kNames[i]] = static_cast<double>(of.percentile_ns(kShown[i])) / unit;
  if (!of.is_empty()) json["max"] = static_cast<double>(of.max_ns()) / unit;
  return json;
}

}  // namespace

std::vector<Completions> completions(const RunOptions& options, const RunReport& report) {
  std::vector<Completions> all(1);
  for (const std::uint64_t bytes : kSizes) {
    all.emplace_back();
    all.back().up_to_bytes = bytes;
  }
  for (std::size_t i = 0; i < report.messages.size(); ++i) {
    const Message& message = options.messages[i];
    const MessageReport& seen = report.messages[i];
    if (message.start >= report.end) continue;
    const auto size = static_cast<std::size_t>(std::ranges::lower_bound(kSizes, message.bytes) -
                                               std::begin(kSizes));
    for (Completions* one : {&all[0], &all[size + 1]}) {
      ++one->messages;
      if (seen.took < 0) continue;
      one->took.record(static_cast<std::uint64_t>(seen.took / 1000));
      one->slowdown.record(static_cast<std::uint64_t>(1000.0 * static_cast<double>(seen.took) /
                                                      static_cast<double>(seen.at_least)));
    }
  }
  std::erase_if(all,
                [](const Completions& one) { return one.up_to_bytes != 0 && one.messages == 0; });
  return all;
}

std::string completions_text(const RunOptions& options, const RunReport& report) {
  if (report.messages.empty()) return "";
  const std::vector<Completions> all = completions(options, report);
  const FlowReport& packets = report.of_messages;
  std::string text = fmt::format(
      "messages: {}, {} to start before the end, {} arrived whole; {} packets sent, {} delivered, "
      "{} "
      "lost, {} held\n",
      report.messages.size(), all[0].messages, all[0].took.count(), packets.sent, packets.delivered,
      packets.overflowed + packets.expired + packets.discarded, packets.held);
  if (packets.marked + packets.cnps > 0)
    text += fmt::format("  {} packets marked, {} CNPs\n", packets.marked, packets.cnps);
  for (const Completions& one : all) {
    text += fmt::format("  {}: {} of {} arrived", size_name(one.up_to_bytes), one.took.count(),
                        one.messages);
    if (!one.took.is_empty())
      text += fmt::format("; took {}; times an empty fabric's: {}", times_text(one.took),
                          slowdown_text(one.slowdown));
    text += "\n";
  }
  if (all[0].took.count() < all[0].messages)
    text +=
        "  those that had not arrived by the end are in no percentile, and may be slower than "
        "any\n";
  if (packets.overflowed + packets.discarded > 0)
    text +=
        "  nothing that is lost is sent again, so a message that lost a packet never arrives "
        "whole\n";
  return text;
}

Json completions_json(const RunOptions& options, const RunReport& report) {
  const FlowReport& packets = report.of_messages;
  Json json = {{"messages", report.messages.size()},
               {"sent", packets.sent},
               {"delivered", packets.delivered},
               {"overflowed", packets.overflowed},
               {"discarded", packets.discarded},
               {"held", packets.held},
               {"marked", packets.marked},
               {"cnps", packets.cnps},
               {"by_size", Json::array()}};
  for (const Completions& one : completions(options, report))
    json["by_size"].push_back(
        {{"up_to_bytes",
          one.up_to_bytes == 0 || one.up_to_bytes == kAny ? Json(nullptr) : Json(one.up_to_bytes)},
         {"sizes", size_name(one.up_to_bytes)},
         {"started", one.messages},
         {"arrived", one.took.count()},
         {"took_us", percentiles(one.took, 1000)},
         {"slowdown", percentiles(one.slowdown, 1000)}});
  return json;
}

}  // namespace portcullis::pfc::packet
