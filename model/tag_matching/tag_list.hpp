// SPDX-License-Identifier: BSD-3-Clause
//
// The list of tagged buffers of a shared receive queue, against which messages are matched.
// Documentation/tag_matching.md and the man page ibv_post_srq_ops(3) of rdma-core have its rules:
//
//   match    tag & entry's mask == entry's tag, and of those that match the oldest
//   phase    whenever a message is unexpected "tag matching must be disabled for new tags until SW
//            and HW synchronize": software reports how many of them it has handled, and entries
//            that were appended before the two counts met take part from then on. Older ones go on
//   indices  an entry has the place that the one before named as the next ("place index of next
//            entry into TM segment", set_tm_seg of rdma-core's mlx5/qp.c). The first has place 0
//
// Hypotheses: counts are compared for equality alone, and an entry that waits may be removed. The
// numbers are a guest's: an index that names no place, or a place that is taken, is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/receive_ring.hpp"

namespace portcullis::model {

class TagList {
 public:
  /// cmd_hca_cap.log_tag_matching_list_sz: max_num_tags of ibv_devinfo -v is 127 on InfiniBand
  /// ports of a ConnectX-6 with firmware 20.37.1700. That a ConnectX-5 has as many is a hypothesis.
  static constexpr std::uint32_t kLogMaxSize = 7;

  /// Of 2^log_size places.
  explicit TagList(std::uint32_t log_size) : entries_(std::size_t{1} << log_size) {}

  struct Buffer {
    std::uint64_t tag = 0;
    std::uint64_t mask = 0;
    ReceivePiece piece = {};
  };
  /// Puts `buffer` where the entry before said, and the next one at `next`. False: there is no such
  /// place, or it is taken.
  [[nodiscard]] bool append(const Buffer& buffer, std::uint16_t next);
  /// False: it is not there, or not any more.
  [[nodiscard]] bool remove(std::uint16_t index);
  /// Software has handled so many unexpected messages.
  void synchronize(std::uint16_t handled);
  /// A message was unexpected.
  void count_unexpected() noexcept { ++hw_phase_; }

  struct Match {
    std::uint16_t index = 0;
    ReceivePiece piece = {};
  };
  /// Takes the oldest entry that `tag` matches out of the list.
  [[nodiscard]] std::optional<Match> take(std::uint64_t tag);

  [[nodiscard]] std::uint16_t next_index() const noexcept { return next_; }
  [[nodiscard]] std::uint16_t sw_phase() const noexcept { return sw_phase_; }
  [[nodiscard]] std::uint16_t hw_phase() const noexcept { return hw_phase_; }
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

 private:
  struct Entry {
    Buffer buffer;
    bool is_listed = false;
    bool takes_part = false;
  };
  std::vector<Entry> entries_;
  std::vector<std::uint16_t> order_;  // of those that are listed, the oldest first
  std::uint16_t next_ = 0;
  std::uint16_t sw_phase_ = 0;
  std::uint16_t hw_phase_ = 0;
};

}  // namespace portcullis::model
