// SPDX-License-Identifier: BSD-3-Clause
//
// Dumps and protocols that anybody wrote. A text is refused in one line that names it, or: of a
// dump every request gets advice, and what a rule says of a few requests the explorer finds too; a
// protocol compiles or is refused, can be explored, and means the same once it was written and read
// again. libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs the corpus once.
//
// An input is the text of either; which it is its own fields say.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "failover/explore/explorer.hpp"
#include "failover/protocols/text.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::failover;

constexpr std::size_t kMostExplored = 2;  // requests: some milliseconds
constexpr std::uint64_t kMostStates = 500;

void require(bool held) {
  if (!held) std::abort();
}

bool is_one_line_about(std::string_view text, std::string_view file) {
  return text.starts_with(file) && text.find('\n') == std::string_view::npos;
}

void check_dump(const std::vector<OutstandingRequest>& dump) {
  const auto ruled = classify(dump, nullptr, Effort::Rules);
  require(ruled && ruled->size() == dump.size());
  for (const Classification& one : *ruled)
    require(one.advice != Advice::NoAdvice || !one.reason.empty());
  if (dump.size() > kMostExplored) return;
  const auto explored = classify(dump);
  if (!explored) return;  // evidence that no run leads to
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const Classification& rule = (*ruled)[i];
    const Classification& found = (*explored)[i];
    require(rule.buffer.answer == found.buffer.answer);
    require(rule.buffer.one_of == found.buffer.one_of);
    if (!rule.is_by_rule) continue;
    require(rule.advice == found.advice && rule.one_of == found.one_of);
  }
}

std::pair<std::uint64_t, std::uint64_t> counts_of(const Scenario& scenario) {
  const auto machine = compile(scenario);
  if (!machine) return {};
  ExploreOptions options;
  options.state_limit = kMostStates;
  const auto explored = explore(*machine, options);
  require(explored.has_value());
  return {explored->states, explored->transitions};
}

void check_protocol(const ProtocolText& protocol) {
  require(!protocol.environments.empty());
  const auto again = read_protocol(write_protocol(protocol), "again");
  require(again && again->environments.size() == protocol.environments.size());
  const auto counts = counts_of(protocol.environments.front().scenario);
  require(counts == counts_of(again->environments.front().scenario));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto dump = read_dump(text, "dump");
  require(dump || is_one_line_about(dump.error().text, "dump"));
  if (dump) check_dump(*dump);
  const auto protocol = read_protocol(text, "protocol");
  require(protocol || is_one_line_about(protocol.error().text, "protocol"));
  if (protocol) check_protocol(*protocol);
  return 0;
}
