// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "base/svg_parts.hpp"
#include "tools/lease_words.hpp"
#include "tools/leasectl/report.hpp"

namespace portcullis::tools::leasectl {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#111}"
    "table{border-collapse:collapse;margin:.5em 0;display:block;overflow-x:auto}"
    "td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:right}"
    "td.t,th.t{text-align:left}.note{color:#8a3b00}svg{max-width:100%;height:auto}";

/// Of one bar: what was TornDown, and Fenced on top of it.
struct Bar {
  std::string label;
  std::uint64_t torn_down = 0;
  std::uint64_t fenced = 0;
};

void count(Bar& bar, const wire::HistoryRow& row) {
  ++(row.outcome == wire::Outcome::Fenced ? bar.fenced : bar.torn_down);
}

std::string bars_svg(std::string_view title, const std::vector<Bar>& bars, std::size_t label_each) {
  constexpr double kWidth = 920;
  constexpr double kHeight = 240;
  constexpr double kLeft = 70;
  constexpr double kTop = 16;
  constexpr double kFloor = 200;
  std::uint64_t most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.torn_down + bar.fenced);
  const double each = (kWidth - kLeft - 10) / static_cast<double>(bars.size());
  const auto tall = [&](std::uint64_t leases) {
    return (kFloor - kTop) * static_cast<double>(leases) / static_cast<double>(most);
  };
  std::string svg = svg::open({.width = kWidth, .height = kHeight, .title = title});
  svg += svg::line(kLeft, kFloor, kWidth - 10, kFloor, R"(stroke="#333")");
  svg += svg::text(kLeft - 8, kTop + 6, R"(text-anchor="end")", std::to_string(most));
  svg += svg::text(kLeft - 8, kFloor, R"(text-anchor="end")", "0");
  svg += svg::upright((kTop + kFloor) / 2, "leases");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x = kLeft + each * static_cast<double>(i);
    const double done = tall(bars[i].torn_down);
    const double failed = tall(bars[i].fenced);
    if (bars[i].torn_down != 0)
      svg += svg::box(x + 1, kFloor - done, each - 2, done,
                      fmt::format(R"(fill="{}")", svg::kColours[0]));
    if (bars[i].fenced != 0)
      svg += svg::box(x + 1, kFloor - done - failed, each - 2, std::max(failed, 2.0),
                      fmt::format(R"(fill="{}")", svg::kColours[1]));
    if (i % label_each == 0)
      svg += svg::text(x, kFloor + 18, R"(text-anchor="start")", bars[i].label);
  }
  return svg + "</svg>\n";
}

std::string timeline(const Past& past) {
  constexpr std::size_t kBars = 96;
  constexpr std::size_t kLabelEach = 16;
  const std::uint64_t span_ms = std::max<std::uint64_t>(past.until_unix_ms - past.since_unix_ms, 1);
  std::vector<Bar> bars(kBars);
  for (std::size_t i = 0; i < kBars; ++i)
    bars[i].label = time_text(past.since_unix_ms + span_ms / kBars * i).substr(0, 16);
  for (const wire::HistoryRow& row : past.rows) {
    const std::uint64_t at = std::clamp(row.ended_unix_ms, past.since_unix_ms, past.until_unix_ms);
    const auto share = static_cast<double>(at - past.since_unix_ms) / static_cast<double>(span_ms);
    count(bars[std::min(kBars - 1, static_cast<std::size_t>(share * kBars))], row);
  }
  return bars_svg("leases that ended, by time", bars, kLabelEach);
}

std::string duration_text(std::uint64_t ms) {
  if (ms < 1'000) return fmt::format("{} ms", ms);
  if (ms < 120'000) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1e3);
  if (ms < 7'200'000) return fmt::format("{:.1f} min", static_cast<double>(ms) / 6e4);
  return fmt::format("{:.1f} h", static_cast<double>(ms) / 3.6e6);
}

std::string held(const Past& past) {
  if (past.rows.empty()) return {};
  std::vector<std::uint64_t> all;
  std::vector<Bar> bars(36);  // the last from 2^35 ms on, a year
  for (std::size_t i = 0; i < bars.size(); ++i)
    bars[i].label = duration_text(std::uint64_t{1} << i >> 1);
  for (const wire::HistoryRow& row : past.rows) {
    all.push_back(held_ms(row));
    count(bars[std::min<std::size_t>(std::bit_width(all.back()), bars.size() - 1)], row);
  }
  const auto is_empty = [](const Bar& bar) { return bar.torn_down + bar.fenced == 0; };
  while (bars.size() > 8 && is_empty(bars.back())) bars.pop_back();
  std::sort(all.begin(), all.end());
  // Nearest rank: a value that was there, with no quantile of fewer leases than it needs.
  const auto quantile = [&](std::size_t of_1000) { return all[(all.size() - 1) * of_1000 / 1000]; };
  std::string text =
      "<p>Shortest " + duration_text(all.front()) + ", median " + duration_text(quantile(500));
  if (all.size() >= 1'000) text += ", p99 " + duration_text(quantile(990));
  text += ", longest " + duration_text(all.back()) +
          ". Each bar is twice as wide in time as the one before.</p>\n";
  return text + bars_svg("how long leases were held", bars, 4);
}

std::string row_of(std::initializer_list<std::string> cells, const char* kind = "td") {
  std::string text = "<tr>";
  bool is_first = true;
  for (const std::string& each : cells) {
    text += fmt::format("<{}{}>{}</{}>", kind, is_first ? " class=t" : "", svg::escape(each), kind);
    is_first = false;
  }
  return text + "</tr>\n";
}

template <class Key>
std::string table_by(const char* heading, const Past& past, Key key, std::size_t most) {
  std::map<std::string, Bar> found;
  for (const wire::HistoryRow& row : past.rows) count(found[key(row)], row);
  std::vector<std::pair<std::string, Bar>> sorted(found.begin(), found.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& one, const auto& other) {
    return one.second.torn_down + one.second.fenced > other.second.torn_down + other.second.fenced;
  });
  std::string text = "<table>\n" + row_of({heading, "TornDown", "Fenced"}, "th");
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += row_of({sorted[i].first, std::to_string(sorted[i].second.torn_down),
                    std::to_string(sorted[i].second.fenced)});
  text += "</table>\n";
  if (sorted.size() > most)
    text += fmt::format("<p class=note>{} more are left out.</p>\n", sorted.size() - most);
  return text;
}

std::string fenced_table(const Past& past) {
  constexpr std::size_t kMost = 1'000;
  std::string text;
  std::size_t found = 0;
  for (const wire::HistoryRow& row : past.rows) {
    if (row.outcome != wire::Outcome::Fenced || ++found > kMost) continue;
    text += row_of({time_text(row.ended_unix_ms), name_text(row.id, row.epoch),
                    std::to_string(row.tenant), wire::steps_text(row.failed_mask),
                    std::string(wire::name(row.memory)), std::string(wire::name(row.cause))});
  }
  if (found == 0) return "<p>None.</p>\n";
  text = "<table>\n" +
         row_of({"ended", "lease", "tenant", "steps that failed", "memory proved by", "ended by"},
                "th") +
         text + "</table>\n";
  if (found > kMost) text += fmt::format("<p class=note>The newest {} of {}.</p>\n", kMost, found);
  return text;
}

std::string now_text(const Reported& reported) {
  const auto in = [&](wire::State state) {
    return std::count_if(reported.now.begin(), reported.now.end(),
                         [&](const wire::LeaseRow& row) { return row.state == state; });
  };
  return fmt::format("<p>Now: {} held, {} being taken back, {} slots out of use.</p>\n",
                     in(wire::State::Active), in(wire::State::Revoking), in(wire::State::Fenced));
}

}  // namespace

std::vector<std::string> limits_of(const Past& past) {
  std::vector<std::string> lines;
  if (past.has_more)
    lines.push_back(fmt::format("not looked at: older ones than these {}", past.rows.size()));
  if (past.from_unix_ms > past.since_unix_ms)
    lines.push_back("not known: what ended before " + time_text(past.from_unix_ms) +
                    ", for the journal goes back no further");
  return lines;
}

std::string report_page(const Reported& reported) {
  const Past& past = reported.past;
  const bool is_emulated = (reported.status.flags & wire::kEmulated) != 0;
  const std::string whose = reported.tenant == wire::kEveryTenant
                                ? "every tenant"
                                : "tenant " + std::to_string(reported.tenant);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
      "<title>Leases of {0}</title>"
      "<style>{1}</style></head><body>\n<h1>Leases of {0}</h1>\n<p>{2}{3}. {4}, {5} to {6}.</p>\n",
      svg::escape(reported.server), kStyle, svg::escape(wire::text_of(reported.status.device)),
      is_emulated ? ", emulated: not a NIC" : "", whose, time_text(past.since_unix_ms),
      time_text(past.until_unix_ms));
  for (const std::string& each : limits_of(past))
    page += "<p class=note>" + svg::escape(each) + "</p>\n";
  page += now_text(reported);
  page += fmt::format("<h2>{} leases ended</h2>\n<p>Blue: TornDown. Orange: Fenced.</p>\n",
                      past.rows.size()) +
          timeline(past);
  page += table_by(
      "ended by", past, [](const auto& row) { return std::string(wire::name(row.cause)); }, 8);
  page += table_by(
      "memory proved by", past, [](const auto& row) { return std::string(wire::name(row.memory)); },
      8);
  page += table_by(
      "tenant", past, [](const auto& row) { return std::to_string(row.tenant); }, 20);
  page += "<h2>How long they were held</h2>\n" + held(past);
  page += "<h2>Every Fenced</h2>\n" + fenced_table(past);
  return page + "</body></html>\n";
}

}  // namespace portcullis::tools::leasectl
