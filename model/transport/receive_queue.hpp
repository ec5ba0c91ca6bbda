// SPDX-License-Identifier: BSD-3-Clause
//
// The receive WQEs of a queue pair, its own or those of a queue that it shares, and what becomes of
// those that no message used.
#pragma once

#include <cstdint>
#include <optional>

#include "prm/cqe.hpp"

namespace portcullis::model {

struct Engine;
struct Qp;
struct WqeError;

/// Whose CQ a receive completes on, and by which index the driver finds its queue.
struct ReceiveOwner {
  std::uint32_t cqn = 0;
  std::uint32_t user_index = 0;
};

enum class ReceiveFault : std::uint8_t {
  None,
  Empty,       // nothing is posted
  Unreadable,  // queue or doorbell record is not reachable by DMA
};

/// The oldest receive WQE that is posted and not consumed, to qp.receive.pieces. Of a shared queue
/// it is the QP's from then on.
[[nodiscard]] ReceiveFault read_receive_wqe(const Engine& engine, Qp& qp);
/// Consumes it: its index, for the completion.
[[nodiscard]] std::uint16_t consume_receive(Qp& qp) noexcept;
/// Consumes it with an error completion.
void fail_receive(const Engine& engine, Qp& qp, const WqeError& error);
/// Completes one that was consumed before, with an error.
void fail_consumed(const Engine& engine, const Qp& qp, const ReceiveOwner& owner,
                   std::uint16_t index, const WqeError& error);
/// Consumes all that are posted to the QP's own queue with flush errors: how many; nothing when the
/// record cannot be read.
std::optional<std::uint16_t> flush_posted(const Engine& engine, Qp& qp);
/// The QP goes to ERR: the same, or of a queue that it shares what it holds of it.
void flush_receives(const Engine& engine, Qp& qp);

}  // namespace portcullis::model
