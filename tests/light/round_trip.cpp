// SPDX-License-Identifier: BSD-3-Clause
#include "tests/light/round_trip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>
#include <variant>

#include "light/replay.hpp"
#include "light/steps.hpp"
#include "tests/light/agreement.hpp"
#include "tests/light/quick_run.hpp"

namespace portcullis::light::testing {

Asked ask(Options options) {
  trace::ProfileBuilder commands;
  options.on_command = [&commands](const auto& command) { commands.add(command); };
  Facts facts = run(options);
  trace::DeviceProfile profile = profile_of(facts, commands);
  return {std::move(facts), std::move(profile)};
}

Asked ask_again(const trace::DeviceProfile& profile, std::uint64_t seed, const std::string& steps) {
  Options options = little_of("model", steps);
  auto& model = std::get<model::Options>(options.device.kind);
  auto read = trace::profile_from_json(trace::to_json(profile), "profile.json");
  EXPECT_TRUE(read) << read.error().text;
  EXPECT_TRUE(model::adopt(model, std::move(read).value(), "profile.json"));
  model.seed = seed;
  return ask(options);
}

RoundTripped round_trip(std::uint32_t seed) {
  const std::vector<std::string> switches{"a1-off=20us",
                                          "a2-off",
                                          "a6-off",
                                          "read-untracked",
                                          "rdma-rx-in-path",
                                          "dst-qp-inert",
                                          "no-bth-opcode",
                                          "nic-rx-bypassed-for-roce",
                                          "page-starved",
                                          "reuse-numbers",
                                          "bth-opcode-not-parsed",
                                          "hot-qp-ignores-new-rules",
                                          "no-occupied-index",
                                          "rdma-rx-refused",
                                          "rdma-rx-silent-null",
                                          "dispatch-cache=500",
                                          "retx-total=900",
                                          "min-ack-timeout=14",
                                          "mkc-qpn=refused",
                                          "mkc-qpn=unchecked",
                                          "loopback=refused",
                                          "loopback=needs-link",
                                          "pmtu=2000",
                                          "relaxed-ordering",
                                          "strict-pci-ordering"};
  std::mt19937 chance(seed);
  std::vector<std::string> chosen;
  std::ranges::sample(switches, std::back_inserter(chosen),
                      1 + static_cast<std::ptrdiff_t>(chance() % 6), chance);
  const std::vector<std::string> devices{"model", "model,timing=cx5-16.35.4506", "model,vf",
                                         "model,port=ib"};
  std::string device = devices[chance() % devices.size()] + ",seed=" + std::to_string(seed) +
                       ",behaviour=data-path-ns=20000";
  for (const std::string& each : chosen) device += "+" + each;
  const Asked first = ask(little_of(device));
  const Asked second = ask_again(first.profile, seed + 1000);
  RoundTripped both{device, disagreements(first.facts, second.facts)};
  if (first.profile.behaviours != second.profile.behaviours)
    both.differences.emplace_back("behaviours of the profiles");
  return both;
}

}  // namespace portcullis::light::testing
