// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/error_receives.hpp"

#include <algorithm>

#include "model/transport/receive_queue.hpp"

namespace portcullis::model {

void ErrorReceives::add(Qp& qp) {
  const bool has_own = qp.rq.entries != 0 && qp.shared_receives == 0 && !qp.is_xrc();
  if (has_own && std::ranges::find(qps_, &qp) == qps_.end()) qps_.push_back(&qp);
}

void ErrorReceives::remove(const Qp& qp) noexcept { std::erase(qps_, &qp); }

bool ErrorReceives::look(const Engine& engine) {
  if (qps_.empty()) return false;
  next_ = (next_ + 1) % qps_.size();
  const auto flushed = flush_posted(engine, *qps_[next_]);
  if (!flushed) qps_.erase(qps_.begin() + static_cast<std::ptrdiff_t>(next_));
  return flushed.value_or(0) != 0;
}

}  // namespace portcullis::model
