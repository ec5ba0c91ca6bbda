// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/parts.hpp"

#include <algorithm>

namespace portcullis::failover {
namespace {

void add(AnyState& bits, const Field& field) {
  if (field.exists()) bits.words[field.word] |= field.mask << field.shift;
}

/// What several actors may reach: shared cells and the environment's budget, and clients' own cells
/// where others come to them.
AnyState memory_of(const Machine& machine) {
  AnyState bits;
  for (const Field& cell : machine.shared) add(bits, cell);
  add(bits, machine.environment_budget);
  const auto& others = machine.scenario.environment;
  const bool shares_own_cells =
      machine.has_slots || std::any_of(others.begin(), others.end(), [](const auto& step) {
        return step.address.space != Address::Space::Shared;
      });
  for (const ClientFields& fields : machine.fields)
    for (const Field& cell : fields.cells)
      if (shares_own_cells) add(bits, cell);
  return bits;
}

AnyState client_of(const Machine& machine, unsigned client, const AnyState& memory) {
  AnyState bits;
  for (const Piece& piece : machine.pieces[client]) add(bits, piece.field);
  for (unsigned i = 0; i < kMaxStateWords; ++i) bits.words[i] &= ~memory.words[i];
  return bits;
}

}  // namespace

PartStates::PartStates(const AnyState& mask) : mask_(mask), places_(64) {
  for (unsigned i = 0; i < kMaxStateWords; ++i)
    if (mask.words[i] != 0) words_.push_back(i);
}

std::uint32_t PartStates::number_of(const AnyState& state) {
  std::uint64_t bits[kMaxStateWords] = {};
  for (std::size_t i = 0; i < words_.size(); ++i)
    bits[i] = state.words[words_[i]] & mask_.words[words_[i]];
  const std::size_t place = place_of(bits);
  if (places_[place] != 0) return places_[place] - 1;
  places_[place] = static_cast<std::uint32_t>(++size_);
  bits_.insert(bits_.end(), bits, bits + words_.size());
  if (size_ * 4 > places_.size() * 3) make_room();
  return static_cast<std::uint32_t>(size_ - 1);
}

void PartStates::put(AnyState& state, std::uint64_t number) const noexcept {
  const std::uint64_t* const bits = bits_.data() + number * words_.size();
  for (std::size_t i = 0; i < words_.size(); ++i) state.words[words_[i]] |= bits[i];
}

std::size_t PartStates::place_of(const std::uint64_t* bits) const noexcept {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) hash = fold(hash ^ bits[i], 0xbb67ae8584caa73bU);
  for (std::size_t at = hash;; ++at) {
    const std::size_t place = at & (places_.size() - 1);
    if (places_[place] == 0) return place;
    const std::uint64_t* const found = bits_.data() + (places_[place] - 1) * words_.size();
    if (std::equal(bits, bits + words_.size(), found)) return place;
  }
}

void PartStates::make_room() {
  places_.assign(places_.size() * 2, 0);
  for (std::uint64_t number = 0; number < size_; ++number)
    places_[place_of(bits_.data() + number * words_.size())] =
        static_cast<std::uint32_t>(number + 1);
}

std::unique_ptr<Parts> Parts::of(const Machine& machine, bool must_spare,
                                 const std::vector<unsigned>& bits) {
  if (machine.clients.size() < 2 || machine.scenario.has_history) return nullptr;
  auto parts = std::unique_ptr<Parts>(new Parts(machine, bits));
  return !must_spare || parts->spares() ? std::move(parts) : nullptr;
}

Parts::Parts(const Machine& machine, const std::vector<unsigned>& bits) : machine_(machine) {
  const AnyState memory = memory_of(machine);
  for (unsigned client = 0; client < machine.clients.size(); ++client)
    parts_.emplace_back(client_of(machine, client, memory));
  parts_.emplace_back(memory);
  // A word's worth in all, where that gives each part enough to begin with.
  constexpr unsigned kOfMemory = 12, kOfClientAtLeast = 13, kOfClientAtMost = 20;
  const unsigned fair = (64 - kOfMemory) / clients();
  widths_.assign(clients(), std::clamp(fair, kOfClientAtLeast, kOfClientAtMost));
  widths_.push_back(kOfMemory);
  if (bits.size() == widths_.size()) widths_ = bits;
  if (bits.size() == 1) widths_.assign(widths_.size(), bits.front());
  lay_out();
}

void Parts::lay_out() {
  numbers_.clear();
  std::vector<unsigned> used = {0};
  unsigned bits = 0;
  for (const unsigned width : widths_) {
    std::size_t word = 0;
    while (word < used.size() && used[word] + width > 64) ++word;
    if (word == used.size()) used.push_back(0);
    numbers_.push_back({static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(used[word]),
                        static_cast<std::uint8_t>(width), (std::uint64_t{1} << width) - 1});
    used[word] += width;
    bits += width;
  }
  view_ = machine_;
  view_.fields.clear();
  view_.pieces.clear();
  for (unsigned client = 0; client < clients(); ++client)
    view_.pieces.push_back({{numbers_[client]}});
  view_.shared = {numbers_.back()};
  view_.environment_budget = {};
  view_.has_slots = false;  // slots are memory here
  for (EnvironmentRule& rule : view_.environment) rule.cell = numbers_.back();
  view_.bits = bits;
  view_.state_words = static_cast<unsigned>(used.size());
  view_.last_word_bits = used.back();
  view_.initial = {};
  for (unsigned part = 0; part < parts_.size(); ++part)
    view_.initial.set(numbers_[part], parts_[part].number_of(machine_.initial));
  count_bytes();
}

bool Parts::widen() {
  constexpr unsigned kMost = 30;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (parts_[part].size() <= numbers_[part].mask) continue;
    widths_[part] = std::max(widths_[part], bits_for(parts_[part].size())) + 2;
    if (widths_[part] > kMost) return false;
  }
  is_overfull_ = false;
  lay_out();
  return spares();
}

std::vector<unsigned> Parts::bits() const {
  std::vector<unsigned> bits;
  for (const PartStates& part : parts_) bits.push_back(std::max(1U, bits_for(part.size() - 1)));
  return bits;
}

void Parts::count_bytes() noexcept {
  std::uint64_t bytes = 0;
  for (const PartStates& part : parts_) bytes += part.bytes();
  bytes_.store(bytes, std::memory_order_relaxed);
}

}  // namespace portcullis::failover
