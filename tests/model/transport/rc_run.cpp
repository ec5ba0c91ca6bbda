// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/transport/rc_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/clock.hpp"
#include "model/behaviours.hpp"
#include "model/transport/frame_faults.hpp"

namespace portcullis::model::testing {
namespace {

using prm::WqeOpcode;

constexpr std::uint32_t kClient = 0x40;
constexpr std::uint32_t kServer = 0x41;
constexpr std::array kOpcodes{
    WqeOpcode::RDMA_WRITE, WqeOpcode::RDMA_WRITE_IMM, WqeOpcode::SEND,     WqeOpcode::SEND_IMM,
    WqeOpcode::RDMA_READ,  WqeOpcode::ATOMIC_FA,      WqeOpcode::ATOMIC_CS};

std::uint64_t address_of(std::span<const std::byte> bytes) {
  return std::bit_cast<std::uint64_t>(bytes.data());
}

WqeOpcode opcode_of(const RcOperation& operation) {
  return kOpcodes[static_cast<std::size_t>(operation.kind)];
}

}  // namespace

RcRun::RcRun(std::uint64_t seed, const std::vector<std::string>& words) : random_(seed) {
  host_.wire().seed_faults(0, seed);
  for (const FrameFaultRule& rule : frame_faults(*find_behaviours(words, "")))
    host_.transport().inject(rule);
  options_.ack_timeout = 8;  // 1 ms
  options_.log_rq_size = 4;
  options_.mtu = prm::QpcMtu{static_cast<std::uint8_t>(1 + random_.below(5))};
  options_.psn = (0xfffff8 + random_.below(16)) & 0xffffff;
  options_.log_sra_max = options_.log_rra_max = random_.below(4);
  host_.connect(kClient, kServer, options_);
  host_.connect(kServer, kClient, options_);
  fill_pattern(local_.bytes, static_cast<std::uint32_t>(seed));
  fill_pattern(remote_.bytes, static_cast<std::uint32_t>(seed) + 1);
}

std::span<std::byte> RcRun::local(std::uint32_t number) const {
  return local_.bytes.subspan(std::size_t{number} * kSlotBytes, kSlotBytes);
}

std::span<std::byte> RcRun::receive(std::uint32_t number) const {
  return receives_.bytes.subspan(std::size_t{number} * kSlotBytes, kSlotBytes);
}

void RcRun::make(std::uint32_t number) {
  RcOperation operation;
  operation.kind = static_cast<RcKind>(random_.below(static_cast<std::uint32_t>(kOpcodes.size())));
  operation.length = operation.is_atomic() ? 8 : random_.below(kSlotBytes + 1);
  operation.at = random_.below(kRemoteBytes - operation.length + 1);
  if (operation.is_atomic()) operation.at &= ~7U;
  operation.swap_add = random_.next();
  operation.compare = random_.chance(0.5) ? reference_->word(operation.at & ~7U) : random_.next();
  operation.immediate = random_.below(1U << 31);
  const auto data = local(number).first(operation.length);
  operation.data.assign(data.begin(), data.end());
  reference_->post(operation);
  operations_.push_back(std::move(operation));
  signaled_.push_back(operations_.back().is_atomic() || number + 1 == kOperations ||
                      random_.chance(0.7));
}

/// Each WQE is one block, so that its index is its number.
void RcRun::post(std::uint32_t number) {
  const RcOperation& operation = operations_[number];
  const std::uint64_t from = address_of(local(number));
  const std::uint64_t to = address_of(remote_.bytes) + operation.at;
  const std::uint8_t flags = random_.chance(0.2) ? prm::kCtrlFence : std::uint8_t{0};
  if (operation.is_atomic()) {
    host_.post_atomic(kClient, opcode_of(operation),
                      {to, rkey_, lkey_, from, operation.swap_add, operation.compare});
  } else if (operation.kind == RcKind::Send || operation.kind == RcKind::SendImmediate) {
    const std::array pieces{Piece{from, operation.length, lkey_}};
    host_.post_raw(kClient, opcode_of(operation),
                   segments_of(std::span(pieces).first(operation.length == 0 ? 0 : 1)),
                   signaled_[number], operation.immediate, flags);
  } else {
    host_.post_rdma(kClient, opcode_of(operation),
                    {to, rkey_, lkey_, from, operation.length, signaled_[number]},
                    operation.immediate, flags);
  }
}

void RcRun::post_receives(std::uint32_t count) {
  for (; posted_receives_ < count; ++posted_receives_) {
    const std::array pieces{Piece{address_of(receive(posted_receives_)), kSlotBytes, receive_key_}};
    host_.post_receive(kServer, pieces);
  }
}

RcVerdict RcRun::run() {
  constexpr std::uint64_t kReceiverIsLateNs = 3 * kNsPerMs;
  constexpr std::uint64_t kPatienceNs = 60 * kNsPerSecond;
  reference_ = std::make_unique<RcReference>(remote_.bytes, prm::bytes_of(options_.mtu));
  for (std::uint32_t number = 0; number < kOperations; ++number) make(number);
  for (std::uint32_t number = 0; number < kOperations; ++number) post(number);
  post_receives(2);
  host_.ring(kClient);
  host_.run_until(kReceiverIsLateNs);
  post_receives(kOperations);
  host_.run_until(kPatienceNs);

  RcVerdict verdict;
  const std::vector<Cqe> cqes = host_.drain_cq();
  const std::uint32_t completed = judge_completions(cqes, verdict);
  verdict.succeeded = completed;
  judge_results(completed, verdict);
  judge_receives(cqes, completed, verdict);
  if (!reference_->may_be(remote_.bytes, completed)) verdict.faults.emplace_back("remote memory");
  return verdict;
}

/// How many operations completed well: all before the first error. The rest must be flushed.
std::uint32_t RcRun::judge_completions(const std::vector<Cqe>& cqes, RcVerdict& verdict) const {
  std::uint32_t next = 0;  // operations that have ended
  std::uint32_t completed = kOperations;
  for (const Cqe& cqe : cqes) {
    if (cqe.qpn != kClient) continue;
    const std::uint32_t number = cqe.wqe_counter;
    const bool good = cqe.opcode == prm::CqeOpcode::REQ;
    const bool first_error = !good && completed == kOperations;
    const bool in_order = number >= next && number < kOperations;
    const bool flushed = first_error || cqe.syndrome == prm::CqeSyndrome::WR_FLUSH_ERR;
    if (!in_order || (good && completed != kOperations) || (!good && !flushed))
      verdict.faults.push_back("completion of " + std::to_string(number));
    for (; in_order && next < number; ++next) {
      if (signaled_[next] || !(good || first_error))
        verdict.faults.push_back("no completion of " + std::to_string(next));
    }
    if (good && operations_[number].kind == RcKind::Read &&
        cqe.byte_cnt != operations_[number].length)
      verdict.faults.push_back("byte count of " + std::to_string(number));
    next = number + 1;
    if (first_error) completed = number;
  }
  if (next != kOperations) verdict.faults.push_back("hangs at " + std::to_string(next));
  return std::min(completed, next);
}

void RcRun::judge_results(std::uint32_t completed, RcVerdict& verdict) const {
  for (std::uint32_t number = 0; number < completed; ++number) {
    const RcOperation& operation = operations_[number];
    const auto data = local(number).first(operation.length);
    if (operation.kind == RcKind::Read && !reference_->may_read(number, data))
      verdict.faults.push_back("READ " + std::to_string(number));
    const std::uint64_t original = operation.is_atomic() ? reference_->original(number) : 0;
    if (operation.is_atomic() && std::memcmp(data.data(), &original, sizeof original) != 0)
      verdict.faults.push_back("atomic " + std::to_string(number));
  }
}

bool RcRun::is_right(const Cqe& cqe, std::uint32_t number, std::uint32_t at) const {
  const RcOperation& operation = operations_[number];
  const bool has_immediate = operation.kind != RcKind::Send;
  const bool is_send = !operation.writes();
  auto opcode = prm::CqeOpcode::RESP_WR_IMM;
  if (is_send) opcode = has_immediate ? prm::CqeOpcode::RESP_SEND_IMM : prm::CqeOpcode::RESP_SEND;
  return cqe.opcode == opcode && cqe.wqe_counter == at && cqe.byte_cnt == operation.length &&
         (!has_immediate || cqe.immediate == operation.immediate) &&
         (!is_send || std::ranges::equal(operation.data, receive(at).first(operation.length)));
}

/// Receives end in the order of their operations: at least those of what completed.
void RcRun::judge_receives(const std::vector<Cqe>& cqes, std::uint32_t completed,
                           RcVerdict& verdict) const {
  std::uint32_t number = 0;
  std::uint32_t at = 0;
  const auto find_next = [&] {
    while (number < kOperations && !operations_[number].takes_receive()) ++number;
  };
  for (const Cqe& cqe : cqes) {
    if (cqe.qpn != kServer) continue;
    find_next();
    if (number == kOperations || !is_right(cqe, number, at))
      verdict.faults.push_back("receive " + std::to_string(at));
    number = std::min(number + 1, kOperations);
    ++at;
  }
  find_next();
  if (number < completed) verdict.faults.push_back("no receive for " + std::to_string(number));
}

RcVerdict run_rc_seeds(std::uint64_t first, std::uint64_t count,
                       const std::vector<std::string>& words) {
  RcVerdict sum;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RcVerdict run = RcRun(seed, words).run();
    sum.succeeded += run.succeeded;
    for (const std::string& fault : run.faults)
      sum.faults.push_back("seed " + std::to_string(seed) + ": " + fault);
  }
  return sum;
}

}  // namespace portcullis::model::testing
