// SPDX-License-Identifier: BSD-3-Clause
//
// A command channel that stands between steering and the model: hands everything on, and notes what
// was sent, in which slot and by when it had to be answered. For tests of what the device is told
// and of deadlines that are handed on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <vector>

#include "pmd/command_channel.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::testing {

class NotedChannel final : public pmd::CommandChannel {
 public:
  struct Sent {
    prm::Opcode opcode{};
    std::vector<std::byte> in;
    pmd::SlotClass slot_class{};
    std::uint64_t deadline_ns = 0;
  };

  explicit NotedChannel(pmd::CommandChannel& inner) : inner_(&inner) {}

  Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                             pmd::SlotClass slot_class) override {
    const auto header = prm::ConstView<prm::destroy_mkey_in>::at(in);
    const prm::Opcode opcode{static_cast<std::uint16_t>(header.get<"opcode">())};
    sent.push_back({opcode, {in.begin(), in.end()}, slot_class, 0});
    return inner_->submit(in, out_bytes, slot_class);
  }
  Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                     std::uint64_t deadline_ns) override {
    sent.back().deadline_ns = deadline_ns;  // steering has one in flight
    auto done = inner_->await(ticket, out, deadline_ns);
    if (done && on_answer) on_answer(sent.back(), out);
    return done;
  }
  std::uint64_t default_deadline_ns() const override { return inner_->default_deadline_ns(); }

  /// The `nth` command of that opcode.
  template <class In>
  [[nodiscard]] prm::ConstView<In> told(prm::Opcode opcode, std::size_t nth = 0) const {
    for (const Sent& command : sent)
      if (command.opcode == opcode && nth-- == 0) return prm::ConstView<In>::at(command.in);
    throw std::out_of_range("no such command was sent");
  }
  [[nodiscard]] std::vector<prm::Opcode> opcodes() const {
    std::vector<prm::Opcode> all;
    for (const Sent& command : sent) all.push_back(command.opcode);
    return all;
  }
  [[nodiscard]] std::size_t count(prm::Opcode opcode) const {
    return static_cast<std::size_t>(std::ranges::count(sent, opcode, &Sent::opcode));
  }
  [[nodiscard]] std::vector<std::uint64_t> deadlines_ns() const {
    std::vector<std::uint64_t> all;
    for (const Sent& command : sent) all.push_back(command.deadline_ns);
    return all;
  }

  std::vector<Sent> sent;
  std::function<void(const Sent&, std::span<std::byte> out)> on_answer;  // may be empty

 private:
  pmd::CommandChannel* inner_;
};

}  // namespace portcullis::testing
