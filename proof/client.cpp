// SPDX-License-Identifier: BSD-3-Clause
#include "proof/client.hpp"

#include <cstring>
#include <limits>

#include "base/dma_bytes.hpp"

namespace portcullis::proof {
namespace {

constexpr std::uint32_t kBlocksPerWrite = 2;  // control, address and 64 bytes inline

}  // namespace

Result<Client> Client::create(const pmd::Context& context, std::uint8_t counter_set) {
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogSendQueue));
  PORTCULLIS_TRY_ASSIGN(
      auto qp, pmd::QueuePair::create(context, pd, cq, *context.uar,
                                      {.log_sq_size = kLogSendQueue, .counter_set = counter_set}));
  return Client(context, std::move(pd), std::move(cq), std::move(qp));
}

Result<void> Client::write_long() {
  PORTCULLIS_TRY_ASSIGN(auto memory, DmaMemory::create(*context_->device.dma, kLongBytes));
  PORTCULLIS_TRY_ASSIGN(
      auto key, pmd::MemoryKey::create_mtt(*context_, pd_, pmd::MemoryRange::zero_based(memory),
                                           {.local_write = true}));
  payload_.emplace(Payload{std::move(memory), std::move(key)});
  return {};
}

Result<void> Client::write_stream() {
  PORTCULLIS_TRY_ASSIGN(stream_, Stream::create(*context_, pd_));
  return {};
}

Result<void> Client::connect(const Connection& connection) {
  seen_ = {};
  PORTCULLIS_TRY(reset());
  PORTCULLIS_TRY(qp_.to_init({}));
  pmd::RtrAttributes rtr;
  rtr.path = connection.path;
  rtr.remote_qpn = connection.remote_qpn;
  rtr.rq_psn = connection.remote_psn;
  rtr.mtu = connection.mtu;
  PORTCULLIS_TRY(qp_.to_rtr(rtr));
  pmd::RtsAttributes rts;
  rts.sq_psn = connection.local_psn;
  rts.timeout = connection.timeout;
  rts.retry_count = connection.retry_count;
  return qp_.to_rts(rts);
}

Result<void> Client::reset() {
  is_running_ = false;
  return qp_.to_reset();
}

void Client::start(const Target& target, std::uint64_t first_ns, std::uint64_t interval_ns) {
  target_ = target;
  interval_ns_ = interval_ns;
  next_post_ns_ = first_ns;
  last_word_ = dma_peek_u64(target_.bytes.data());
  if (stream_) stream_->begin({target.address, target.rkey, target.tag});
  is_running_ = true;
}

Result<void> Client::pump() {
  if (!is_running_) return {};
  PORTCULLIS_TRY(poll_all());
  if (!stream_) watch_region();
  if (seen_.failure) return {};
  return stream_ ? stream_->post(qp_, context_->device.clock.now_ns()) : post_due();
}

std::uint64_t Client::next_ns() const noexcept {
  if (!is_running_ || seen_.failure || stream_ || !has_room())
    return std::numeric_limits<std::uint64_t>::max();
  return next_post_ns_;
}

bool Client::has_room() const noexcept {
  return qp_.outstanding_blocks() + kBlocksPerWrite <= std::uint32_t{1} << kLogSendQueue;
}

Result<void> Client::poll_all() {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const std::optional<pmd::Completion> completion, cq_.try_poll());
    if (!completion) return {};
    const std::uint64_t now = context_->device.clock.now_ns();
    if (completion->ok()) {
      ++seen_.writes;
      if (stream_) stream_->complete(completion->wr_id);
      seen_.last_success_ns = now;
    } else if (!seen_.failure) {  // the WRITEs behind it are flushed and tell nothing new
      seen_.failure = completion;
      seen_.failure_ns = now;
    }
  }
}

Result<void> Client::post_due() {
  const std::uint64_t now = context_->device.clock.now_ns();
  bool has_posted = false;
  while (next_post_ns_ <= now && has_room()) {
    PORTCULLIS_TRY(post_one());
    next_post_ns_ += interval_ns_;
    has_posted = true;
  }
  // A full queue is the client's back-pressure, not a debt: what it could not post is not made up.
  if (next_post_ns_ <= now) next_post_ns_ = now + interval_ns_;
  if (has_posted) qp_.ring();
  return {};
}

Result<void> Client::post_one() {
  ++written_;
  ++seen_.posted;
  const pmd::WriteRequest to{
      .remote_address = target_.address, .rkey = target_.rkey, .wr_id = written_};
  if (payload_) {
    dma_poke_u64(payload_->memory.bytes().data(), written_);
    return qp_.post_write({.address = 0, .lkey = payload_->key.lkey(), .bytes = kLongBytes}, to);
  }
  std::array<std::byte, kWriteBytes> data{};
  std::memcpy(data.data(), &written_, sizeof written_);
  return qp_.post_write_inline(data, to);
}

bool Client::has_region_changed() const noexcept {
  return !target_.bytes.empty() && dma_peek_u64(target_.bytes.data()) != last_word_;
}

void Client::watch_region() noexcept {
  if (target_.bytes.empty()) return;
  const std::uint64_t word = dma_peek_u64(target_.bytes.data());
  if (word == last_word_) return;
  last_word_ = word;
  seen_.last_change_ns = context_->device.clock.now_ns();
}

}  // namespace portcullis::proof
