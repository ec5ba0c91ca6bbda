// SPDX-License-Identifier: BSD-3-Clause
#include "failover/semantics/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "failover/semantics/layout.hpp"
#include "failover/semantics/validate.hpp"

namespace portcullis::failover {
namespace {

/// The words that can occur, in a fixed order: what memory holds first is number 0.
class Domain {
 public:
  [[nodiscard]] bool add(Word word) {
    if (std::find(words_.begin(), words_.end(), word) != words_.end()) return true;
    words_.push_back(word);
    return words_.size() <= kMaxWords;
  }
  /// `otherwise`, of a word that cannot occur.
  [[nodiscard]] WordIndex index(Word word, WordIndex otherwise = 0) const {
    const auto found = std::find(words_.begin(), words_.end(), word);
    return found == words_.end() ? otherwise : static_cast<WordIndex>(found - words_.begin());
  }
  [[nodiscard]] const std::vector<Word>& words() const { return words_; }

 private:
  std::vector<Word> words_;
};

Word resolve(const Operand& operand, unsigned client, Word content) {
  switch (operand.source) {
    case Operand::Source::Constant:
      return operand.word;
    case Operand::Source::OwnTag:
      return tag_of(client, static_cast<unsigned>(operand.word));
    case Operand::Source::Register:
      return content;
    case Operand::Source::Sequence:
      return content & 0xffffffffU;
  }
  return 0;
}

bool reads_register(const Operand& operand) {
  return operand.source == Operand::Source::Register || operand.source == Operand::Source::Sequence;
}

bool needs_content(const WorkRequest& request) {
  return request.address.space == Address::Space::OwnerSlot || reads_register(request.operand) ||
         (request.opcode == Opcode::CompareSwap && reads_register(request.compare));
}

Operation operation_of(const WorkRequest& request, unsigned client, Word content) {
  return {request.opcode, resolve(request.operand, client, content),
          resolve(request.compare, client, content)};
}

bool add_constants(const Scenario& scenario, Domain& domain) {
  bool fits = domain.add(scenario.initial_shared) && domain.add(0);
  for (unsigned client = 0; client < scenario.clients; ++client) {
    for (const WorkRequest& request : scenario.work_requests) {
      for (const Operand* operand : {&request.operand, &request.compare}) {
        const bool is_written = request.opcode != Opcode::FetchAdd;
        if (operand->source == Operand::Source::OwnTag) {
          fits = fits && domain.add(resolve(*operand, client, 0));
          fits = fits && domain.add(operand->word);  // its sequence, for slots
        } else if (is_written && operand->source == Operand::Source::Constant) {
          fits = fits && domain.add(operand->word);
        }
      }
      if (request.log_cell) fits = fits && domain.add(1);
    }
  }
  for (const EnvironmentStep& step : scenario.environment)
    fits = fits && domain.add(step.becomes) && domain.add(step.when.value_or(0));
  for (const ReceiverStep& step : scenario.receiver) fits = fits && domain.add(step.word);
  for (const Instruction& instruction : scenario.program)
    if (instruction.condition.kind == Condition::Kind::Equals)
      fits = fits && domain.add(instruction.condition.word);
  return fits;
}

/// What the FADDs may add: an operand from the register is any word that there is.
std::vector<Word> addends_of(const Scenario& scenario, const std::vector<Word>& words) {
  std::vector<Word> addends;
  for (const WorkRequest& request : scenario.work_requests) {
    if (request.opcode != Opcode::FetchAdd) continue;
    for (unsigned client = 0; client < scenario.clients; ++client)
      for (const Word content : reads_register(request.operand) ? words : std::vector<Word>{0})
        addends.push_back(resolve(request.operand, client, content));
  }
  return addends;
}
/// The sequences of all words, where an operand is one.
bool add_sequences(const Scenario& scenario, Domain& domain) {
  const auto is_sequence = [](const WorkRequest& request) {
    return request.operand.source == Operand::Source::Sequence;
  };
  if (std::none_of(scenario.work_requests.begin(), scenario.work_requests.end(), is_sequence))
    return true;
  const std::vector<Word> before = domain.words();
  return std::all_of(before.begin(), before.end(),
                     [&](Word word) { return domain.add(word & 0xffffffffU); });
}

/// What requests make of these words: sums of at most as many addends as there are FADDs to
/// execute, and sequences.
bool add_results(const Scenario& scenario, Domain& domain) {
  const auto is_sum = [](const WorkRequest& request) { return request.opcode == Opcode::FetchAdd; };
  const auto sums =
      std::count_if(scenario.work_requests.begin(), scenario.work_requests.end(), is_sum);
  const std::size_t rounds = static_cast<std::size_t>(sums) * scenario.clients;
  if (!add_sequences(scenario, domain)) return false;
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::vector<Word> before = domain.words();
    const std::vector<Word> addends = addends_of(scenario, before);
    for (const Word word : before)
      for (const Word addend : addends)
        if (!domain.add(execute({Opcode::FetchAdd, addend, 0}, word).memory)) return false;
    if (!add_sequences(scenario, domain)) return false;
    if (domain.words().size() == before.size()) break;
  }
  return true;
}

/// No run adds more often than the domain has sums for. An estimate that lets clients and memory
/// combine freely does (explore/pairs.hpp): there the memory stays as it is.
std::vector<WordIndex> table_of(const WorkRequest& request, unsigned client, const Domain& domain) {
  const std::vector<Word>& words = domain.words();
  const std::size_t contents = needs_content(request) ? words.size() : 1;
  std::vector<WordIndex> table(contents * words.size());
  for (std::size_t content = 0; content < contents; ++content)
    for (std::size_t memory = 0; memory < words.size(); ++memory)
      table[content * words.size() + memory] =
          domain.index(execute(operation_of(request, client, words[content]), words[memory]).memory,
                       static_cast<WordIndex>(memory));
  return table;
}

bool observes_result(const Scenario& scenario, unsigned request) {
  return std::any_of(scenario.program.begin(), scenario.program.end(), [&](const auto& step) {
    return step.act == Act::Await && step.work_request == request &&
           (step.keeps || step.condition.kind != Condition::Kind::Always);
  });
}

Request request_of(const Scenario& scenario, unsigned number, unsigned client,
                   const Domain& domain) {
  const WorkRequest& source = scenario.work_requests[number];
  Request request;
  request.opcode = source.opcode;
  request.space = source.address.space;
  request.cell = static_cast<std::uint8_t>(source.address.cell);
  request.packets = static_cast<std::uint8_t>(source.packets);
  request.queue = static_cast<std::uint8_t>(source.queue);
  request.operation = static_cast<std::uint8_t>(source.operation);
  for (unsigned any = static_cast<unsigned>(scenario.work_requests.size()); any-- > 0;)
    if (scenario.work_requests[any].operation == source.operation &&
        scenario.work_requests[any].is_counted) {
      request.order = static_cast<std::uint8_t>(scenario.work_requests[any].queue);
      request.place = static_cast<std::uint8_t>(any);
    }
  for (unsigned earlier = 0; earlier < number; ++earlier)
    if (scenario.work_requests[earlier].queue == source.queue)
      request.previous = static_cast<std::int16_t>(earlier);
  request.has_result =
      returns_word(source.opcode) && (scenario.has_history || observes_result(scenario, number));
  request.has_content = needs_content(source);
  request.is_acknowledged_by_later = !returns_word(source.opcode) && !scenario.answers_one_by_one;
  request.notifies = source.opcode == Opcode::Send || source.opcode == Opcode::WriteWithImm;
  const auto& closed = scenario.closed_queues;
  request.is_fenced = scenario.fence_kind == FenceKind::Epoch || carries_rkey(source.opcode) ||
                      std::find(closed.begin(), closed.end(), source.queue) != closed.end();
  if (source.log_cell) request.log_cell = static_cast<std::int8_t>(*source.log_cell);
  if (source.buffer) request.buffer = static_cast<std::int8_t>(*source.buffer);
  request.is_deduplicated = source.is_deduplicated;
  request.is_counted = source.is_counted;
  request.after = table_of(source, client, domain);
  return request;
}

Accepts accepts_of(const Condition& condition, unsigned client, const Machine& machine) {
  Accepts accepts;
  accepts.equals_register = condition.kind == Condition::Kind::EqualsRegister;
  for (unsigned index = 0; index < machine.word_count(); ++index) {
    const Word word = machine.words[index];
    const unsigned owner = machine.owner[index];
    bool yes = true;
    switch (condition.kind) {
      case Condition::Kind::Always:
      case Condition::Kind::EqualsRegister:
        break;
      case Condition::Kind::Equals:
        yes = word == condition.word;
        break;
      case Condition::Kind::OwnTag:
        yes = word == tag_of(client, static_cast<unsigned>(condition.word));
        break;
      case Condition::Kind::OwnerIsNobody:
        yes = owner == kNobody;
        break;
      case Condition::Kind::OwnerIsMe:
        yes = owner == client;
        break;
    }
    accepts.words.push_back(yes);
  }
  return accepts;
}

std::uint8_t owner_of(const Scenario& scenario, Word word) {
  const Word owner = word >> 32;
  const bool uses_tags =
      std::any_of(scenario.work_requests.begin(), scenario.work_requests.end(), [](const auto& r) {
        return r.operand.source == Operand::Source::OwnTag ||
               r.compare.source == Operand::Source::OwnTag;
      });
  if (!uses_tags || owner == 0 || owner > scenario.clients) return kNobody;
  return static_cast<std::uint8_t>(owner - 1);
}

void compile_clients(Machine& machine, const Domain& domain) {
  const Scenario& scenario = machine.scenario;
  for (unsigned client = 0; client < scenario.clients; ++client) {
    ClientProgram program;
    for (unsigned number = 0; number < scenario.work_requests.size(); ++number)
      program.requests.push_back(request_of(scenario, number, client, domain));
    for (const Instruction& instruction : scenario.program)
      program.steps.push_back({instruction, accepts_of(instruction.condition, client, machine)});
    machine.clients.push_back(std::move(program));
  }
}

void compile_others(Machine& machine, const Domain& domain) {
  for (std::size_t number = 0; number < machine.scenario.environment.size(); ++number) {
    const EnvironmentStep& step = machine.scenario.environment[number];
    const bool is_shared = step.address.space == Address::Space::Shared;
    for (unsigned client = 0; client < (is_shared ? 1 : machine.scenario.clients); ++client)
      machine.environment.push_back({static_cast<std::uint8_t>(number),
                                     static_cast<std::uint8_t>(client),
                                     is_shared ? machine.shared[step.address.cell]
                                               : machine.fields[client].cells[step.address.cell],
                                     step.when ? static_cast<int>(domain.index(*step.when)) : -1,
                                     domain.index(step.becomes)});
  }
  for (const ReceiverStep& step : machine.scenario.receiver)
    machine.receiver.push_back({step.kind, static_cast<std::uint8_t>(step.cell),
                                static_cast<std::uint8_t>(step.count), domain.index(step.word)});
}

/// Requests and probes of an owner's slot reach into another client's cells.
bool has_slots(const Scenario& scenario) {
  const auto is_slot = [](const auto& of) { return of.address.space == Address::Space::OwnerSlot; };
  return std::any_of(scenario.work_requests.begin(), scenario.work_requests.end(), is_slot) ||
         std::any_of(scenario.program.begin(), scenario.program.end(), is_slot);
}

}  // namespace

Result<Machine> compile(Scenario scenario) {
  PORTCULLIS_TRY(validate(scenario));
  Domain domain;
  if (!add_constants(scenario, domain) || !add_results(scenario, domain))
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: more than {} different words; fewer clients, operations or "
                            "FADD addends are accepted",
                            scenario.name, kMaxWords));
  Machine machine;
  machine.words = domain.words();
  for (const Word word : machine.words) {
    machine.owner.push_back(owner_of(scenario, word));
    machine.has_tags = machine.has_tags || machine.owner.back() != kNobody;
  }
  machine.one = domain.index(1);
  machine.has_slots = has_slots(scenario);
  machine.scenario = std::move(scenario);
  compile_clients(machine, domain);
  PORTCULLIS_TRY(place_fields(machine));
  compile_others(machine, domain);
  return machine;
}

}  // namespace portcullis::failover
