// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/event_queue.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/cells.hpp"
#include "prm/doorbell.hpp"

namespace portcullis::model::testing {
namespace {

/// Event n is bit n of four big-endian quadwords.
void subscribe(std::span<std::byte, 32> mask, prm::EventType type) {
  const std::size_t event = prm::number(type);
  mask[event / 64 * 8 + 7 - event % 64 / 8] |= static_cast<std::byte>(1U << event % 8);
}

}  // namespace

prm::Buffer<prm::create_eq_in> create_eq_command(std::uint32_t uar, std::uint32_t log_size) {
  auto in = command<prm::create_eq_in>(prm::Opcode::CREATE_EQ);
  in.put<"eq_context_entry.uar_page">(uar).put<"eq_context_entry.log_eq_size">(log_size);
  return in;
}

EventQueue::EventQueue(MiniDriver& driver, std::initializer_list<prm::EventType> types,
                       std::uint32_t log_size)
    : driver_(driver),
      log_size_(log_size),
      uar_(driver.alloc_uar()),
      entries_(driver.allocate(std::max(kPageBytes, prm::kEqeBytes << log_size))) {
  for (std::size_t at = 0; at < entries_.bytes().size(); at += prm::kEqeBytes)
    static_cast<void>(prm::View<prm::eqe>::at(entries_.bytes(), at).try_set<"owner">(1));
  auto in = create_eq_command(uar_, log_size);
  for (const prm::EventType type : types) subscribe(in.bytes<"event_bitmask">(), type);
  std::vector<Iova> pages;
  for (std::size_t at = 0; at < prm::kEqeBytes << log_size; at += kPageBytes)
    pages.push_back(entries_.iova() + at);
  const Answer answer = driver.run<prm::create_eq_out>(in, pages);
  if (!answer.ok()) {
    std::cerr << "a test's own set-up failed: CREATE_EQ\n";
    std::exit(EXIT_FAILURE);
  }
  eqn_ = answer.as<prm::create_eq_out>().get<"eq_number">();
}

std::uint32_t EventQueue::owner(std::uint32_t index) const {
  const std::byte* last = entries_.data() + (index + 1) * prm::kEqeBytes - 1;
  return cells::load_acquire<std::uint8_t>(last) & 1U;
}

std::optional<Event> EventQueue::poll() {
  driver_.pass(1);
  const std::uint32_t index = consumer_ & ((1U << log_size_) - 1);
  if (!prm::eqe_is_ready(owner(index), consumer_, log_size_)) return std::nullopt;
  const auto entry = prm::ConstView<prm::eqe>::at(entries_.bytes(), index * prm::kEqeBytes);
  ++consumer_;
  const auto data = entry.bytes<"event_data">();
  return Event{static_cast<prm::EventType>(entry.get<"event_type">()), {data.begin(), data.end()}};
}

void EventQueue::ring() const {
  ring_value(prm::eq_doorbell(static_cast<std::uint8_t>(eqn_), consumer_));
}

void EventQueue::ring_value(std::uint32_t value) const {
  std::byte* cell = driver_.device().bar.data() + prm::uar_offset(uar_) + prm::kEqDoorbellArm;
  cells::ring<std::uint32_t>(cell, cells::be32(value));
}

}  // namespace portcullis::model::testing
