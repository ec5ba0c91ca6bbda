// SPDX-License-Identifier: BSD-3-Clause
//
// A command channel with nobody behind it: keeps what is sent, answers what the test laid out.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pmd/command_channel.hpp"
#include "tests/pmd/ifc_message.hpp"

namespace portcullis::testing {

class RecordingChannel final : public pmd::CommandChannel {
 public:
  struct Sent {
    std::vector<std::byte> in;
    std::size_t out_bytes = 0;
    pmd::SlotClass slot_class = pmd::SlotClass::Common;
    [[nodiscard]] unsigned opcode() const {
      return static_cast<unsigned>(in[0]) << 8 | static_cast<unsigned>(in[1]);
    }
  };

  Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                             pmd::SlotClass slot_class) override {
    sent.push_back({{in.begin(), in.end()}, out_bytes, slot_class});
    return pmd::Ticket{static_cast<std::uint32_t>(sent.size() - 1)};
  }
  Result<void> await(pmd::Ticket ticket, std::span<std::byte> out,
                     std::uint64_t deadline_ns) override {
    deadlines.push_back(deadline_ns);
    const unsigned opcode = sent.at(ticket.slot).opcode();
    if (const auto failing = failures.find(opcode); failing != failures.end())
      return tl::unexpected<Error>(failing->second);
    if (const auto answer = answers.find(opcode); answer != answers.end())
      std::copy_n(answer->second.begin(), std::min(answer->second.size(), out.size()), out.begin());
    return {};
  }
  std::uint64_t default_deadline_ns() const override { return 60'000; }

  void answer(unsigned opcode, const IfcMessage& out) { answers[opcode] = out.bytes(); }
  void fail_with(unsigned opcode, Errc code) {
    failures[opcode] = Error{code, "the test has it so", std::nullopt};
  }
  [[nodiscard]] const std::vector<std::byte>& last() const { return sent.back().in; }
  [[nodiscard]] std::size_t count(unsigned opcode) const {
    return static_cast<std::size_t>(std::count_if(
        sent.begin(), sent.end(), [&](const Sent& command) { return command.opcode() == opcode; }));
  }

  std::vector<Sent> sent;
  std::vector<std::uint64_t> deadlines;
  std::map<unsigned, std::vector<std::byte>> answers;
  std::map<unsigned, Error> failures;
};

}  // namespace portcullis::testing
