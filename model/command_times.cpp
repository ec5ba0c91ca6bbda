// SPDX-License-Identifier: BSD-3-Clause
#include "model/command_times.hpp"

#include <algorithm>
#include <utility>

#include "prm/numbers.hpp"

namespace portcullis::model {
namespace {

/// Apart from the draws of whoever else has the model's seed.
constexpr std::uint64_t kOfCommands = 0x636f6d6d616e6473;

std::uint64_t middle_of(const trace::CommandTimes& one, const Histogram::Bin& bin) {
  const std::uint64_t first = std::max(bin.first_ns, one.least_ns);
  return first + (std::min(bin.last_ns, one.most_ns) - first) / 2;
}

std::uint64_t median_of(const trace::CommandTimes& one) {
  std::uint64_t all = 0;
  for (const Histogram::Bin& bin : one.times) all += bin.count;
  std::uint64_t seen = 0;
  for (const Histogram::Bin& bin : one.times) {
    seen += bin.count;
    if (2 * seen >= all) return middle_of(one, bin);
  }
  return one.most_ns;
}

}  // namespace

CommandTimes::CommandTimes(const Timing& timing,
                           std::shared_ptr<const trace::DeviceProfile> profile, std::uint64_t seed)
    : timing_(timing), profile_(std::move(profile)), random_(seed ^ kOfCommands) {
  if (!profile_) return;
  assumed_ns_ = assumed_ns(*profile_);
  for (const trace::CommandTimes& one : profile_->commands) {
    Known known{.times = &one, .up_to = {}};
    std::uint64_t seen = 0;
    for (const Histogram::Bin& bin : one.times) known.up_to.push_back(seen += bin.count);
    known_.emplace(one.opcode, std::move(known));
  }
}

std::uint64_t CommandTimes::assumed_ns(const trace::DeviceProfile& profile) {
  std::vector<std::uint64_t> medians;
  for (const trace::CommandTimes& one : profile.commands) medians.push_back(median_of(one));
  if (medians.empty()) return 0;
  const auto middle = medians.begin() + static_cast<std::ptrdiff_t>(medians.size() / 2);
  std::ranges::nth_element(medians, middle);
  return *middle;
}

CommandSpan CommandTimes::draw(prm::Opcode opcode) {
  if (!profile_) {
    const std::uint64_t ns = timing_.command_ns(opcode);
    return {ns, ns};
  }
  const auto known = known_.find(prm::number(opcode));
  if (known == known_.end()) return {assumed_ns_, assumed_ns_};
  const auto& [times, up_to] = known->second;
  // The modulo's bias is beyond 1 in 2^16: sums stay below 2^48.
  const std::uint64_t sample = random_.next() % up_to.back();
  const auto place = std::ranges::upper_bound(up_to, sample) - up_to.begin();
  const Histogram::Bin& bin = times->times[static_cast<std::size_t>(place)];
  const std::uint64_t first = std::max(bin.first_ns, times->least_ns);
  const std::uint64_t last = std::min(bin.last_ns, times->most_ns);
  return {times->least_ns, first + random_.next() % (last - first + 1)};
}

}  // namespace portcullis::model
