// SPDX-License-Identifier: BSD-3-Clause
#include "model/cq.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/device_ticks.hpp"
#include "prm/doorbell.hpp"
#include "prm/enums.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kMaxLogCqSize = 22;  // cmd_hca_cap.log_max_cq_sz

// MLX5_CQ_ERROR_SYNDROME_* of mlx5_ifc.h.
constexpr std::uint8_t kOverrun = 1;
constexpr std::uint8_t kAccessViolation = 2;

enum Refusal : std::uint32_t {
  kBadSize = 0x40001,
  kBadPages,
  kBadRecord,
  kNoNumber,
  kNoSuchCq,
  kBadSelection,
  kOtherStride,
  kFailed,
  kTooManyOutstanding,
};

constexpr std::uint64_t kNsPerUs = 1000;

std::uint8_t log_stride(prm::ConstView<prm::cqc> context) noexcept {
  return context.get<"cqe_sz">() == prm::number(prm::CqeSize::B64) ? 6 : 7;
}

/// The same bytes read as another layout: those that only `from` fills.
void put_ethernet(const prm::Buffer<prm::mlx5_ethernet_cqe>& from,
                  prm::Buffer<prm::mlx5_cqe64>& entry) {
  for (std::size_t i = 0; i < prm::mlx5_cqe64::bytes; ++i) entry.all()[i] |= from.all()[i];
}

void put_tags(const TagReport& from, prm::Buffer<prm::mlx5_cqe64>& entry) {
  entry.put<"app">(prm::kCqeAppTagMatching).put<"app_op">(from.op).put<"app_info">(from.index);
  std::ranges::copy(from.head, entry.all().begin());
}

prm::Buffer<prm::mlx5_cqe64> encode(const Completion& c, bool owner, std::uint64_t now_ns) {
  prm::Buffer<prm::mlx5_cqe64> entry;
  entry.put<"srqn_uidx">(c.user_index)
      .put<"imm_inval_pkey">(c.imm_inval_pkey)
      .put<"byte_cnt">(c.byte_cnt)
      .put<"timestamp">(device_ticks(now_ns))
      .put<"sop_drop_qpn">(prm::opcode_qpn(c.wqe_opcode, c.qpn))
      .put<"wqe_counter">(c.wqe_counter)
      .put<"op_own">(prm::op_own(c.opcode, owner, c.solicited));
  if (c.is_datagram) {
    entry.put<"flags_rqpn">(c.flags_rqpn).put<"slid">(c.slid);
    // Where mlx5_ib looks for it, as it does of a frame (handle_responder of cq.c).
    if (c.tag) entry.put<"l4_hdr_type_etc">(prm::kCqeHasVlan).put<"vlan_info">(*c.tag);
  }
  if (c.ethernet != nullptr) put_ethernet(*c.ethernet, entry);
  if (c.tags != nullptr) put_tags(*c.tags, entry);
  return entry;
}

prm::Buffer<prm::mlx5_err_cqe> encode_error(const Completion& c, bool owner) {
  prm::Buffer<prm::mlx5_err_cqe> entry;
  entry.put<"srqn">(c.user_index)
      .put<"vendor_err_synd">(c.vendor_syndrome)
      .put<"syndrome">(c.syndrome)
      .put<"s_wqe_opcode_qpn">(prm::opcode_qpn(c.wqe_opcode, c.qpn))
      .put<"wqe_counter">(c.wqe_counter)
      .put<"op_own">(prm::op_own(c.opcode, owner));
  return entry;
}

/// The halves of a signature have a field each.
prm::Buffer<prm::mlx5_sig_err_cqe> encode_fault(const Completion& c, bool owner) {
  const SignatureFault& fault = *c.fault;
  prm::Buffer<prm::mlx5_sig_err_cqe> entry;
  entry.put<"expected_trans_sig">(fault.expected >> 32)
      .put<"actual_trans_sig">(fault.actual >> 32)
      .put<"expected_reftag">(fault.expected & 0xffffffff)
      .put<"actual_reftag">(fault.actual & 0xffffffff)
      .put<"syndrome">(fault.syndrome)
      .put<"sig_type">(prm::kSignatureOfBlock)
      .put<"domain">(fault.domain)
      .put<"mkey">(fault.key)
      .put<"err_offset">(fault.offset)
      .put<"qpn">(c.qpn)
      .put<"op_own">(prm::op_own(c.opcode, owner));
  return entry;
}

/// What a card has in the lower half is not known; no driver reads it.
std::array<std::byte, 2 * prm::kCqeBytes> padded(std::span<const std::byte> entry) {
  std::array<std::byte, 2 * prm::kCqeBytes> all{};
  std::ranges::copy(entry, all.begin() + prm::kCqeBytes);
  return all;
}

/// The format of mini entries that the context asks for; nothing for a queue that does not, for a
/// format or a layout of newer cards, or where every entry would be the first.
std::optional<prm::MiniCqeFormat> compression(prm::ConstView<prm::cqc> context) noexcept {
  const auto format =
      prm::MiniCqeFormat{static_cast<std::uint8_t>(context.get<"mini_cqe_res_format">())};
  const bool is_known = format == prm::MiniCqeFormat::HASH || format == prm::MiniCqeFormat::CSUM ||
                        format == prm::MiniCqeFormat::CSUM_STRIDX;
  if (context.get<"cqe_comp_en">() == 0 || context.get<"cqe_compression_layout">() != 0 ||
      context.get<"cc">() != 0 || !is_known)
    return std::nullopt;
  return format;
}

bool is_error(const Completion& c) noexcept {
  return c.opcode == prm::CqeOpcode::REQ_ERR || c.opcode == prm::CqeOpcode::RESP_ERR;
}

}  // namespace

CqTable::CqTable(Dma& dma, EqTable& eqs, Scheduler& scheduler, std::uint32_t log_max_cq)
    : dma_(&dma), eqs_(&eqs), scheduler_(&scheduler), ids_(1, 1u << log_max_cq) {}

std::uint64_t CqTable::pages_needed(prm::ConstView<prm::cqc> context) noexcept {
  const std::uint32_t log_page_size = context.get<"log_page_size">();
  const auto bytes = queue_bytes(context);
  if (!bytes || log_page_size > 19) return 0;
  return QueuePages::needed(*bytes, log_page_size, context.get<"page_offset">());
}

std::optional<std::uint64_t> CqTable::queue_bytes(prm::ConstView<prm::cqc> context) noexcept {
  const std::uint32_t log_size = context.get<"log_cq_size">();
  if (log_size > kMaxLogCqSize || context.get<"cqe_sz">() > CqTable::kPadded) return std::nullopt;
  return std::uint64_t{1} << (log_size + log_stride(context));
}

Verdict CqTable::create(prm::ConstView<prm::cqc> context, std::vector<Iova> pages,
                        std::uint32_t& cqn) {
  QueuePages queue;
  if (const Verdict verdict = lay_out(context, std::move(pages), queue); !verdict.ok())
    return verdict;
  return create(context, std::move(queue), context.get<"dbr_addr">(), cqn);
}

Verdict CqTable::lay_out(prm::ConstView<prm::cqc> context, std::vector<Iova> pages,
                         QueuePages& queue) {
  const std::uint64_t needed = pages_needed(context);
  if (needed == 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadSize);
  queue =
      QueuePages(std::move(pages), context.get<"log_page_size">(), context.get<"page_offset">());
  if (queue.count() < needed || !queue.aligned())
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadPages);
  return {};
}

Verdict CqTable::create(prm::ConstView<prm::cqc> context, QueuePages queue, Iova record,
                        std::uint32_t& cqn) {
  if (record % prm::kDoorbellRecordBytes != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadRecord);
  const auto id = ids_.allocate();
  if (!id) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);

  cqn = *id;
  if (cqn >= cqs_.size()) cqs_.resize(cqn + 1);
  Cq& cq = cqs_[cqn];
  cq = Cq{};
  cq.record = record;
  cq.pages = std::move(queue);
  cq.log_size = static_cast<std::uint8_t>(context.get<"log_cq_size">());  // kMaxLogCqSize at most
  cq.log_stride = log_stride(context);
  cq.is_padded = context.get<"cqe_sz">() == CqTable::kPadded;
  cq.uar = context.get<"uar_page">();
  cq.eqn = context.get<"c_eqn_or_apu_element">() & 0xff;
  cq.ignore_overrun = context.get<"oi">() != 0;
  cq.is_collapsed = context.get<"cc">() != 0;
  cq.period_from_cqe =
      context.get<"cq_period_mode">() == prm::number(prm::CqPeriodMode::START_FROM_CQE);
  std::ranges::copy(context.all(), cq.context.all().begin());
  if (const auto format = compression(context); format)
    cq.gathered = std::make_unique<CqeSession>(*format);
  moderate(cq, context);
  cq.live = true;
  live_numbers_.push_back(cqn);
  return {};
}

Verdict CqTable::destroy(std::uint32_t cqn) {
  if (!exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  if (cqs_[cqn].wait) scheduler_->cancel(*cqs_[cqn].wait);
  if (cqs_[cqn].gathered != nullptr) scheduler_->cancel(cqs_[cqn].gathered->timeout);
  cqs_[cqn] = Cq{};
  ids_.give_back(cqn);
  std::erase(live_numbers_, cqn);
  return {};
}

std::uint64_t CqTable::consumer_now(const Cq& cq) const noexcept {
  const auto record = dma_->load_be32(cq.record + prm::record_byte(prm::kCqSetCi));
  if (!record) return cq.consumer;
  const std::uint64_t step = (*record - cq.consumer) & 0xffffff;
  return step <= cq.producer - cq.consumer ? cq.consumer + step : cq.consumer;
}

void CqTable::read_consumer(Cq& cq) noexcept { cq.consumer = consumer_now(cq); }

/// The record is read only when the queue looks full: one load a round, not one a CQE.
bool CqTable::has_room(Cq& cq) noexcept {
  const std::uint64_t size = std::uint64_t{1} << cq.log_size;
  const std::uint64_t next = cq.producer + (cq.gathered != nullptr ? cq.gathered->size() : 0);
  if (cq.ignore_overrun || next - cq.consumer < size) return true;
  read_consumer(cq);
  return next - cq.consumer < size;
}

bool CqTable::fail(std::uint32_t cqn, Cq& cq, std::uint8_t syndrome) {
  cq.failed = true;
  cq.overflowed = syndrome == kOverrun;
  eqs_->raise_cq_error(cqn, syndrome);
  return false;
}

/// False when its page cannot be written. `number` counts from the queue's beginning, as producer.
bool CqTable::publish(Cq& cq, std::uint64_t number, std::span<const std::byte> entry) {
  const std::uint64_t index =
      cq.is_collapsed ? 0 : number & ((std::uint64_t{1} << cq.log_size) - 1);
  // A CQE64 stands in the upper half of a 128-byte entry (get_sw_cqe of mlx5_ib/cq.c).
  const std::uint64_t offset = ((index + 1) << cq.log_stride) - prm::kCqeBytes;
  return cq.is_padded ? dma_->publish(cq.pages.at(offset - prm::kCqeBytes), padded(entry))
                      : dma_->publish(cq.pages.at(offset), entry);
}

bool CqTable::write(Cq& cq, const Completion& completion, std::uint64_t now_ns) {
  const bool owner = (cq.producer >> cq.log_size & 1) != 0;
  if (completion.fault != nullptr) {
    const bool said = publish(cq, cq.producer, encode_fault(completion, owner).all());
    if (said) ++cq.producer;
    return said;
  }
  const bool written = is_error(completion)
                           ? publish(cq, cq.producer, encode_error(completion, owner).all())
                           : publish(cq, cq.producer, encode(completion, owner, now_ns).all());
  if (written) ++cq.producer;
  return written;
}

bool CqTable::complete(std::uint32_t cqn, const Completion& completion, std::uint64_t now_ns) {
  if (!exists(cqn)) return false;
  Cq& cq = cqs_[cqn];
  if (cq.failed) return false;
  if (!has_room(cq)) return write_gathered(cqn, cq) && fail(cqn, cq, kOverrun);
  if (cq.period_from_cqe && cq.producer == cq.told && (!cq.gathered || cq.gathered->size() == 0))
    cq.period_start_ns = scheduler_->now_ns();
  // A mini entry has no room for a tag.
  if (cq.gathered != nullptr && completion.tags == nullptr &&
      CqeSession::gathers(completion.opcode))
    return gather(cqn, cq, completion, now_ns);
  if (!write_gathered(cqn, cq)) return false;
  if (!write(cq, completion, now_ns)) return fail(cqn, cq, kAccessViolation);
  tell(cqn, cq, completion.solicited || is_error(completion));
  return true;
}

/// The first of a block waits for more. No block goes round the queue's end: DPDK reads one as it
/// lies in memory (rxq_cq_decompress_v of net/mlx5/mlx5_rxtx_vec_sse.h), buffers of as many
/// receives beside it.
bool CqTable::gather(std::uint32_t cqn, Cq& cq, const Completion& completion,
                     std::uint64_t now_ns) {
  const prm::Buffer<prm::mlx5_cqe64> entry = encode(completion, false, now_ns);
  const std::uint64_t next = cq.producer + cq.gathered->size();
  const bool goes_round = (next & ((std::uint64_t{1} << cq.log_size) - 1)) == 0;
  if ((goes_round || !cq.gathered->takes(entry)) && !write_gathered(cqn, cq)) return false;
  cq.gathered->add(entry);
  if (cq.gathered->size() > 1) return true;
  const std::uint64_t due = scheduler_->now_ns() + CqeSession::kTimeoutUs * kNsPerUs;
  cq.gathered->timeout = scheduler_->schedule(
      due, {[](void* context, std::uint64_t number) {
              auto& self = *static_cast<CqTable*>(context);
              const auto waited = static_cast<std::uint32_t>(number);
              static_cast<void>(self.write_gathered(waited, self.cqs_[waited]));
            },
            this, cqn});
  return true;
}

/// The title comes last: it makes the entries the driver's. False when a page cannot be written.
bool CqTable::write_gathered(std::uint32_t cqn, Cq& cq) {
  if (cq.gathered == nullptr || cq.gathered->size() == 0) return true;
  const CqeSession& block = *cq.gathered;
  scheduler_->cancel(block.timeout);
  bool written = true;
  for (std::size_t i = 0; i < block.arrays(); ++i)
    written = written && publish(cq, cq.producer + CqeSession::slot_of_array(i), block.array(i));
  const auto first = block.first((cq.producer >> cq.log_size & 1) != 0);
  written = written && publish(cq, cq.producer, first.all());
  const bool solicited = prm::cqe_solicited(first.get<"op_own">());
  const std::size_t count = block.size();
  cq.gathered->clear();
  if (!written) return fail(cqn, cq, kAccessViolation);
  cq.producer += count;
  tell(cqn, cq, solicited);
  return true;
}

void CqTable::tell(std::uint32_t cqn, Cq& cq, bool solicited) {
  if (solicited) cq.last_solicited = cq.producer;
  if (cq.armed && (solicited || !cq.armed_solicited)) notify(cqn, cq);
}

void CqTable::notify(std::uint32_t cqn, Cq& cq) {
  if (cq.period_ns == 0) return raise(cqn, cq);
  const std::uint64_t due = cq.period_start_ns + cq.period_ns;
  if ((cq.max_count != 0 && cq.producer - cq.told >= cq.max_count) || scheduler_->now_ns() >= due)
    return raise(cqn, cq);
  if (cq.wait) return;
  cq.wait = scheduler_->schedule(due, {[](void* context, std::uint64_t number) {
                                         auto& self = *static_cast<CqTable*>(context);
                                         const auto waited = static_cast<std::uint32_t>(number);
                                         self.raise(waited, self.cqs_[waited]);
                                       },
                                       this, cqn});
}

void CqTable::raise(std::uint32_t cqn, Cq& cq) {
  if (cq.wait) scheduler_->cancel(*cq.wait);
  cq.wait.reset();
  cq.armed = false;
  ++cq.events;
  cq.told = cq.producer;
  if (!cq.period_from_cqe && cq.period_ns != 0) cq.period_start_ns = scheduler_->now_ns();
  eqs_->raise_completion(cq.eqn, cqn);
}

void CqTable::moderate(Cq& cq, prm::ConstView<prm::cqc> context) {
  cq.max_count = context.get<"cq_max_count">();
  cq.period_ns = context.get<"cq_period">() * kNsPerUs;
}

Verdict CqTable::modify(std::uint32_t cqn, std::uint32_t select, prm::ConstView<prm::cqc> context) {
  if (!exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  if ((select & ~(prm::kCqModifyPeriod | prm::kCqModifyCount | prm::kCqModifyOverrun)) != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadSelection);
  Cq& cq = cqs_[cqn];
  if ((select & prm::kCqModifyPeriod) != 0) cq.context.put<"cq_period">(context.get<"cq_period">());
  if ((select & prm::kCqModifyCount) != 0)
    cq.context.put<"cq_max_count">(context.get<"cq_max_count">());
  if ((select & prm::kCqModifyOverrun) != 0) {
    cq.context.put<"oi">(context.get<"oi">());
    cq.ignore_overrun = context.get<"oi">() != 0;
  }
  moderate(cq, prm::ConstView<prm::cqc>(cq.context.all()));
  if (!cq.wait) return {};
  // By the new terms, which may be shorter.
  scheduler_->cancel(*cq.wait);
  cq.wait.reset();
  notify(cqn, cq);
  return {};
}

Verdict CqTable::resize(std::uint32_t cqn, prm::ConstView<prm::cqc> context, QueuePages pages) {
  if (!exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  Cq& cq = cqs_[cqn];
  if (cq.failed) return refuse(CommandStatus::BAD_RES_STATE_ERR, kFailed);
  // "resize from different cqe size is not supported": copy_resize_cqes.
  if (log_stride(context) != cq.log_stride)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOtherStride);
  const std::uint32_t log_size = context.get<"log_cq_size">();
  if (!write_gathered(cqn, cq)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kFailed);
  read_consumer(cq);
  if (!cq.ignore_overrun && (cq.producer - cq.consumer > std::uint64_t{1} << log_size))
    return refuse(CommandStatus::BAD_SIZE_OUTS_CQES_ERR, kTooManyOutstanding);
  if (!has_room(cq)) return refuse(CommandStatus::BAD_SIZE_OUTS_CQES_ERR, kTooManyOutstanding);
  const bool all_told = cq.told == cq.producer;
  if (!write(cq, {.opcode = prm::CqeOpcode::RESIZE_CQ}, scheduler_->now_ns())) {
    fail(cqn, cq, kAccessViolation);
    return refuse(CommandStatus::BAD_RES_STATE_ERR, kFailed);
  }
  if (all_told) cq.told = cq.producer;
  cq.pages = std::move(pages);
  cq.log_size = static_cast<std::uint8_t>(log_size);
  cq.context.put<"log_cq_size">(log_size)
      .put<"log_page_size">(context.get<"log_page_size">())
      .put<"page_offset">(context.get<"page_offset">());
  return {};
}

Verdict CqTable::query(std::uint32_t cqn, prm::View<prm::cqc> context) const {
  if (!exists(cqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchCq);
  const Cq& cq = cqs_[cqn];
  std::ranges::copy(cq.context.all(), context.all().begin());
  const auto failure = cq.overflowed ? prm::CqStatus::CQ_OVERFLOW : prm::CqStatus::CQ_WRITE_FAIL;
  const auto armed = cq.armed_solicited ? prm::CqState::SOLICITED_NOTIFICATION_REQUEST_ARMED
                                        : prm::CqState::NOTIFICATION_REQUEST_ARMED;
  // None of these is wider than its field.
  static_cast<void>(
      context.try_set<"status">(prm::number(cq.failed ? failure : prm::CqStatus::OK)));
  static_cast<void>(context.try_set<"st">(prm::number(cq.armed ? armed : prm::CqState::FIRED)));
  static_cast<void>(context.try_set<"consumer_counter">(consumer_now(cq) & 0xffffff));
  static_cast<void>(context.try_set<"producer_counter">(cq.producer & 0xffffff));
  return {};
}

void CqTable::kick(std::uint32_t uar) {
  for (const std::uint32_t cqn : live_numbers_)
    if (cqs_[cqn].uar == uar) read_arm_record(cqn, cqs_[cqn]);
}

void CqTable::ring(std::uint32_t uar, std::uint32_t cqn) {
  if (exists(cqn) && cqs_[cqn].uar == uar) read_arm_record(cqn, cqs_[cqn]);
}

void CqTable::read_arm_record(std::uint32_t cqn, Cq& cq) {
  const auto record = dma_->load_be32(cq.record + prm::record_byte(prm::kCqArmDb));
  // The sequence number tells a fresh request from the one that an event has already answered.
  if (!record || prm::cq_arm_sn(*record) != (cq.events & 3)) return;
  cq.armed = true;
  cq.armed_solicited = prm::cq_arm_solicited(*record);
  // A request asks for what is new (ibv_req_notify_cq): what came since the last event and is
  // behind the consumer index, which the requester has not seen, is told at once. One that an event
  // has told is not told again, whether or not it has been polled since: ib_send_lat -e arms before
  // it polls, and waits for one event of each completion.
  const std::uint64_t unseen = (cq.producer - *record) & 0xffffff;
  const std::uint64_t seen = cq.producer - std::min(unseen, cq.producer);
  const std::uint64_t newest = cq.armed_solicited ? cq.last_solicited : cq.producer;
  if (newest > std::max(seen, cq.told)) notify(cqn, cq);
}

void CqTable::clear() noexcept {
  for (const std::uint32_t cqn : live_numbers_) {
    if (cqs_[cqn].wait) scheduler_->cancel(*cqs_[cqn].wait);
    if (cqs_[cqn].gathered != nullptr) scheduler_->cancel(cqs_[cqn].gathered->timeout);
  }
  cqs_.clear();
  live_numbers_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
