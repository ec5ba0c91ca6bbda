// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs in ERR that have a receive queue. What is posted to it there is flushed too, and no
// kick tells of a receive: Linux's ib_drain_rq() takes a queue pair to ERR, posts a receive and
// waits for its completion (mlx5_ib_drain_rq in mlx5/qp.c). So their doorbell records are read in
// turn, one a look.
#pragma once

#include <cstddef>
#include <vector>

#include "model/transport/qp.hpp"

namespace portcullis::model {

struct Engine;

class ErrorReceives {
 public:
  /// `qp` went to ERR. One whose receives are shared with others is none of these: what is left of
  /// them is the others'. Done twice is done.
  void add(Qp& qp);
  /// It leaves ERR, or goes.
  void remove(const Qp& qp) noexcept;
  void clear() noexcept { qps_.clear(); }
  /// Flushes what was posted to the next one. True when something was. One whose record DMA does
  /// not reach is not looked at any more: its driver has taken the memory away.
  bool look(const Engine& engine);

 private:
  std::vector<Qp*> qps_;
  std::size_t next_ = 0;
};

}  // namespace portcullis::model
