// SPDX-License-Identifier: BSD-3-Clause
//
// What the responder of one QP has admitted and not finished, in PSN order. Memory is touched in
// that order, and answers leave in it. A lane outlives its QP: a PCIe access that a key check
// allowed happens although the QP is in error, reset or gone, and only whoever waits for it
// (DESTROY_MKEY under assumption A1) knows that it is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/cq.hpp"
#include "model/dma.hpp"
#include "model/mkey.hpp"
#include "model/tag_matching/tagged_qp.hpp"
#include "model/transport/opcode.hpp"
#include "model/transport/receive_queue.hpp"

namespace portcullis::model {

struct Engine;
struct Qp;

/// Why a request is refused.
enum class Refusal : std::uint8_t {
  None,
  InvalidRequest,
  RemoteAccess,
  NotReady,     // no receive is posted
  TooLong,      // for the receive
  Protection,   // the receive's own memory
  Unreachable,  // an IOMMU refused what the key allowed
};

/// Where a part of a payload goes, and the key that allowed it.
struct Placement {
  std::uint32_t key = 0;
  Extents where;
  MkeyTable::Holds holds{};  // while the DMA is to come
};

/// Where a READ stands with its next response.
enum class ReadStage : std::uint8_t { Unchecked, Pending, Fetched };

/// One request packet from its check to its answer.
struct Work {
  Operation operation = Operation::None;
  std::vector<Placement> placements;  // of the payload, in order
  std::span<const std::byte> payload;
  std::vector<std::byte> kept;  // the payload, when it outlives its frame
  bool is_rewritten = false;    // it is not what came: signatures were added or taken out
  Refusal refusal = Refusal::None;
  bool completes = false;  // a receive
  Completion completion;
  ReceiveOwner owner;                        // of that receive
  std::optional<std::uint32_t> invalidates;  // a key, before that
  std::unique_ptr<TaggedWork> tagged;        // of a completion that says something of tags
  bool answers = false;
  std::uint8_t code = 0;  // AETH
  std::uint32_t psn = 0;
  std::uint32_t msn = 0;
  bool released = false;  // the step it is in is over
  // READ and atomics
  bool replayed = false;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0;
  std::uint32_t pd = 0;
  std::uint32_t remaining = 0;  // bytes of a READ
  bool in_message = false;      // a response went out, or the first one was before
  ReadStage stage = ReadStage::Unchecked;
  BthOpcode opcode{};
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t original = 0;

  void clear() {
    operation = Operation::None;
    replayed = in_message = false;
    stage = ReadStage::Unchecked;
    invalidates.reset();
    placements.clear();
    payload = {};
    kept.clear();
    refusal = Refusal::None;
    completes = answers = released = is_rewritten = false;
  }
};

struct Lane {
  std::uint32_t id = 0;
  std::uint32_t qpn = 0;
  bool attached = true;     // the QP is the one that admitted the work
  std::deque<Work> work;    // a number is an index here plus `first`
  std::uint32_t first = 0;  // number of work.front()
  std::size_t placed = 0;   // of work: those whose memory was touched
};

/// The QP goes to ERR: receives that were admitted complete with a flush error, nothing is
/// answered any more.
void flush_lane(const Engine& engine, Qp& qp);
/// The QP goes to RST, or away.
void detach_lane(Qp& qp) noexcept;

}  // namespace portcullis::model
