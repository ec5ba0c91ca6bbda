// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/frame_faults.hpp"

#include <algorithm>
#include <limits>

#include "model/behaviours.hpp"
#include "model/transport/frame.hpp"

namespace portcullis::model {
namespace {

bool matches(const FrameFaultRule& rule, std::span<const std::byte> frame, PortType port_type) {
  if (!rule.bth_opcode && !rule.dest_qpn) return true;
  const auto label = peek(frame, port_type);
  if (!label) return false;
  return (!rule.bth_opcode || *rule.bth_opcode == label->opcode) &&
         (!rule.dest_qpn || *rule.dest_qpn == label->dest_qpn);
}

}  // namespace

std::vector<FrameFaultRule> frame_faults(const Behaviours& behaviours) {
  using Kind = FrameFaultRule::Kind;
  std::vector<FrameFaultRule> rules;
  const auto add = [&rules](Kind kind, std::optional<double> probability, std::uint64_t delay_ns) {
    if (!probability) return;
    FrameFaultRule rule{.kind = kind, .delay_ns = delay_ns, .repeat = true};
    rule.probability = *probability;
    rules.push_back(rule);
  };
  add(Kind::Drop, behaviours.loss, 0);
  add(Kind::Duplicate, behaviours.duplicate, 0);
  add(Kind::Reorder, behaviours.reorder, 0);
  add(Kind::FlipBit, behaviours.corrupt, 0);
  if (behaviours.delay_ns) add(Kind::Jitter, 1, *behaviours.delay_ns);
  return rules;
}

void FrameFaults::add(const FrameFaultRule& rule) {
  rules_.push_back(rule);
  rules_.back().nth = std::max(rule.nth, 1U);  // 1 is the next, and so is 0
}

bool FrameFaults::meets(FrameFaultRule& rule, std::span<const std::byte> frame,
                        PortType port_type) {
  if (!matches(rule, frame, port_type)) return false;
  if (rule.nth > 1) {
    --rule.nth;
    return false;
  }
  if (rule.probability < 1 && !random_.chance(rule.probability)) return false;
  if (!rule.repeat) rule.nth = 0;  // spent
  return true;
}

void FrameFaults::apply(const FrameFaultRule& rule, std::size_t frame_bytes, FrameFate& fate) {
  constexpr std::uint64_t kMostDelayNs = std::numeric_limits<std::uint32_t>::max();
  switch (rule.kind) {
    case FrameFaultRule::Kind::Drop:
      fate.drop = true;
      break;
    case FrameFaultRule::Kind::Duplicate:
      fate.duplicate = true;
      break;
    case FrameFaultRule::Kind::Delay:
      fate.delay_ns += rule.delay_ns;
      break;
    case FrameFaultRule::Kind::CorruptIcrc:
      fate.corrupt_icrc = true;
      break;
    case FrameFaultRule::Kind::FlipBit:
      fate.flip_bit = random_.below(static_cast<std::uint32_t>(frame_bytes * 8));
      break;
    case FrameFaultRule::Kind::Reorder:
      fate.overtaken_by = 1 + random_.below(kMostOvertaking);
      break;
    case FrameFaultRule::Kind::Jitter:
      fate.delay_ns +=
          random_.below(static_cast<std::uint32_t>(std::min(rule.delay_ns, kMostDelayNs - 1)) + 1);
      break;
  }
}

FrameFate FrameFaults::judge(std::span<const std::byte> frame, PortType port_type) {
  FrameFate fate;
  bool spent = false;
  for (FrameFaultRule& rule : rules_) {
    if (!meets(rule, frame, port_type)) continue;
    apply(rule, frame.size(), fate);
    spent |= rule.nth == 0;
  }
  if (spent) std::erase_if(rules_, [](const FrameFaultRule& rule) { return rule.nth == 0; });
  return fate;
}

}  // namespace portcullis::model
