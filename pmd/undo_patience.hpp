// SPDX-License-Identifier: BSD-3-Clause
//
// How long a device is waited for that is told to take something back while nobody sets a deadline:
// the destructors at the end of a program, above all, each of which would otherwise wait a minute
// for hardware that has gone silent. All of them together get kInAllNs beyond the kEachNs that each
// may take behind the first look (10 ms of a device that has a clock of its own), and once two
// commands one behind the other were not answered, nothing more is sent. What stays in the device
// for that ends with its reset; until then its memory is never used again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {

class UndoPatience {
 public:
  static constexpr std::uint64_t kInAllNs = 3 * kNsPerSecond;
  /// A healthy device takes a few ms for whatever it gives back.
  static constexpr std::uint64_t kEachNs = 50 * kNsPerMs;

  void begin() noexcept { ++depth_; }
  void end() noexcept { --depth_; }
  [[nodiscard]] bool is_on() const noexcept { return depth_ != 0; }

  /// For the next command. Behind one that was lost, which may have been lost alone, not long.
  [[nodiscard]] std::uint64_t next_ns() const noexcept {
    return unanswered_ == 0 ? std::max(left_ns_, kEachNs) : kEachNs;
  }
  /// One was waited for so long, answered or not.
  void note_wait(std::uint64_t took_ns) noexcept {
    if (took_ns > kEachNs)
      left_ns_ -= std::min(left_ns_, took_ns - kEachNs);
    else
      left_ns_ = std::min(kInAllNs, left_ns_ + (kEachNs - took_ns));
  }

  // Of every command, whatever it does.
  void note_lost() noexcept { ++unanswered_; }
  void note_answer() noexcept { unanswered_ = 0; }
  [[nodiscard]] bool is_silent() const noexcept { return unanswered_ >= kSilent; }

  /// Not done, and the first one's why.
  void note_left(prm::Opcode opcode, const std::string& why) {
    if (left_.empty()) why_ = why;
    ++left_[opcode];
  }
  /// "2 DESTROY_CQ, 1 DESTROY_QP"; empty: everything was done.
  [[nodiscard]] std::string left() const {
    std::string text;
    for (const auto& [opcode, count] : left_)
      text +=
          (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(prm::name(opcode));
    return text;
  }
  [[nodiscard]] const std::string& why() const noexcept { return why_; }

 private:
  static constexpr unsigned kSilent = 2;

  unsigned depth_ = 0;
  unsigned unanswered_ = 0;
  std::uint64_t left_ns_ = kInAllNs;
  std::map<prm::Opcode, std::uint32_t> left_;
  std::string why_;
};

}  // namespace portcullis::pmd
