// SPDX-License-Identifier: BSD-3-Clause
//
// Answers ARP, neighbour solicitation and ping for the address of a port that our driver owns: a
// kernel does so for its own, and nobody else would. Whoever has the port polls it on its idle
// path, beside events and health. It is no part of what serves leases: where a card refuses any of
// it, leases are served without, and a peer needs a static neighbour entry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "neighbour/answerer.hpp"
#include "neighbour/frame_rules.hpp"
#include "pmd/context.hpp"
#include "pmd/frame_queues.hpp"
#include "pmd/l2_table.hpp"
#include "pmd/roce_address.hpp"

namespace portcullis::neighbour {

class Responder {
 public:
  /// Queues, what the port listens to beside its own address, which bring-up has listed (the MC
  /// list, and the switch's table where it is the function's to set), the rules of NIC_RX, and one
  /// announcement. Unsupported where the function does not offer it. `context` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<Responder>> set_up(const pmd::Context& context,
                                                                 const pmd::RoceAddress& address,
                                                                 LogSink log);
  /// Sets up, or says once in `log` what is lost, and then is null. Null without a word where
  /// none is wanted: context.answers_neighbours is false, the kernel keeps the port, InfiniBand.
  [[nodiscard]] static std::unique_ptr<Responder> set_up_or_say(const pmd::Context& context,
                                                                const pmd::RoceAddress& address,
                                                                const LogSink& log);
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();

  /// Answers what has come, up to kMostAtOnce frames; what its queues say that is wrong ends it,
  /// with a line.
  void poll();
  static constexpr int kMostAtOnce = 16;
  [[nodiscard]] bool is_answering() const noexcept { return !has_ended_; }
  [[nodiscard]] const Counts& counts() const noexcept { return answerer_.counts(); }
  /// Answers that the send queue had no room for.
  [[nodiscard]] std::uint64_t unsent() const noexcept { return unsent_; }

 private:
  Responder(const pmd::Context& context, Identity identity, LogSink log)
      : context_(&context), answerer_(std::move(identity)), log_(std::move(log)) {}
  [[nodiscard]] Result<void> start();
  void announce();

  const pmd::Context* context_;
  Answerer answerer_;
  LogSink log_;
  bool listens_ = false;  // the MC list is ours
  bool has_ended_ = false;
  std::uint64_t unsent_ = 0;
  std::vector<std::byte> frame_;
  std::vector<std::byte> reply_;
  // Destroyed from the last to the first.
  std::unique_ptr<pmd::FrameQueues> queues_;
  std::optional<pmd::L2TableEntry> switch_entry_;
  std::optional<FrameRules> rules_;
};

}  // namespace portcullis::neighbour
