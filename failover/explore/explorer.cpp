// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/explorer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "failover/explore/engine.hpp"

namespace portcullis::failover {

namespace {

/// A condition that holds of a word for one client and not for another.
bool asks_for_a_client(const Machine& machine) {
  const std::vector<Step>& first = machine.clients.front().steps;
  for (const ClientProgram& client : machine.clients)
    for (std::size_t at = 0; at < first.size(); ++at)
      if (client.steps[at].accepts.words != first[at].accepts.words) return true;
  return false;
}

/// A tag that a sum came to, and that the other clients have no like of.
bool has_lone_tag(const Machine& machine) {
  for (std::size_t index = 0; index < machine.words.size(); ++index)
    for (unsigned client = 0; client < machine.scenario.clients; ++client) {
      const Word like = tag_of(client, static_cast<unsigned>(machine.words[index] & 0xffffffffU));
      if (machine.owner[index] != kNobody &&
          std::find(machine.words.begin(), machine.words.end(), like) == machine.words.end())
        return true;
    }
  return false;
}

/// A word of the text that is one client's tag: then clients are not alike.
bool names_a_client(const Machine& machine) {
  // Where no request makes tags no word is renamed, and the one that a condition asks for is said.
  if (!machine.has_tags) return asks_for_a_client(machine);
  if (has_lone_tag(machine)) return true;
  const Scenario& s = machine.scenario;
  std::vector<Word> said = {s.initial_shared};
  for (const WorkRequest& request : s.work_requests)
    for (const Operand* operand : {&request.operand, &request.compare})
      if (operand->source == Operand::Source::Constant) said.push_back(operand->word);
  for (const EnvironmentStep& step : s.environment) {
    said.push_back(step.becomes);
    said.push_back(step.when.value_or(0));
  }
  for (const ReceiverStep& step : s.receiver) said.push_back(step.word);
  for (const Instruction& i : s.program)
    if (i.condition.kind == Condition::Kind::Equals) said.push_back(i.condition.word);
  for (std::size_t index = 0; index < machine.words.size(); ++index)
    if (machine.owner[index] != kNobody &&
        std::find(said.begin(), said.end(), machine.words[index]) != said.end())
      return true;
  return false;
}

/// In the view of one of the two, where there is one.
Exploration explored(const Machine& machine, const Collapse* collapse, Parts* parts,
                     const ExploreOptions& options) {
  const Machine& view = parts != nullptr      ? parts->view()
                        : collapse != nullptr ? collapse->view()
                                              : machine;
  switch (view.state_words) {
    case 1:
      return Engine<1>(machine, collapse, parts, options).run();
    case 2:
      return Engine<2>(machine, collapse, parts, options).run();
    case 3:
      return Engine<3>(machine, collapse, parts, options).run();
    case 4:
      return Engine<4>(machine, collapse, parts, options).run();
    case 5:
      return Engine<5>(machine, collapse, parts, options).run();
    case 6:
      return Engine<6>(machine, collapse, parts, options).run();
    case 7:
      return Engine<7>(machine, collapse, parts, options).run();
    default:
      return Engine<8>(machine, collapse, parts, options).run();
  }
}

}  // namespace

Result<Exploration> explore(const Machine& machine, const ExploreOptions& options) {
  if (options.threads < 1 || options.threads > 16)
    return fail(Errc::InvalidArgument,
                fmt::format("threads is {}, accepted are 1 to 16", options.threads));
  if (options.uses_symmetry && machine.scenario.has_history)
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: symmetry with a history is not supported, accepted is one "
                            "of them",
                            machine.scenario.name));
  if (options.uses_symmetry && names_a_client(machine))
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: symmetry with a word that is one client's tag is not "
                            "supported, accepted is {{\"own_tag\": N}} in its place",
                            machine.scenario.name));
  try {
    const std::unique_ptr<const Collapse> collapse =
        options.collapses ? Collapse::of(machine) : nullptr;
    if (collapse != nullptr || !options.collapses || options.uses_symmetry)
      return explored(machine, collapse.get(), nullptr, options);
    const std::unique_ptr<Parts> parts = Parts::of(machine, true, options.part_bits);
    bool has_parts = parts != nullptr;
    while (has_parts) {
      Exploration result = explored(machine, nullptr, parts.get(), options);
      if (!parts->is_overfull()) return result;
      has_parts = parts->widen();
    }
    return explored(machine, nullptr, nullptr, options);
  } catch (const std::bad_alloc&) {
    return fail(Errc::OutOfResources,
                fmt::format("model {}: the kernel gives no more memory", machine.scenario.name));
  }
}

std::uint64_t machine_memory_left() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string name; meminfo >> name;) {
    if (name != "MemAvailable:") continue;
    std::uint64_t kib = 0;
    meminfo >> kib;
    return kib * 1024;
  }
  return 0;
}

double omission_bound(const Exploration& explored) noexcept {
  if (explored.is_exact) return 0;
  const auto n = static_cast<double>(explored.states);
  return n * (n - 1) / 2 / 18446744073709551616.0;
}

}  // namespace portcullis::failover
