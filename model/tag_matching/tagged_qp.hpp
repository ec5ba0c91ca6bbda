// SPDX-License-Identifier: BSD-3-Clause
//
// What a queue pair has that receives by a tag list: the message that is coming in, and the send
// half that is the device's. The receive half asks in model/transport/responder_tagged.cpp, the
// send half in requester_tagged.cpp.
//
// A queue pair without a send queue whose context says so (qpc.offload_type, create_user_qp of
// mlx5_ib/qp.c) fetches what a rendezvous request names: "For HW TM we need 2 QPs, one of which
// will be used by the device for RNDV offload (for issuing RDMA reads and sending RNDV ACK)",
// uct_rc_mlx5_ep_connect_to_ep_v2 of UCX. So it has a send queue of the device's own, each of whose
// requests is a READ or, behind it, the SEND that tells the peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/receive_ring.hpp"
#include "model/tag_matching/tag_list.hpp"
#include "model/tag_matching/tag_report.hpp"
#include "model/transport/send_wqe.hpp"
#include "prm/tag_matching.hpp"

namespace portcullis::model {

/// A rendezvous request that matched.
struct Rendezvous {
  /// A request's two headers, which are what is sent back when the data is there, with another
  /// operation in them: "a copy of the original TMH and RVH of the rendezvous request, apart the
  /// opcode" (Documentation/tag_matching.md of rdma-core). That a card sends both is a hypothesis:
  /// the same file has "Rendezvous response: TMH" elsewhere.
  static constexpr std::size_t kHeaderBytes = prm::ibv_tmh::bytes + prm::ibv_rvh::bytes;
  std::array<std::byte, kHeaderBytes> headers{};
  std::uint16_t index = 0;  // of the entry
  ReceivePiece piece = {};  // where the data goes
};

/// What a packet's completion says of tags, and what comes of it.
struct TaggedWork {
  TagReport report;
  bool begins_rendezvous = false;
  Rendezvous rendezvous;
};

class TaggedQp {
 public:
  /// Requests of the device's send queue at a time, two to a rendezvous: what comes when it is full
  /// is software's to fetch.
  static constexpr std::uint32_t kBlocks = 256;

  /// How a message is received.
  enum class Reception : std::uint8_t {
    NoTag,       // whole, into a receive of the queue
    Unexpected,  // the same
    Eager,       // what is behind its header, into the entry's buffer
    Rendezvous,  // nothing of it: what it names is fetched
    Software,    // its headers: a rendezvous that is software's to fetch
  };

  TaggedQp(TagList& list, bool fetches) noexcept : list(&list), fetches(fetches) {}

  TagList* list;
  bool fetches;  // there is a send queue of the device's

  // The message that is coming in.
  Reception reception = Reception::NoTag;
  bool in_message = false;  // it has matched and not completed
  TagList::Match match;
  std::array<std::byte, prm::ibv_tmh::bytes> header{};

  [[nodiscard]] bool has_matched() const noexcept {
    return reception != Reception::NoTag && reception != Reception::Unexpected;
  }
  /// The part of a packet's payload that goes to memory.
  [[nodiscard]] std::span<const std::byte> data_of(std::span<const std::byte> payload,
                                                   bool is_first) const noexcept;

  [[nodiscard]] bool has_room() const noexcept { return pending_ < kBlocks / 2; }
  void reserve() noexcept { ++pending_; }
  void release() noexcept { --pending_; }
  /// Request `index` of the device's queue is the first of two.
  void put(std::uint16_t index, const Rendezvous& rendezvous) {
    requests_.resize(kBlocks / 2);  // many a queue pair never meets one
    at(index) = rendezvous;
  }
  [[nodiscard]] Rendezvous& at(std::uint16_t index) noexcept {
    return requests_[index / 2 % requests_.size()];
  }
  [[nodiscard]] static bool is_read(std::uint16_t index) noexcept { return index % 2 == 0; }
  /// That request, as a WQE would have it.
  void write_wqe(std::uint16_t index, SendWqe& out) noexcept;

  /// The connection is no more.
  void reset() noexcept {
    in_message = false;
    pending_ = 0;
  }

 private:
  std::vector<Rendezvous> requests_;
  std::size_t pending_ = 0;  // rendezvous that are not over
};

}  // namespace portcullis::model
