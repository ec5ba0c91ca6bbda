// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "program/output_file.hpp"

namespace portcullis::bench {
namespace {

/// A file name that no shell has to quote: "floor/plan:seed" is floor.plan-seed.
std::string file_part(std::string_view name) {
  std::string part;
  for (const char c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    const char kept = is_plain ? c : c == '/' ? '.' : '-';
    if (kept != '-' || part.empty() || part.back() != '-') part += kept;
  }
  return part;
}

std::string duration_of(const Histogram& latency, double quantile) {
  return duration_text(static_cast<double>(latency.percentile_ns(quantile)));
}

constexpr std::array<std::pair<const char*, double>, 4> kPercentiles{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}};

/// A single sample is its own median.
bool tells(const Histogram& latency, double quantile) {
  return quantile == 0.5 || latency.tells(quantile);
}

std::string table_line(const Series& series, std::size_t name_width) {
  const Histogram& latency = series.latency;
  std::string line = fmt::format("{:<{}}", series.name, name_width);
  if (latency.is_empty()) return line + "  no samples\n";
  if (series.is_virtual && latency.is_one_value())
    return line + fmt::format(" {:>9}  deterministic, one value; {} runs\n",
                              duration_of(latency, 1), latency.count());
  for (const auto& [name, quantile] : kPercentiles)
    line += fmt::format(" {:>9}", tells(latency, quantile) ? duration_of(latency, quantile) : "-");
  return line + fmt::format(" {:>9} {:>9}\n", duration_of(latency, 1), latency.count());
}

}  // namespace

void set_counters(benchmark::State& state, const Histogram& latency) {
  for (const auto& [name, quantile] : kPercentiles)
    if (tells(latency, quantile))
      state.counters[name] = static_cast<double>(latency.percentile_ns(quantile));
  state.counters["max"] = static_cast<double>(latency.max_ns());
  state.counters["count"] = static_cast<double>(latency.count());
}

Result<void> make_directory(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Errc::System, "--out-dir " + directory + ": " + error.message());
  return {};
}

void Report::add(const Series& series) {
  const auto same = std::find_if(series_.begin(), series_.end(),
                                 [&](const Series& other) { return other.name == series.name; });
  if (same == series_.end())
    series_.push_back(series);
  else
    same->latency.merge(series.latency);
}

std::string Report::table() const {
  if (series_.empty()) return {};
  std::size_t width = 0;
  for (const Series& series : series_) width = std::max(width, series.name.size());
  std::string text = fmt::format("{:<{}} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "series", width,
                                 "p50", "p90", "p99", "p99.9", "max", "samples");
  for (const Series& series : series_) text += table_line(series, width);
  return text;
}

PercentilePlot Report::plot_of(std::string_view picture) const {
  PercentilePlot plot;
  for (const Series& series : series_)
    if (series.picture == picture)
      plot.series.push_back({series.name, series.latency, series.is_virtual});
  plot.references = references_;
  return plot;
}

Result<std::vector<std::string>> Report::write(const std::string& directory,
                                               const std::string& program, const std::string& title,
                                               const std::string& subtitle) const {
  PORTCULLIS_TRY(make_directory(directory));
  const std::filesystem::path folder(directory);
  std::vector<std::string> written;
  std::vector<std::string> pictures;
  Result<void> first_failure;
  const auto write_one = [&](const std::filesystem::path& path, const std::string& text) {
    if (auto done = program::write_output(path.string(), text); done)
      written.push_back(path.string());
    else if (first_failure)
      first_failure = std::move(done);
  };
  for (const Series& series : series_) {
    write_one(folder / (file_part(series.name) + ".hgrm"),
              percentile_text(series.latency, TimeUnit::Us, series.name));
    if (std::find(pictures.begin(), pictures.end(), series.picture) == pictures.end())
      pictures.push_back(series.picture);
  }
  for (const std::string& picture : pictures) {
    PercentilePlot plot = plot_of(picture);
    plot.title = picture.empty() ? title : title + ", " + picture;
    plot.subtitle = subtitle;
    const std::string part = picture.empty() ? "" : "." + file_part(picture);
    write_one(folder / fmt::format("{}{}.svg", program, part), percentile_svg(plot));
  }
  PORTCULLIS_TRY(first_failure);
  return written;
}

}  // namespace portcullis::bench
