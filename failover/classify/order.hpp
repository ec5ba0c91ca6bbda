// SPDX-License-Identifier: BSD-3-Clause
//
// What advice for requests that meet in no bytes has to do with one another: a message is reposted
// behind what it lets the receiver read, or reuse, and behind the messages of its QP.
#pragma once

#include <optional>
#include <vector>

#include "failover/classify/classify.hpp"
#include "failover/classify/meeting.hpp"

namespace portcullis::failover {

inline constexpr const char* kNoRule = "no rule covers it: it has to be explored";

/// The QP of each request, where the dump says it.
using PostedOn = std::vector<std::optional<std::uint32_t>>;

/// Of each request the number of its group.
[[nodiscard]] std::vector<std::size_t> group_numbers(const std::vector<Group>& groups,
                                                     std::size_t requests);

/// Whether both are reposted only exploring tells, and with it whether they have an order: no rule
/// covers a request where the consumer waits for a message, nor a message behind it, but those that
/// are never reposted.
void leave_open(const std::vector<OutstandingRequest>& dump, const std::vector<Group>& groups,
                const Letters& letters, std::vector<Classification>& advice);

/// `of` is reposted in one order with `also`, as its conditions say then.
void order(std::vector<Classification>& advice, std::size_t of, std::size_t also);

/// What lets the receiver read bytes, or reuse them, may not pass what it was posted behind: the
/// first message that is reposted too, for those behind it come later still.
void order_messages(const std::vector<OutstandingRequest>& dump, const std::vector<Group>& groups,
                    const Letters& letters, std::vector<Classification>& advice);

/// A QP delivers its messages in posting order.
void order_among_messages(const std::vector<OutstandingRequest>& dump, const PostedOn& posted_on,
                          std::vector<Classification>& advice);

}  // namespace portcullis::failover
