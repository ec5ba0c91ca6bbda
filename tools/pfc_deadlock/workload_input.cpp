// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/workload_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "tools/pfc_deadlock/input.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

namespace packet = pfc::packet;

constexpr double kPicosecondsPerUs = 1e6;
constexpr double kMostCount = 1e9;
constexpr double kMostBytes = 1e15;
constexpr double kMostUs = 9e9;

tl::unexpected<Error> bad(const std::string& spec) {
  return fail(Errc::InvalidArgument,
              fmt::format("--workload \"{}\": FILE.csv, incast:SENDERS,BYTES,EVERY_US, "
                          "permutation:BYTES, web-search:LOAD, storage:LOAD or cdf:FILE,LOAD is "
                          "accepted",
                          spec));
}

/// Up to `most`; nothing where the text is none.
std::optional<double> number(std::string_view text, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || !(value >= 0 && value <= most)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

Result<std::vector<packet::Message>> incast_of(const std::string& spec, std::string_view rest,
                                               const pfc::Topology& topology,
                                               const packet::MadeUp& made) {
  const auto parts = split(rest);
  if (parts.size() != 2 && parts.size() != 3) return bad(spec);
  const auto senders = number(parts[0], kMostCount);
  const auto bytes = number(parts[1], kMostBytes);
  const auto every = parts.size() == 3 ? number(parts[2], kMostUs) : std::optional(0.0);
  if (!senders || !bytes || !every || *senders != std::floor(*senders) ||
      *bytes != std::floor(*bytes))
    return bad(spec);
  return packet::incast(topology, static_cast<std::uint32_t>(*senders),
                        static_cast<std::uint64_t>(*bytes),
                        static_cast<packet::Picoseconds>(*every * kPicosecondsPerUs), made);
}

}  // namespace

std::string workload_file(const std::string& spec) {
  constexpr std::string_view kDistribution = "cdf:";
  if (!spec.starts_with(kDistribution)) return spec.ends_with(".csv") ? spec : "";
  return spec.substr(kDistribution.size(), spec.rfind(',') - kDistribution.size());
}

Result<std::vector<packet::Message>> workload_of(const std::string& spec,
                                                 const pfc::Topology& topology,
                                                 const packet::MadeUp& made) {
  if (!spec.starts_with("cdf:") && !workload_file(spec).empty()) {
    PORTCULLIS_TRY_ASSIGN(const std::string text, read_file(spec));
    return packet::read_messages(text, spec, topology);
  }
  const std::size_t colon = spec.find(':');
  if (colon == std::string::npos) return bad(spec);
  const std::string_view kind = std::string_view(spec).substr(0, colon);
  const std::string_view rest = std::string_view(spec).substr(colon + 1);
  if (kind == "incast") return incast_of(spec, rest, topology, made);
  if (kind == "permutation") {
    const auto bytes = number(rest, kMostBytes);
    if (!bytes || *bytes != std::floor(*bytes)) return bad(spec);
    return packet::permutation(topology, static_cast<std::uint64_t>(*bytes), made);
  }
  if (kind == "cdf") {
    const std::size_t comma = rest.rfind(',');
    const auto load =
        comma == std::string_view::npos ? std::nullopt : number(rest.substr(comma + 1), kMostCount);
    if (!load) return bad(spec);
    const std::string file = workload_file(spec);
    PORTCULLIS_TRY_ASSIGN(const std::string text, read_file(file));
    PORTCULLIS_TRY_ASSIGN(const auto sizes, packet::SizeDistribution::parse(text, file));
    return packet::random_messages(topology, sizes, *load, made);
  }
  const auto load = number(rest, kMostCount);
  if (!load || (kind != "web-search" && kind != "storage")) return bad(spec);
  return packet::random_messages(topology,
                                 kind == "storage" ? packet::SizeDistribution::storage()
                                                   : packet::SizeDistribution::web_search(),
                                 *load, made);
}

}  // namespace portcullis::tools::pfc_deadlock
