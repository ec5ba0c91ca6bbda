// SPDX-License-Identifier: BSD-3-Clause
#include "bench/service/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/common/report.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::bench {
namespace {

struct Quantile {
  const char* name;
  double share;
};
constexpr std::array kQuantiles{Quantile{"p50", 0.5}, Quantile{"p90", 0.9}, Quantile{"p99", 0.99},
                                Quantile{"p999", 0.999}};

std::string value_text(std::optional<std::uint64_t> value_ns) {
  return value_ns ? duration_text(static_cast<double>(*value_ns)) : "-";
}

const char* word_of(const std::optional<bool>& is_met) noexcept {
  if (!is_met) return "not judged";
  return *is_met ? "met" : "missed";
}

}  // namespace

std::optional<std::uint64_t> percentile_ns(const Histogram& latency, double quantile) {
  constexpr double kRounding = 1e-6;
  if (static_cast<double>(latency.count()) * (1 - quantile) < 1 - kRounding) return std::nullopt;
  return latency.percentile_ns(quantile);
}

void Figures::add(const std::string& name, const Histogram& latency) {
  series_.push_back({name, latency});
}

void Figures::add(Verdict verdict) { verdicts_.push_back(std::move(verdict)); }

std::string Figures::text() const {
  constexpr std::string_view kHead = "series";
  std::size_t longest = kHead.size();
  for (const Series& each : series_) longest = std::max(longest, each.name.size());
  std::string text = fmt::format("{:<{}}", kHead, longest);
  for (const Quantile& each : kQuantiles) text += fmt::format("{:>10}", each.name);
  text += fmt::format("{:>10}{:>9}\n", "max", "count");
  for (const Series& each : series_) {
    text += fmt::format("{:<{}}", each.name, longest);
    for (const Quantile& quantile : kQuantiles)
      text += fmt::format("{:>10}", value_text(percentile_ns(each.latency, quantile.share)));
    text += fmt::format("{:>10}{:>9}\n", value_text(each.latency.max_ns()), each.latency.count());
  }
  text += '\n';
  for (const Verdict& each : verdicts_)
    text +=
        fmt::format("{}: {}; {}: {}\n", each.name, each.found, each.target, word_of(each.is_met));
  for (const std::string& each : losses_) text += "LOST: " + each + '\n';
  return text;
}

std::string Figures::json(const Context& context) const {
  nlohmann::ordered_json whole;
  for (const auto& [key, value] : context) whole["context"][key] = value;
  whole["benchmarks"] = nlohmann::ordered_json::array();
  for (const Series& each : series_) {
    nlohmann::ordered_json entry{{"name", each.name}, {"run_type", "iteration"}};
    for (const Quantile& quantile : kQuantiles)
      if (const auto value = percentile_ns(each.latency, quantile.share))
        entry[quantile.name] = *value;
    entry["max"] = each.latency.max_ns();
    entry["count"] = each.latency.count();
    whole["benchmarks"].push_back(std::move(entry));
  }
  whole["verdicts"] = nlohmann::ordered_json::array();
  for (const Verdict& each : verdicts_) {
    nlohmann::ordered_json entry{{"name", each.name},
                                 {"found", each.found},
                                 {"target", each.target},
                                 {"verdict", word_of(each.is_met)}};
    if (each.value) entry["value"] = *each.value;
    whole["verdicts"].push_back(std::move(entry));
  }
  whole["lost"] = losses_;
  return whole.dump(2) + '\n';
}

Result<std::string> Figures::write(const std::string& directory, const Context& context) const {
  PORTCULLIS_TRY(make_directory(directory));
  std::string path = directory + "/service_bench.json";
  // No link, and no file of somebody else's.
  PORTCULLIS_TRY_ASSIGN(std::FILE * file, trace::open_recording_stream("--out-dir", path));
  const std::string text = json(context);
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !is_whole)
    return fail(Errc::System, path + ": the file is not whole: is the disk full?");
  return path;
}

}  // namespace portcullis::bench
