// SPDX-License-Identifier: BSD-3-Clause
//
// What may be posted again of the requests that were under way when a lease ended: the server's
// outcome says whether an old packet can still arrive, and failover's classifier says what follows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "failover/classify/dump.hpp"
#include "wire/messages.hpp"

namespace portcullis::client {

/// Whether nothing reaches the memory that the lease's key named any more, by the server's word.
[[nodiscard]] bool is_fence(const wire::RevokeAnswer& how) noexcept;

/// A dump of requests, read before the lease is given back for it. A dump that says of the region
/// with the lease's key whether it is fenced is refused (InvalidArgument), for it could say too
/// much. Malformed names the dump's place.
[[nodiscard]] Result<std::vector<failover::OutstandingRequest>> read_dump_of(
    const std::string& dump_json, std::uint32_t rkey);

/// The advice as JSON, one object for each request of the dump (docs/failover.md, "Advice for a
/// send queue"), as `failover-check classify --json` prints it. The region with the lease's key is
/// fenced if the outcome is a fence, and not otherwise. Whatever `most_ms` does not suffice for (0:
/// as long as it takes) has "no-advice".
[[nodiscard]] Result<std::string> advise(std::vector<failover::OutstandingRequest> dump,
                                         std::uint32_t rkey, const wire::RevokeAnswer& how,
                                         std::uint32_t most_ms);

}  // namespace portcullis::client
