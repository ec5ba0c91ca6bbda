// SPDX-License-Identifier: BSD-3-Clause
//
// Clients that want leases and give them up, on a schedule that waits for nobody: so many allocs
// and so many revokes a second, whatever becomes of those before. Every lease, every answer and
// every notice is kept account of, so that the end can say that nothing was lost.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/histogram.hpp"
#include "base/result.hpp"
#include "bench/service/fleet.hpp"
#include "lease/lease_table.hpp"
#include "wire/frame.hpp"

namespace portcullis::bench {

/// Of a client that is nowhere: no RDMA goes on.
[[nodiscard]] wire::AllocRequest nowhere_request();
inline constexpr std::uint64_t kRegionBytes = 4096;

class LeaseLoad {
 public:
  explicit LeaseLoad(Fleet& fleet) : fleet_(&fleet) {}
  LeaseLoad(const LeaseLoad&) = delete;
  LeaseLoad& operator=(const LeaseLoad&) = delete;

  /// Holds so many, granted as fast as the server grants with some hundreds asked for at a time.
  [[nodiscard]] Result<void> fill(std::size_t leases, std::uint64_t most_ns);
  /// So many allocs a second and as many revokes, for so long; one revoke in two is by its holder,
  /// the others by another connection. Then every answer and every notice is waited for.
  [[nodiscard]] Result<void> run(std::uint32_t rate, std::uint64_t for_ns);
  /// What LEASE_LIST says is what is held here, no more and no less; else a line that says what.
  [[nodiscard]] Result<std::string> differs_from_list(std::uint64_t most_ns);
  /// The server was told to end: what comes until it has.
  [[nodiscard]] Result<void> hear_the_end(std::uint64_t most_ns);
  /// What the journal has is what was told, of every lease that there ever was; else a line.
  [[nodiscard]] Result<std::string> differs_from_journal(const std::string& path);
  /// Neither answers nor notices are missing, and none is what no server says; else a line.
  [[nodiscard]] std::string missing() const;

  // Of run() alone, from when a request was due.
  Histogram alloc;
  Histogram revoke;
  std::uint64_t server_us = 0;  // the longest that the server says a revoke took
  std::uint64_t revokes = 0;
  // Of all.
  std::uint64_t allocs = 0;
  std::uint64_t busy = 0;  // allocs that were to be asked again later
  std::uint64_t fenced = 0;
  std::uint64_t fenced_at_end = 0;  // by the journal, with those that the server's end ended
  [[nodiscard]] std::size_t held() const noexcept { return held_.size(); }
  [[nodiscard]] std::size_t granted() const noexcept { return leases_.size(); }

 private:
  struct Asked {
    wire::Op op = wire::Op::LeaseAlloc;
    std::uint64_t due_ns = 0;
    std::uint64_t id = 0;  // of the lease
    std::size_t line = 0;
  };
  struct Known {
    std::uint64_t epoch = 0;
    std::size_t holder = 0;
    bool was_noticed = false;
    std::optional<wire::Outcome> told;
    std::optional<wire::Cause> cause;
  };

  void ask_alloc(std::uint64_t due_ns);
  void ask_revoke(std::uint64_t due_ns);
  void hear(std::size_t line, const wire::Frame& frame);
  void hear_refused(const wire::Frame& frame);
  void hear_granted(const wire::Frame& frame);
  void hear_revoked(const wire::Frame& frame);
  void hear_notice(std::size_t line, const wire::Frame& frame);
  void hear_list(const wire::Frame& frame);
  [[nodiscard]] Result<void> serve(std::uint64_t until_ns);
  [[nodiscard]] Result<void> wait_for_answers(std::uint64_t until_ns);
  [[nodiscard]] Result<void> wait_for_notices(std::uint64_t until_ns);
  /// Leases whose end was answered and not told to their holders.
  [[nodiscard]] std::size_t unnoticed() const;
  void blame(const std::string& what);

  Fleet* fleet_;
  std::unordered_map<std::uint64_t, Asked> asked_;   // by request id
  std::unordered_map<std::uint64_t, Known> leases_;  // by id: all that were granted
  std::vector<std::uint64_t> held_;                  // ids that may be revoked
  std::map<std::uint64_t, wire::LeaseRow> listed_;
  std::uint64_t list_cursor_ = 0;
  std::uint64_t next_request_ = 1'000;
  std::uint64_t turn_ = 0;
  std::uint64_t fault_count_ = 0;
  std::string first_fault_;  // what no server says
  std::minstd_rand random_{1};
  bool counts_ = false;
};

}  // namespace portcullis::bench
