// SPDX-License-Identifier: BSD-3-Clause
#include "tools/first_light/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/svg_parts.hpp"
#include "light/command_times.hpp"
#include "light/conclusions.hpp"
#include "light/replay.hpp"
#include "tools/first_light/report.hpp"

namespace portcullis::tools::first_light {
namespace {

constexpr std::string_view kStyle =
    "body{font:15px sans-serif;max-width:1040px;margin:2em auto;padding:0 1em;color:#111}"
    "table{border-collapse:collapse;margin:.5em 0;width:100%}"
    "td,th{padding:.3em .7em;border-bottom:1px solid #ccc;text-align:left;vertical-align:top;"
    "overflow-wrap:anywhere}"
    "pre{overflow-x:auto;font-size:13px}svg{max-width:100%;height:auto}"
    ".confirmed{color:#0a6b2d}.refuted{color:#a40000;font-weight:bold}.undecided{color:#8a5a00}"
    ".why{color:#555;font-size:14px}";

std::string css_class(light::Answer answer) {
  return answer == light::Answer::NotRun ? "notrun" : std::string(light::name(answer));
}

std::string conclusions_table(const light::Facts& facts) {
  std::string text = "<table><tr><th>answer<th>hypothesis<th>page</tr>\n";
  for (const light::Conclusion& each : light::conclude(facts))
    text += fmt::format("<tr><td class={}>{}<td><b>{}</b> {}<div class=why>{}</div><td>{}</tr>\n",
                        css_class(each.answer), light::name(each.answer), svg::escape(each.id),
                        svg::escape(each.sentence), svg::escape(each.why), svg::escape(each.where));
  return text + "</table>\n";
}

std::string steps_table(const light::Facts& facts) {
  std::string text = "<table><tr><th>step<th>state<th>took<th>why</tr>\n";
  for (const light::StepFact& each : facts.steps)
    text += fmt::format("<tr><td>{}<td>{}<td>{:.1f} s<td>{}</tr>\n", svg::escape(each.name),
                        svg::escape(each.state), static_cast<double>(each.took_ms) / 1e3,
                        svg::escape(each.why));
  return text + "</table>\n";
}

/// From the least to the most round trip of each command, the median marked, on a scale of decades.
std::string commands_svg(const std::vector<light::CommandFact>& all) {
  constexpr double kLeft = 250;
  constexpr double kWidth = 1000;
  constexpr double kRow = 20;
  constexpr double kTop = 30;
  std::vector<const light::CommandFact*> shown;
  double most = 10;
  for (const light::CommandFact& each : all)
    if (each.answered != 0 && light::is_timed(each.command)) {
      shown.push_back(&each);
      most = std::max(most, static_cast<double>(each.most_ns));
    }
  const double decades = std::ceil(std::log10(most));
  const auto x_of = [&](double ns) {
    return kLeft + (kWidth - kLeft - 40) * std::log10(std::max(ns, 1.0)) / decades;
  };
  const double height = kTop + kRow * static_cast<double>(shown.size()) + 10;
  std::string text = svg::open(
      {.width = kWidth, .height = height, .title = "round trips of commands, least to most"});
  for (int decade = 0; decade <= static_cast<int>(decades); decade += 1) {
    const double x = x_of(std::pow(10.0, decade));
    text += svg::line(x, kTop, x, height - 8, R"(stroke="#ddd")");
    constexpr std::array<const char*, 4> kUnits{"ns", "us", "ms", "s"};
    const auto unit = std::min<std::size_t>(static_cast<std::size_t>(decade) / 3, 3);
    text +=
        svg::text(x, kTop - 8, R"(text-anchor="middle")",
                  fmt::format("{:.0f} {}", std::pow(10.0, decade - 3.0 * static_cast<double>(unit)),
                              kUnits[unit]));
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const light::CommandFact& each = *shown[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    const double from = x_of(static_cast<double>(each.least_ns));
    const double to = x_of(static_cast<double>(each.most_ns));
    text += svg::text(kLeft - 10, y + 4, R"(text-anchor="end")", each.command);
    text += svg::line(from, y, std::max(to, from + 2), y,
                      fmt::format(R"(stroke="{}" stroke-width="5")", svg::kColours[0]));
    text += svg::circle(x_of(static_cast<double>(each.median_ns)), y, 5, R"(fill="#111")");
  }
  return text + "</svg>\n";
}

}  // namespace

std::string page_of(const light::Facts& facts) {
  std::string page = fmt::format(
      "<!doctype html><html lang=en><meta charset=utf-8>"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\"><title>first "
      "light</title>"
      "<style>{}</style>\n<h1>First light</h1>\n<p>{}</p>\n",
      kStyle, svg::escape(device_line(facts.device)));
  page += "<h2>Conclusions</h2>\n" + conclusions_table(facts);
  for (const std::string& each : light::assumed_by_model(facts))
    page += "<p>Assumed: " + svg::escape(each) + ".</p>\n";
  page += "<h2>Steps</h2>\n" + steps_table(facts);
  if (!facts.commands.empty())
    page +=
        "<h2>Commands</h2>\n<p>Each from its least to its most, the dot is the median; of the "
        "device's clock.</p>\n" +
        commands_svg(facts.commands);
  page += "<h2>Figures</h2>\n<pre>" + svg::escape(figures_text(facts)) + "</pre>\n";
  return page + "</html>\n";
}

}  // namespace portcullis::tools::first_light
