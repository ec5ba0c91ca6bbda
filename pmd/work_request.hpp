// SPDX-License-Identifier: BSD-3-Clause
//
// What a queue pair is asked to do: an RDMA WRITE, which the data path is made for, any other
// request of an RC QP, and a change of a memory key (UMR). Verbs' ibv_send_wr, without its list.
#pragma once

#include <cstdint>

#include "pmd/access.hpp"
#include "prm/numbers.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {

/// A piece of local memory: to send from, or to receive or read into.
struct GatherEntry {
  std::uint64_t address = 0;  // as the key addresses it
  std::uint32_t lkey = 0;
  std::uint32_t bytes = 0;
};

/// Where an RDMA WRITE goes and how its completion is told.
struct WriteRequest {
  std::uint64_t remote_address = 0;
  prm::Rkey rkey{};
  std::uint64_t wr_id = 0;  // given back in the Completion
  bool signaled = true;     // unsignaled requests complete with the next signaled one, or in error
};

/// Any request but a UMR. A field that the opcode has no use for is not looked at.
struct WorkRequest {
  prm::WqeOpcode opcode = prm::WqeOpcode::SEND;
  std::uint64_t wr_id = 0;
  bool signaled = true;
  bool fenced = false;               // starts after the READs and atomics before it have completed
  bool solicited = false;            // the receiver's event, where it armed for solicited ones
  std::uint64_t remote_address = 0;  // RDMA and atomics
  prm::Rkey rkey{};                  // the same
  std::uint32_t immediate = 0;       // RDMA_WRITE_IMM, SEND_IMM; SEND_INVAL: the peer's key
  std::uint64_t swap_or_add = 0;     // ATOMIC_CS: what is stored; ATOMIC_FA: what is added
  std::uint64_t compare = 0;         // ATOMIC_CS: stored only if this was there
};

[[nodiscard]] constexpr WorkRequest as_work_request(const WriteRequest& write) noexcept {
  WorkRequest request;
  request.opcode = prm::WqeOpcode::RDMA_WRITE;
  request.wr_id = write.wr_id;
  request.signaled = write.signaled;
  request.remote_address = write.remote_address;
  request.rkey = write.rkey;
  return request;
}

/// A change of a memory key by the send queue, in order with the requests around it.
struct KeyRequest {
  enum class Change : std::uint8_t {
    FREE,              // nobody may use the key; the driver's own protection domain takes it over
    LOCAL_INVALIDATE,  // verbs' LOCAL_INV: nobody may use the key, and nothing else changes
    ACCESS,            // other rights, in the protection domain `pdn`
  };

  Change change = Change::FREE;
  prm::Rkey key{};             // whole, with its low byte
  prm::PdNumber pdn{};         // FREE: the driver's own; ACCESS: the key's
  Access access = {};          // ACCESS
  bool changes_atomic = true;  // ACCESS: the right to atomics too; not every function can
  std::uint64_t wr_id = 0;
  bool signaled = true;
};

}  // namespace portcullis::pmd
