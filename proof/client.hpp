// SPDX-License-Identifier: BSD-3-Clause
//
// The client at the other end of a lease, one that ignores the outcome of a revoke: it goes on
// writing 64 bytes on a schedule until its own QP tells it that a WRITE failed. It notes when the
// last WRITE succeeded, when the first failed and how, and when the region last changed, because
// these together say which mechanism took the time. With a stream (proof/stream.hpp) it keeps the
// line full instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/dma_memory.hpp"
#include "base/result.hpp"
#include "pmd/completion.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "proof/stream.hpp"

namespace portcullis::proof {

/// Whom the client talks to, and how patiently.
struct Connection {
  pmd::RocePath path;
  prm::QpNumber remote_qpn{};
  std::uint32_t remote_psn = 0;  // the first the peer will send
  std::uint32_t local_psn = 0;   // the first the client sends
  std::uint8_t timeout = 14;
  std::uint8_t retry_count = 7;
  prm::QpcMtu mtu = prm::QpcMtu::MTU_1024;
};

/// The memory that is written: as the peer addresses it, and as this process sees it, to tell when
/// bytes still change.
struct Target {
  std::uint64_t address = 0;
  prm::Rkey rkey{};
  std::span<const std::byte> bytes;
  std::uint32_t tag = 0;  // of a stream
};

class Client {
 public:
  static constexpr std::size_t kWriteBytes = 64;
  static constexpr std::size_t kLongBytes = kPageBytes;
  static constexpr std::uint32_t kLogSendQueue = 7;  // 64 WRITEs of two basic blocks each

  /// What the client has seen, in nanoseconds of the device's clock.
  struct Observation {
    std::uint64_t posted = 0;
    std::uint64_t writes = 0;  // completed with success
    std::uint64_t last_success_ns = 0;
    std::uint64_t last_change_ns = 0;  // of the region
    std::optional<pmd::Completion> failure;
    std::uint64_t failure_ns = 0;
  };

  /// PD, CQ and QP of its own, in RESET. `context` must outlive it. `counter_set` as in
  /// pmd::QueuePairOptions.
  [[nodiscard]] static Result<Client> create(const pmd::Context& context,
                                             std::uint8_t counter_set = 0);

  /// WRITEs kLongBytes from now on, several packets of any MTU that a session uses.
  [[nodiscard]] Result<void> write_long();
  /// Streams from now on; the schedule of start() is nothing to it, nor is when the region changed.
  [[nodiscard]] Result<void> write_stream();
  /// Null without write_stream().
  [[nodiscard]] const Stream* stream() const noexcept { return stream_.get(); }
  [[nodiscard]] prm::QpNumber qpn() const noexcept { return qp_.number(); }
  /// RESET or ERR to RTS; forgets what was seen.
  [[nodiscard]] Result<void> connect(const Connection& connection);
  /// Writes to `target` from `first_ns` on, one WRITE every `interval_ns`, until a WRITE fails or
  /// reset().
  void start(const Target& target, std::uint64_t first_ns, std::uint64_t interval_ns);
  /// Silent from now on, whatever was under way.
  [[nodiscard]] Result<void> reset();
  /// Looks at the region now; pump() does so each time.
  void watch_region() noexcept;
  /// Since watch_region() looked.
  [[nodiscard]] bool has_region_changed() const noexcept;
  /// The region is about to go: looks at it no more.
  void forget_region() noexcept { target_.bytes = {}; }

  /// Polls completions and posts what is due; called from whatever waits. Never waits itself.
  [[nodiscard]] Result<void> pump();
  /// When pump() has something to post again; the end of time when only the device can change that.
  [[nodiscard]] std::uint64_t next_ns() const noexcept;
  /// WRITEs posted since it was made; the value of the last one.
  [[nodiscard]] std::uint64_t posted() const noexcept { return written_; }
  [[nodiscard]] const Observation& seen() const noexcept { return seen_; }

 private:
  Client(const pmd::Context& context, pmd::ProtectionDomain pd, pmd::CompletionQueue cq,
         pmd::QueuePair qp)
      : context_(&context), pd_(std::move(pd)), cq_(std::move(cq)), qp_(std::move(qp)) {}

  [[nodiscard]] Result<void> poll_all();
  [[nodiscard]] Result<void> post_due();
  [[nodiscard]] Result<void> post_one();
  [[nodiscard]] bool has_room() const noexcept;

  /// Where long WRITEs come from.
  struct Payload {
    DmaMemory memory;
    pmd::MemoryKey key;
  };

  const pmd::Context* context_;
  pmd::ProtectionDomain pd_;
  std::optional<Payload> payload_;
  std::unique_ptr<Stream> stream_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
  Target target_;
  Observation seen_;
  std::uint64_t interval_ns_ = 0;
  std::uint64_t next_post_ns_ = 0;
  std::uint64_t written_ = 0;    // the value of the WRITE posted last
  std::uint64_t last_word_ = 0;  // of the region
  bool is_running_ = false;
};

}  // namespace portcullis::proof
