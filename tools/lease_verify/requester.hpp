// SPDX-License-Identifier: BSD-3-Clause
//
// One end of an RC connection that asks: what a check needs of a NIC, whoever drives it. Verbs are
// behind it in lease-verify (verbs_requester.hpp); tests put a script or our own driver there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "prm/cqe.hpp"
#include "service/exchange/exchange.hpp"
#include "service/exchange/sweep.hpp"

namespace portcullis::tools::lease_verify {

enum class Op : std::uint8_t { Write, Read, FetchAdd, CompareSwap };
/// "RDMA WRITE".
[[nodiscard]] std::string_view name(Op op) noexcept;

/// One signaled work request. Atomics leave the old value in the buffer, in this host's byte order.
struct Operation {
  Op op = Op::Write;
  std::uint64_t remote_address = 0;
  std::size_t local_offset = 0;  // in buffer()
  std::size_t bytes = 0;
  std::uint64_t compare_add = 0;  // atomics
  std::uint64_t swap = 0;
};

struct WorkResult {
  prm::WcStatus status = prm::WcStatus::SUCCESS;
  std::uint32_t vendor_syndrome = 0;
  [[nodiscard]] bool ok() const noexcept { return status == prm::WcStatus::SUCCESS; }
};

class Requester {
 public:
  virtual ~Requester() = default;
  /// What the lease's request tells of this end.
  [[nodiscard]] virtual service::exchange::Request request() const = 0;
  /// "rxe0 port 1 GID 1 (192.0.2.2), MTU 1024": for the report.
  [[nodiscard]] virtual std::string description() const = 0;
  /// Of which kind its NIC is, as far as it knows.
  [[nodiscard]] virtual service::exchange::SweepPeer nic() const { return {}; }
  /// To RTS, as the grant dictates.
  [[nodiscard]] virtual Result<void> connect(const service::exchange::Grant& grant) = 0;
  /// Registered memory that operations send from and receive into.
  [[nodiscard]] virtual std::span<std::byte> buffer() noexcept = 0;
  [[nodiscard]] virtual Result<void> post(const Operation& operation) = 0;
  /// The result of the oldest operation that has none yet; none when `until_ns` of clock() passes.
  [[nodiscard]] virtual Result<std::optional<WorkResult>> wait(std::uint64_t until_ns) = 0;
  [[nodiscard]] virtual Clock clock() const { return Clock::wall(); }
};

/// As requester.wait(), for as long as `stop`, which may be empty, does not say so: Busy then. An
/// answer may take longer than anybody waits who has pressed Ctrl-C.
[[nodiscard]] Result<std::optional<WorkResult>> wait_unless(const std::function<bool()>& stop,
                                                            Requester& requester,
                                                            std::uint64_t until_ns);

}  // namespace portcullis::tools::lease_verify
