// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a lease's memory is what its client wrote: RDMA WRITEs of every length around the MTU,
// READs that must bring back each byte, and atomics whose every answer is known. Only what was
// granted is asked for; without READ there is nothing to compare with, and the report says so.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "service/exchange/exchange.hpp"
#include "tools/lease_verify/requester.hpp"

namespace portcullis::tools::lease_verify {

struct DataCheckOptions {
  std::uint32_t rounds = 2;            // each over the whole region, with other bytes
  std::uint64_t seed = 1;              // of the bytes
  std::uint64_t deadline_ms = 10'000;  // of one operation
  std::function<bool()> stop = {};     // asked before each; true ends the check with Busy
};

struct DataReport {
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t reads = 0;
  std::uint64_t bytes_compared = 0;
  std::uint64_t atomics = 0;

  /// One line each: "ok    RDMA WRITE  22 messages, 131072 bytes".
  [[nodiscard]] std::vector<std::string> lines(const pmd::Access& access) const;
};

/// The error names the operation that failed and its status, or the first byte that differs.
[[nodiscard]] Result<DataReport> check_data(Requester& requester,
                                            const service::exchange::Grant& grant,
                                            const DataCheckOptions& options);

}  // namespace portcullis::tools::lease_verify
