// SPDX-License-Identifier: BSD-3-Clause
#include "failover/semantics/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "failover/semantics/history.hpp"

namespace portcullis::failover {
namespace {

/// A client's fields with the widths that this machine needs, in an order that is the same for all.
void for_each_field(const Machine& machine, ClientFields& fields,
                    const std::function<void(Field&, unsigned)>& visit) {
  const Scenario& scenario = machine.scenario;
  const unsigned word_bits = bits_for(machine.word_count() - 1);
  const auto& program = scenario.program;
  const auto any = [&](auto test) { return std::any_of(program.begin(), program.end(), test); };
  visit(fields.pc, bits_for(program.size() - 1));
  if (any([](const auto& i) { return i.keeps; })) visit(fields.reg, word_bits);
  visit(fields.late, bits_for(scenario.limits.late));
  visit(fields.duplicates, bits_for(scenario.limits.duplicates));
  visit(fields.timeouts, bits_for(scenario.limits.timeouts));
  visit(fields.deaths, bits_for(scenario.limits.deaths));
  if (scenario.limits.deaths > 0)
    for (Field& dead : fields.dead) visit(dead, 1);
  visit(fields.receiver, bits_for(machine.scenario.receiver.size()));
  std::uint64_t notifications = 0;
  for (std::size_t number = 0; number < fields.requests.size(); ++number) {
    const Request& request = machine.clients[0].requests[number];
    RequestFields& own = fields.requests[number];
    visit(own.phase, 2);
    visit(own.executed, bits_for(request.packets));
    if (request.has_result) visit(own.result, word_bits);
    if (request.has_content) visit(own.content, word_bits);
    for (unsigned packet = 0; packet < request.packets; ++packet)
      visit(own.copies[packet], bits_for(1 + scenario.limits.duplicates));
    if (request.buffer >= 0 && !returns_word(request.opcode))
      for (unsigned packet = 0; packet < request.packets; ++packet)
        visit(own.changed[packet], bits_for(scenario.limits.duplicates));
    notifications += request.notifies ? 1 : 0;
  }
  if (scenario.is_monitored || !scenario.receiver.empty())
    visit(fields.arrivals, bits_for(notifications));
  for (unsigned queue = 0; queue < fields.fences.size(); ++queue)
    if (any([&](const auto& i) { return i.act == Act::Fence && i.queue == queue; }))
      visit(fields.fences[queue], 2);
  for (Field& taken : fields.taken) visit(taken, 1);
  for (Field& cell : fields.cells) visit(cell, word_bits);
  if (scenario.has_history)
    for (Field& answer : fields.answers) visit(answer, word_bits);
  if (!scenario.is_monitored) return;
  for (Field& count : fields.counts) visit(count, 1);
  if (any([](const auto& i) { return i.act == Act::Report && i.claim == Claim::NotDone; }))
    for (Field& disowned : fields.disowned) visit(disowned, 1);
}

ClientFields sized_fields(const Scenario& scenario) {
  ClientFields fields;
  unsigned queues = 0, buffers = 0;
  for (const WorkRequest& request : scenario.work_requests) {
    queues = std::max(queues, request.queue + 1);
    if (request.buffer) buffers = std::max(buffers, *request.buffer + 1);
  }
  for (const Instruction& step : scenario.program) queues = std::max(queues, step.queue + 1);
  fields.requests.resize(scenario.work_requests.size());
  fields.fences.resize(queues);
  fields.dead.resize(queues);
  fields.taken.resize(buffers);
  fields.cells.resize(scenario.own_cells);
  fields.counts.resize(scenario.operations);
  fields.disowned.resize(scenario.operations);
  fields.answers.resize(scenario.operations);
  return fields;
}

struct Placed {
  unsigned piece = 0, shift = 0;
};

/// Where a client's fields lie within its pieces of at most `most_bits`: the first that has room.
std::vector<Placed> place_in_pieces(const std::vector<unsigned>& widths, unsigned most_bits,
                                    std::vector<unsigned>& piece_bits) {
  std::vector<Placed> places;
  for (const unsigned width : widths) {
    unsigned piece = 0;
    while (piece < piece_bits.size() && piece_bits[piece] + width > most_bits) ++piece;
    if (piece == piece_bits.size()) piece_bits.push_back(0);
    places.push_back({piece, piece_bits[piece]});
    piece_bits[piece] += width;
  }
  return places;
}

/// Takes bits from the words of a state, first fit.
class Words {
 public:
  Field take(unsigned width) {
    std::size_t word = 0;
    while (word < used_.size() && used_[word] + width > 64) ++word;
    if (word == used_.size()) used_.push_back(0);
    const Field field{static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(used_[word]),
                      static_cast<std::uint8_t>(width),
                      width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1};
    used_[word] += width;
    bits_ += width;
    return field;
  }
  [[nodiscard]] unsigned count() const { return std::max(1U, static_cast<unsigned>(used_.size())); }
  [[nodiscard]] unsigned bits() const { return bits_; }
  [[nodiscard]] unsigned last_word_bits() const { return used_.empty() ? 0 : used_.back(); }

 private:
  std::vector<unsigned> used_;
  unsigned bits_ = 0;
};

/// The greatest size of a piece with which the clients' bits spread over the fewest bytes: where
/// whole clients leave half of a word empty, parts of clients fill it.
unsigned best_piece_bits(const std::vector<unsigned>& widths, unsigned clients) {
  unsigned best = 64;
  unsigned fewest = ~0U;
  for (unsigned most_bits = 64; most_bits >= 8; --most_bits) {
    std::vector<unsigned> piece_bits;
    (void)place_in_pieces(widths, most_bits, piece_bits);
    Words words;
    for (const unsigned bits : piece_bits)
      for (unsigned client = 0; client < clients; ++client) (void)words.take(bits);
    const unsigned bytes = words.count() * 8 - (64 - words.last_word_bits()) / 8;
    if (bytes >= fewest) continue;
    fewest = bytes;
    best = most_bits;
  }
  return best;
}

void place_clients(Machine& machine, Words& words) {
  ClientFields shape = sized_fields(machine.scenario);
  std::vector<unsigned> widths;
  for_each_field(machine, shape, [&](Field&, unsigned width) { widths.push_back(width); });
  const unsigned clients = machine.scenario.clients;
  std::vector<unsigned> piece_bits;
  const std::vector<Placed> places =
      place_in_pieces(widths, best_piece_bits(widths, clients), piece_bits);
  machine.pieces.resize(clients);
  for (const unsigned bits : piece_bits)
    for (unsigned client = 0; client < clients; ++client)
      machine.pieces[client].push_back({words.take(bits)});
  for (unsigned client = 0; client < clients; ++client) {
    ClientFields fields = sized_fields(machine.scenario);
    std::size_t number = 0;
    for_each_field(machine, fields, [&](Field& field, unsigned width) {
      const Placed place = places[number++];
      if (width == 0) return;
      const Field& piece = machine.pieces[client][place.piece].field;
      field = {piece.word, static_cast<std::uint8_t>(piece.shift + place.shift),
               static_cast<std::uint8_t>(width), (std::uint64_t{1} << width) - 1};
    });
    machine.fields.push_back(std::move(fields));
  }
}

void note_busy(ClientFields& fields) {
  const auto note = [&](const Field& field) {
    if (field.exists()) fields.busy[field.word] |= field.mask << field.shift;
  };
  for (const RequestFields& request : fields.requests) {
    note(request.phase);
    for (const Field& copies : request.copies) note(copies);
    for (const Field& changed : request.changed) note(changed);
  }
  for (const Field& fence : fields.fences) note(fence);
}

void set_initial(Machine& machine) {
  for (const ClientFields& fields : machine.fields) {
    machine.initial.set(fields.late, machine.scenario.limits.late);
    machine.initial.set(fields.duplicates, machine.scenario.limits.duplicates);
    machine.initial.set(fields.timeouts, machine.scenario.limits.timeouts);
    machine.initial.set(fields.deaths, machine.scenario.limits.deaths);
    const auto zero = std::find(machine.words.begin(), machine.words.end(), Word{0});
    for (const Field& cell : fields.cells)
      machine.initial.set(cell, static_cast<std::uint64_t>(zero - machine.words.begin()));
  }
  machine.initial.set(machine.environment_budget, machine.scenario.environment_budget);
}

}  // namespace

Result<void> place_fields(Machine& machine) {
  Words words;
  place_clients(machine, words);
  for (unsigned cell = 0; cell < machine.scenario.shared_cells; ++cell)
    machine.shared.push_back(words.take(bits_for(machine.word_count() - 1)));
  if (machine.scenario.environment_budget > 0)
    machine.environment_budget = words.take(bits_for(machine.scenario.environment_budget));
  if (machine.scenario.has_history)
    for (unsigned event = 0; event < longest_history(machine.scenario); ++event)
      machine.log.push_back(words.take(bits_for(greatest_code(machine.scenario))));
  machine.bits = words.bits();
  machine.state_words = words.count();
  machine.last_word_bits = words.last_word_bits();
  if (machine.state_words > kMaxStateWords)
    return fail(
        Errc::InvalidArgument,
        fmt::format("model {}: a state needs {} bits in {} words, at most {} words are "
                    "accepted; fewer clients or operations need less",
                    machine.scenario.name, machine.bits, machine.state_words, kMaxStateWords));
  for (ClientFields& fields : machine.fields) note_busy(fields);
  set_initial(machine);
  return {};
}

}  // namespace portcullis::failover
