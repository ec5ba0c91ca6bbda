// SPDX-License-Identifier: BSD-3-Clause
//
// Work for the firmware beside a fence: every common command slot holds a CREATE_MKEY or a
// CREATE_QP, and once that is answered the command that takes it back, for ever. With firmware that
// asks for pages the page slot is busy too. One look, and at most one command sent, each time that
// whoever waits relaxes: this program's own part in what is measured stays small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/passing_channel.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "prm/opcodes.hpp"
#include "proof/session.hpp"

namespace portcullis::bench {

class SlotLoad {
 public:
  /// Nothing is sent yet; `session` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<SlotLoad>> create(proof::Session& session);
  SlotLoad(const SlotLoad&) = delete;
  SlotLoad& operator=(const SlotLoad&) = delete;
  ~SlotLoad();

  /// Fills every common slot and keeps them filled in every wait of the session.
  [[nodiscard]] Result<void> start();
  /// Every slot stays as it is from now on. Returns how many commands the device still works at;
  /// the others are answered and occupy their slots.
  [[nodiscard]] std::size_t hold();
  /// Waits for what is under way and takes back what it made.
  [[nodiscard]] Result<void> stop();
  [[nodiscard]] std::size_t slots() const noexcept { return jobs_.size(); }
  /// Commands answered since start().
  [[nodiscard]] std::uint64_t commands() const noexcept { return commands_; }

 private:
  /// What is repeated: the bytes that the driver itself sent, and how to take the object back.
  struct Work {
    std::vector<std::byte> create;
    std::size_t create_out_bytes = 0;
    prm::Opcode destroy{};
  };
  struct Job {
    const Work* work = nullptr;
    pmd::Ticket ticket;
    std::optional<std::uint32_t> made;  // being taken back
    bool is_in_flight = false;
  };
  /// Passes commands on and keeps the bytes of the last CREATE_MKEY and CREATE_QP.
  class NotingChannel final : public pmd::PassingChannel {
   public:
    NotingChannel(pmd::CommandChannel& inner, Work& key, Work& qp) noexcept
        : PassingChannel(inner), key_(&key), qp_(&qp) {}
    [[nodiscard]] Result<pmd::Ticket> submit(std::span<const std::byte> in, std::size_t out_bytes,
                                             pmd::SlotClass slot_class) override;

   private:
    Work* key_;
    Work* qp_;
  };

  explicit SlotLoad(proof::Session& session);

  [[nodiscard]] Result<void> make_objects();
  [[nodiscard]] Result<void> pump();
  [[nodiscard]] Result<void> submit(Job& job);
  [[nodiscard]] Result<void> finish(Job& job, std::uint64_t deadline_ns);

  proof::Session* session_;
  Work key_;
  Work qp_;
  NotingChannel noting_;
  pmd::Context context_;  // the session's, with `noting_` in it
  // What the repeated commands name, made once.
  std::optional<DmaMemory> memory_;
  std::optional<pmd::ProtectionDomain> pd_;
  std::optional<pmd::CompletionQueue> cq_;
  std::optional<pmd::MemoryKey> made_key_;
  std::optional<pmd::QueuePair> made_qp_;
  std::vector<Job> jobs_;
  std::size_t next_ = 0;  // to look at
  std::uint64_t commands_ = 0;
};

}  // namespace portcullis::bench
