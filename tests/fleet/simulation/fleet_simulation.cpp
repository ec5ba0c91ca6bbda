// SPDX-License-Identifier: BSD-3-Clause
//
// Histories of a simulated fleet, by seed; docs/fleet.md says what they are.
//
//   fleet_simulation [--histories N] [--seed N] [--print]
//
// Of each of N histories from that seed on it is judged what happened in it. Status 1 at the first
// one in which something did that must not: its seed, and what it was. --print: all of the first.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/revocation.hpp"
#include "tests/fleet/simulation/history.hpp"

namespace {

using portcullis::fleet::Standing;
using portcullis::fleet::simulation::Judge;
using portcullis::fleet::simulation::run_history;

struct Asked {
  std::uint64_t histories = 100;
  std::uint64_t seed = 1;
  bool prints = false;
};

std::optional<Asked> parse(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--print") {
      asked.prints = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    std::string_view text = equals == std::string_view::npos ? "" : word.substr(equals + 1);
    if (equals == std::string_view::npos && i + 1 < argc) text = argv[++i];
    if (name != "--histories" && name != "--seed") return std::nullopt;
    std::uint64_t& number = name == "--seed" ? asked.seed : asked.histories;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  }
  return asked;
}

void print(const std::vector<std::string>& lines) {
  for (const std::string& each : lines) std::puts(each.c_str());
}

std::string text_of(const Judge::Counts& counts) {
  const auto of = [&](Standing standing) {
    return counts.answers.at(static_cast<std::size_t>(standing));
  };
  return fmt::format(
      "{} leases told, {} fences raised; answers of nodes: {} TornDown, {} Fenced, {} Expired, "
      "{} Unreachable; at most {} leases of the tenant with a quota at once",
      counts.granted, counts.raised, of(Standing::TornDown), of(Standing::Fenced),
      of(Standing::Expired), of(Standing::Unreachable), counts.most_of_a_quota);
}

}  // namespace

int main(int argc, char** argv) {
  const auto asked = parse(argc, argv);
  if (!asked) {
    std::fputs("fleet_simulation [--histories N] [--seed N] [--print]\n", stderr);
    return 2;
  }
  const bool has_memory = std::filesystem::is_directory("/dev/shm");
  std::string folder = has_memory ? "/dev/shm/portcullis-XXXXXX" : "/tmp/portcullis-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 2;
  Judge::Counts counts;
  bool is_right = true;
  for (std::uint64_t i = 0; i < asked->histories && is_right; ++i) {
    const auto history = run_history({.seed = asked->seed + i, .folder = folder});
    counts.add(history.counts);
    is_right = history.violations.empty();
    if (asked->prints && i == 0) print(history.said);
    if (is_right) continue;
    const auto by_judge =
        std::count_if(history.violations.begin(), history.violations.end(),
                      [](const std::string& each) { return each.starts_with("not linearizable"); });
    fmt::print("seed {}: violated, by {} rules and {} parts that are not linearizable\n",
               asked->seed + i, std::ssize(history.violations) - by_judge, by_judge);
    print(history.violations);
  }
  std::error_code none;
  std::filesystem::remove_all(folder, none);
  if (is_right)
    fmt::print("{} histories from seed {} on: nothing was violated. {}\n", asked->histories,
               asked->seed, text_of(counts));
  return is_right ? 0 : 1;
}
