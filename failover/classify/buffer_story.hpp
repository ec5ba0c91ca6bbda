// SPDX-License-Identifier: BSD-3-Clause
//
// What can happen when a sender uses a request's buffer for something else: its NIC may send from
// the buffer again, and the answer of a READ or an atomic may come into it. One request at a time:
// what it does to its own buffer no other one hinders.
#pragma once

#include <atomic>

#include "base/result.hpp"
#include "failover/classify/request.hpp"
#include "failover/classify/story.hpp"

namespace portcullis::failover {

/// What is known of a request, or promised, that matters to its buffer.
struct BufferPromise {
  bool is_polled = false;  // its completion, whatever its status, or the sender's QP is no more
  bool is_fenced = false;
  bool is_queue_fenced = false;
  friend bool operator==(const BufferPromise&, const BufferPromise&) = default;
};
[[nodiscard]] BufferPromise promise_of(const OutstandingRequest& request);

/// All runs of a request with a modelled opcode that the sender waited for, or not, as `promise`
/// says; then the fence takes effect if there is one, what was found at the responder holds, and
/// the buffer is taken. What was found in memory is not used.
[[nodiscard]] Result<Told> tell_buffer(const OutstandingRequest& request,
                                       const BufferPromise& promise,
                                       const std::atomic<bool>* stop = nullptr);

/// The same without exploring: whether some run breaks.
[[nodiscard]] bool needs_buffer(const OutstandingRequest& request, const BufferPromise& promise);

}  // namespace portcullis::failover
