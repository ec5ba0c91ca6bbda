// SPDX-License-Identifier: BSD-3-Clause
//
// Dumps that are answered by rules and by exploring all of them, and where the two differ.
#pragma once

#include <string>
#include <vector>

#include "failover/classify/findings.hpp"
#include "tests/failover/second_opinion.hpp"

namespace portcullis::failover::testing::ruled {

using namespace opinion;

inline std::vector<Contract> contracts() {
  std::vector<Contract> all;
  for (const Environment environment :
       {Environment::Quiet, Environment::Reuse, Environment::OtherWriters, Environment::Aba})
    for (const Consumer consumer : {Consumer::Polls, Consumer::Notified})
      for (const bool is_fenced : {false, true})
        for (const bool has_tags : {false, true})
          for (const bool is_nothing_later : {false, true})
            all.push_back({environment, consumer, is_fenced, has_tags, is_nothing_later});
  return all;
}

inline OutstandingRequest at(std::uint64_t address, OutstandingRequest made) {
  made.remote_addr = *made.remote_addr + address;
  return made;
}

/// Where the next request lies: on the same bytes, on the last half of them, or elsewhere.
inline constexpr std::uint64_t kPlaces[] = {0, 4, 1U << 20};

/// One of verbs.h that is not modelled.
inline OutstandingRequest unmodelled(SideEffect effect, const char* name) {
  OutstandingRequest made = request(Opcode::Send, 0);
  made.opcode.reset();
  made.side_effect = effect;
  made.opcode_name = name;
  return made;
}
/// Every opcode that a dump can have, as verbs_names.cpp tells them apart.
inline std::vector<OutstandingRequest> every_opcode() {
  std::vector<OutstandingRequest> all = kinds();
  all.push_back(unmodelled(SideEffect::None, "LOCAL_INV"));
  all.push_back(unmodelled(SideEffect::Message, "SEND_WITH_INV"));
  all.push_back(unmodelled(SideEffect::Any, "DRIVER1"));
  return all;
}

struct Compared {
  unsigned ruled = 0, open = 0;
  std::vector<std::string> differences;
};

inline bool are_alike(const Classification& a, const Classification& b) {
  const auto conditions = [](const Classification& c) {
    std::vector<std::pair<Requirement::Kind, std::vector<std::size_t>>> all;
    for (const Requirement& one : c.conditions) all.emplace_back(one.kind, one.requests);
    return all;
  };
  return a.advice == b.advice && a.one_of == b.one_of && a.reason == b.reason &&
         a.lemma == b.lemma && conditions(a) == conditions(b) && a.explored_with == b.explored_with;
}

inline std::string shown(const Dump& dump) {
  std::string text;
  for (const OutstandingRequest& r : dump) {
    const auto number = [](const auto& value) { return value ? std::to_string(*value) : "?"; };
    text += (r.opcode ? name_of(*r.opcode) : r.opcode_name) + " at " + number(r.remote_addr) + "+" +
            number(r.length) + " rkey " + std::to_string(r.rkey) + " QP " + number(r.qp_num) + " " +
            r.status_name + "; ";
  }
  return text;
}

/// What a rule answers, and the same by exploring the whole dump.
inline void compare(const Dump& dump, Compared& found, Findings* findings = nullptr) {
  const auto ruled = classify_reposts(dump, nullptr, Effort::Rules).value();
  Asked asked{{}, findings};
  for (const Classification& one : ruled) asked.requests.push_back(one.is_by_rule);
  if (std::ranges::none_of(ruled, &Classification::is_by_rule)) {
    ++found.open;
    return;
  }
  const auto explored = classify_reposts(dump, nullptr, Effort::Explore, asked).value();
  for (std::size_t i = 0; i < dump.size(); ++i) {
    found.ruled += ruled[i].is_by_rule ? 1 : 0;
    if (ruled[i].is_by_rule && !are_alike(ruled[i], explored[i]))
      found.differences.push_back(std::to_string(i) + " of " + shown(dump) +
                                  name_of(ruled[i].advice) + ", explored " +
                                  name_of(explored[i].advice));
  }
}

}  // namespace portcullis::failover::testing::ruled
