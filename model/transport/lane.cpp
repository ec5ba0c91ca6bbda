// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/lane.hpp"

#include "model/transport/engine.hpp"
#include "model/transport/tag_completions.hpp"
#include "model/transport/wqe_error.hpp"

namespace portcullis::model {

void flush_lane(const Engine& engine, Qp& qp) {
  if (qp.lane == nullptr) return;
  for (Work& work : qp.lane->work) {
    if (work.completes && !cancel_work(engine, qp, work))
      fail_consumed(engine, qp, work.owner, work.completion.wqe_counter, wqe_error::kFlush);
    work.completes = work.answers = false;
    work.refusal = Refusal::None;
  }
}

void detach_lane(Qp& qp) noexcept {
  if (qp.lane == nullptr) return;
  qp.lane->attached = false;
  qp.lane = nullptr;
}

}  // namespace portcullis::model
