// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/requester.hpp"

#include <algorithm>

namespace portcullis::tools::lease_verify {

Result<std::optional<WorkResult>> wait_unless(const std::function<bool()>& stop,
                                              Requester& requester, std::uint64_t until_ns) {
  constexpr std::uint64_t kLookNs = 100 * kNsPerMs;
  while (true) {
    const std::uint64_t now = requester.clock().now_ns();
    auto result = requester.wait(std::min(until_ns, now + kLookNs));
    if (!result || *result || requester.clock().now_ns() >= until_ns) return result;
    if (stop && stop()) return fail(Errc::Busy, "interrupted before an operation was answered");
  }
}

}  // namespace portcullis::tools::lease_verify
