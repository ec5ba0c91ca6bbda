// SPDX-License-Identifier: BSD-3-Clause
#include "pfc/packet/workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "pfc/csv.hpp"

namespace portcullis::pfc::packet {
namespace {

constexpr std::size_t kMostMessages = 10'000'000;
constexpr double kMostBytes = 1e15;
constexpr double kMostStartUs = 9e9;  // as long as a run may be

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(separator, from), text.size());
    parts.push_back(trimmed(text.substr(from, to - from)));
    from = to + 1;
  }
  return parts;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// The same numbers on every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  [[nodiscard]] double part() { return std::ldexp(static_cast<double>(engine_() >> 11), -53); }
  [[nodiscard]] std::size_t below(std::size_t limit) {
    return std::min(static_cast<std::size_t>(part() * static_cast<double>(limit)), limit - 1);
  }
  /// Of mean 1.
  [[nodiscard]] double wait() { return -std::log1p(-part()); }

 private:
  std::mt19937_64 engine_;
};

Result<std::vector<NodeId>> hosts_of(const Topology& topology, std::size_t least) {
  std::vector<NodeId> hosts;
  for (NodeId node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].kind == NodeKind::Host) hosts.push_back(node);
  if (hosts.size() < least)
    return fail(Errc::InvalidArgument,
                fmt::format("{} hosts; {} are needed for these messages", hosts.size(), least));
  return hosts;
}

void shuffle(std::vector<NodeId>& nodes, Random& random) {
  for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random.below(i)]);
}

/// A row of a file of messages.
class RowReader {
 public:
  RowReader(const std::string& file, const TopologyIndex& nodes) : file_(file), nodes_(nodes) {}

  Result<Message> read(const CsvRow& row) const {
    const std::size_t at = row.line;
    std::vector<std::string_view> fields;
    for (const std::string& field : row.fields) fields.push_back(trimmed(field));
    if (fields.size() != 4 && fields.size() != 5)
      return bad(at, "line", fmt::format("{}", fmt::join(fields, ",")),
                 "from,to,bytes,start_us or from,to,bytes,start_us,priority");
    Message message;
    const auto from = nodes_.node(fields[0]);
    const auto to = nodes_.node(fields[1]);
    if (!from) return bad(at, "from", fields[0], "the name of a node");
    if (!to || *to == *from) return bad(at, "to", fields[1], "the name of another node");
    message.from = *from;
    message.to = *to;
    const auto bytes = number(fields[2]);
    if (!bytes || !(*bytes >= 1 && *bytes <= kMostBytes) || *bytes != std::floor(*bytes))
      return bad(at, "bytes", fields[2], "a whole number from 1 to 1e15");
    message.bytes = static_cast<std::uint64_t>(*bytes);
    const auto start = number(fields[3]);
    if (!start || !(*start >= 0 && *start <= kMostStartUs))
      return bad(at, "start_us", fields[3], "a number from 0 to 9e9");
    message.start = static_cast<Picoseconds>(std::llround(*start * 1e6));
    if (fields.size() == 4) return message;
    const auto priority = number(fields[4]);
    if (!priority || !(*priority >= 0 && *priority < kPriorities) ||
        *priority != std::floor(*priority))
      return bad(at, "priority", fields[4], "0 to 7");
    message.priority = static_cast<std::uint32_t>(*priority);
    return message;
  }

 private:
  [[nodiscard]] tl::unexpected<Error> bad(std::size_t line, std::string_view field,
                                          std::string_view value, std::string_view accepted) const {
    return fail(Errc::InvalidArgument, fmt::format("{}:{}: {}: \"{}\"; {} is accepted", file_, line,
                                                   field, value, accepted));
  }

  const std::string& file_;
  const TopologyIndex& nodes_;
};

}  // namespace

Result<SizeDistribution> SizeDistribution::parse(std::string_view text, const std::string& file) {
  SizeDistribution sizes;
  std::size_t at = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++at;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = line.find_first_of(" \t");
    const auto size = number(line.substr(0, blank));
    const auto percent =
        blank == std::string_view::npos ? std::nullopt : number(trimmed(line.substr(blank)));
    const auto before = sizes.points_.empty() ? std::pair(0.0, 0.0) : sizes.points_.back();
    if (!size || !percent || !(*size >= before.first && *size <= kMostBytes) ||
        !(*percent >= before.second && *percent <= 100))
      return fail(Errc::InvalidArgument,
                  fmt::format("{}:{}: \"{}\"; SIZE PERCENT is accepted, neither less than before, "
                              "and percents up to 100",
                              file, at, line));
    sizes.points_.emplace_back(*size, *percent);
  }
  if (sizes.points_.size() < 2 || sizes.points_.back().second != 100 || !(sizes.mean() >= 1))
    return fail(
        Errc::InvalidArgument,
        fmt::format("{}: two lines or more, the last of 100 percent, and a mean of 1 byte or "
                    "more are accepted",
                    file));
  return sizes;
}

SizeDistribution SizeDistribution::web_search() {
  SizeDistribution sizes;
  sizes.points_ = {{0, 0},      {10e3, 15}, {20e3, 20}, {30e3, 30}, {50e3, 40}, {80e3, 53},
                   {200e3, 60}, {1e6, 70},  {2e6, 80},  {5e6, 90},  {10e6, 97}, {30e6, 100}};
  return sizes;
}

SizeDistribution SizeDistribution::storage() {
  SizeDistribution sizes;
  sizes.points_ = {{0, 0},        {4e3, 22.93},   {8e3, 69.21},   {16e3, 80.61}, {32e3, 90.47},
                   {64e3, 93.53}, {128e3, 96.77}, {256e3, 97.53}, {2e6, 100}};
  return sizes;
}

double SizeDistribution::mean() const {
  double sum = points_.front().first * points_.front().second;
  for (std::size_t i = 1; i < points_.size(); ++i)
    sum +=
        (points_[i].first + points_[i - 1].first) / 2 * (points_[i].second - points_[i - 1].second);
  return sum / 100;
}

std::uint64_t SizeDistribution::size(double part) const {
  const double percent = part * 100;
  double size = points_.front().first;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const auto& [low, low_percent] = points_[i - 1];
    const auto& [high, high_percent] = points_[i];
    if (percent < low_percent) break;
    size = percent >= high_percent
               ? high
               : low + (high - low) * (percent - low_percent) / (high_percent - low_percent);
  }
  return static_cast<std::uint64_t>(std::max(1.0, std::round(size)));
}

Result<std::vector<Message>> read_messages(std::string_view text, const std::string& file,
                                           const Topology& topology) {
  const TopologyIndex nodes(topology);
  const RowReader reader(file, nodes);
  std::vector<Message> messages;
  CsvReader rows(text, file);
  CsvRow row;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const bool is_row, rows.next(row));
    if (!is_row) break;
    const bool is_blank = row.fields.size() == 1 && trimmed(row.fields[0]).empty();
    if (is_blank || (row.line == 1 && trimmed(row.fields[0]) == "from")) continue;
    PORTCULLIS_TRY_ASSIGN(const Message message, reader.read(row));
    if (messages.size() == kMostMessages)
      return fail(
          Errc::InvalidArgument,
          fmt::format("{}: more than {} messages; so many are accepted", file, kMostMessages));
    messages.push_back(message);
  }
  if (messages.empty())
    return fail(Errc::InvalidArgument, fmt::format("{}: no message; one or more accepted", file));
  return messages;
}

Result<std::vector<Message>> incast(const Topology& topology, std::uint32_t senders,
                                    std::uint64_t bytes, Picoseconds every, const MadeUp& made) {
  PORTCULLIS_TRY_ASSIGN(std::vector<NodeId> hosts, hosts_of(topology, std::size_t{senders} + 1));
  const double rounds =
      every > 0 ? static_cast<double>(made.until) / static_cast<double>(every) + 1 : 1;
  if (senders == 0 || bytes == 0 || rounds * senders > kMostMessages)
    return fail(Errc::InvalidArgument,
                fmt::format("an incast of {} hosts and {} bytes, {:.0f} times; 1 host, 1 byte or "
                            "more, and {} messages at most are accepted",
                            senders, bytes, rounds, kMostMessages));
  Random random(made.seed);
  std::vector<Message> messages;
  Picoseconds at = 0;
  do {
    shuffle(hosts, random);
    for (std::uint32_t i = 1; i <= senders; ++i)
      messages.push_back({hosts[i], hosts[0], bytes, at, made.priority});
    at += every;
  } while (every > 0 && at < made.until);
  return messages;
}

Result<std::vector<Message>> permutation(const Topology& topology, std::uint64_t bytes,
                                         const MadeUp& made) {
  PORTCULLIS_TRY_ASSIGN(std::vector<NodeId> hosts, hosts_of(topology, 2));
  if (bytes == 0) return fail(Errc::InvalidArgument, "messages of 0 bytes; 1 or more are accepted");
  Random random(made.seed);
  shuffle(hosts, random);
  std::vector<Message> messages;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    messages.push_back({hosts[i], hosts[(i + 1) % hosts.size()], bytes, 0, made.priority});
  return messages;
}

Result<std::vector<Message>> random_messages(const Topology& topology,
                                             const SizeDistribution& sizes, double load,
                                             const MadeUp& made) {
  PORTCULLIS_TRY_ASSIGN(const std::vector<NodeId> hosts, hosts_of(topology, 2));
  if (!(load > 0 && load <= 1))
    return fail(Errc::InvalidArgument,
                fmt::format("a load of {}; above 0 and at most 1 is accepted", load));
  const double bytes_per_ps = topology.units.data_bytes / (topology.units.time_s * 1e12);
  const double mean_bytes = sizes.mean();
  std::vector<Message> messages;
  Random random(made.seed);
  for (const NodeId host : hosts) {
    double capacity = 0;
    for (const Link& link : topology.links)
      if (link.from == host) capacity += link.capacity;
    const double every = mean_bytes / (load * capacity * bytes_per_ps);
    const auto until = static_cast<double>(made.until);
    if (until / every > kMostMessages / static_cast<double>(hosts.size()))
      return fail(Errc::InvalidArgument,
                  fmt::format("{:.3g} messages of {} until the end; {} of all hosts are accepted",
                              until / every, topology.nodes[host].name, kMostMessages));
    for (double at = every * random.wait(); at < until; at += every * random.wait()) {
      const std::size_t other = random.below(hosts.size() - 1);
      const NodeId to = hosts[other] == host ? hosts.back() : hosts[other];
      messages.push_back(
          {host, to, sizes.size(random.part()), static_cast<Picoseconds>(at), made.priority});
    }
  }
  std::ranges::stable_sort(messages, {}, &Message::start);
  return messages;
}

}  // namespace portcullis::pfc::packet
