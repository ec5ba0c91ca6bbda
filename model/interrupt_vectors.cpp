// SPDX-License-Identifier: BSD-3-Clause
#include "model/interrupt_vectors.hpp"

namespace portcullis::model {

void InterruptVectors::raise(std::uint32_t vector) noexcept {
  if (vector >= vectors_.size()) {
    if (deliver_ != nullptr) deliver_(context_, vector);
    return;
  }
  Vector& of = vectors_[vector];
  if (of.wait) return;
  const std::uint64_t due = of.last_ns ? *of.last_ns + of.min_delay_ns : 0;
  if (scheduler_->now_ns() >= due) return deliver(vector);
  of.wait = scheduler_->schedule(
      due, {[](void* self, std::uint64_t number) {
              static_cast<InterruptVectors*>(self)->deliver(static_cast<std::uint32_t>(number));
            },
            this, vector});
}

void InterruptVectors::deliver(std::uint32_t number) {
  vectors_[number].wait.reset();
  vectors_[number].last_ns = scheduler_->now_ns();
  if (deliver_ != nullptr) deliver_(context_, number);
}

void InterruptVectors::set_min_delay(std::uint32_t vector, std::uint64_t ns) {
  if (vector >= vectors_.size()) vectors_.resize(vector + 1U);
  Vector& of = vectors_[vector];
  of.min_delay_ns = ns;
  if (!of.wait) return;
  scheduler_->cancel(*of.wait);
  of.wait.reset();
  raise(vector);
}

std::uint64_t InterruptVectors::min_delay_ns(std::uint32_t vector) const noexcept {
  return vector < vectors_.size() ? vectors_[vector].min_delay_ns : 0;
}

void InterruptVectors::clear() noexcept {
  for (const Vector& of : vectors_)
    if (of.wait) scheduler_->cancel(*of.wait);
  vectors_.clear();
}

}  // namespace portcullis::model
