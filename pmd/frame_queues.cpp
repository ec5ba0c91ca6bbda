// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/frame_queues.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/cells.hpp"
#include "base/dma_bytes.hpp"
#include "pmd/command_tail.hpp"
#include "pmd/data_segment.hpp"
#include "pmd/inline_command.hpp"
#include "pmd/queue_memory.hpp"
#include "prm/cqe.hpp"
#include "prm/doorbell.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/object_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/wqe.hpp"

namespace portcullis::pmd {
namespace {

constexpr std::uint32_t kFrames = 1U << FrameQueues::kLogFrames;
constexpr std::uint32_t kLogCompletions = FrameQueues::kLogFrames + 1;
// Each ring has a page of its own: a context describes whole pages.
constexpr std::size_t kSendRing = kPageBytes;
constexpr std::size_t kReceiveRing = 2 * kPageBytes;
constexpr std::size_t kRings = 4 * kPageBytes;
static_assert(kFrames * prm::kSendWqeBlockBytes <= kPageBytes);
static_assert((prm::kCqeBytes << kLogCompletions) <= kPageBytes);
constexpr std::size_t kSendRecord = prm::kDoorbellRecordBytes;
constexpr std::size_t kReceiveRecord = 2 * prm::kDoorbellRecordBytes;
constexpr std::size_t kRecords = 4 * prm::kDoorbellRecordBytes;

constexpr std::uint32_t kLogBfRegister = 9;  // ConnectX-5 (prm/doorbell.hpp)
constexpr std::size_t kOpOwnByte = prm::place<prm::mlx5_cqe64, "op_own">.offset / 8;

// The first bytes of a frame stand in the WQE: what MLX5_INLINE_MODE_L2 asks for, addresses, a tag
// and an ethertype (mlx5e_calc_min_inline: ETH_HLEN + VLAN_HLEN). So a WQE is one block.
constexpr std::size_t kInlineBytes = 18;
constexpr std::size_t kEthernetAt = prm::mlx5_wqe_ctrl_seg::bytes;
constexpr std::size_t kInlineAt =
    kEthernetAt + prm::place<prm::mlx5_wqe_eth_seg, "inline_hdr_start">.offset / 8;
constexpr std::size_t kDataAt = kEthernetAt + prm::mlx5_wqe_eth_seg::bytes + prm::kWqeOctowordBytes;
constexpr std::uint32_t kOctowords = 4;
static_assert(kInlineAt + kInlineBytes == kDataAt);
static_assert(kDataAt + prm::mlx5_wqe_data_seg::bytes == prm::kSendWqeBlockBytes);

template <class In, prm::Opcode kOpcode, prm::Name kNumber>
Result<void> destroy(CommandChannel& channel, std::uint32_t number, std::uint64_t deadline_ns) {
  prm::Buffer<In> in;
  in.template put<"opcode">(kOpcode);
  in.template put<kNumber>(number);
  return InlineCommand(in).run(channel, deadline_ns, SlotClass::Common);
}

}  // namespace

Result<std::unique_ptr<FrameQueues>> FrameQueues::create(const Context& context,
                                                         std::uint32_t frame_bytes) {
  PORTCULLIS_TRY_ASSIGN(ProtectionDomain pd, ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(TransportDomain domain, TransportDomain::create(context));
  // Nobody else rings there: the doorbell alternates between two halves for each who does.
  PORTCULLIS_TRY_ASSIGN(Uar uar, Uar::create(context));
  std::unique_ptr<FrameQueues> queues(
      new FrameQueues(context, std::move(pd), std::move(domain), std::move(uar)));
  PORTCULLIS_TRY(queues->make_memory(frame_bytes));
  PORTCULLIS_TRY(queues->make_completions());
  PORTCULLIS_TRY(queues->make_sender());
  PORTCULLIS_TRY(queues->make_receiver());
  for (std::uint32_t i = 0; i < kFrames; ++i) queues->post_receive();
  return queues;
}

FrameQueues::~FrameQueues() {
  // In the order of the objects, so that the memory is given up if one of them stays.
  for (ObjectHandle* each : {&tir_, &rq_, &sq_, &tis_, &cq_})
    if (each->is_live() && !each->is_refused()) (void)each->destroy();
  if (!rq_.is_live() && !sq_.is_live() && !cq_.is_live()) return;
  frames_.quarantine();
  rings_.quarantine();
  records_.quarantine();
}

Result<void> FrameQueues::make_memory(std::uint32_t frame_bytes) {
  slot_bytes_ = std::bit_ceil(std::size_t{frame_bytes});
  PORTCULLIS_TRY_ASSIGN(frames_, context_->arena->allocate(2 * kFrames * slot_bytes_));
  PORTCULLIS_TRY_ASSIGN(rings_, context_->arena->allocate(kRings));
  PORTCULLIS_TRY_ASSIGN(records_, context_->arena->allocate(kRecords));
  const MemoryRange range{
      .iova = frames_.iova(), .bytes = frames_.bytes().size(), .start_address = frames_.iova()};
  PORTCULLIS_TRY_ASSIGN(MemoryKey key,
                        MemoryKey::create_mtt(*context_, pd_, range, {.local_write = true}));
  key_.emplace(std::move(key));
  return {};
}

Result<void> FrameQueues::make_completions() {
  for (std::uint32_t i = 0; i < 2 * kFrames; ++i)
    cells::store_release<std::uint8_t>(rings_.data() + i * prm::kCqeBytes + kOpOwnByte,
                                       prm::kCqeNeverWritten);
  prm::Buffer<prm::create_cq_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_CQ);
  in.put<"cq_context.cqe_sz">(prm::CqeSize::B64).put<"cq_context.log_cq_size">(kLogCompletions);
  in.put<"cq_context.uar_page">(uar_.index());
  in.put<"cq_context.c_eqn_or_apu_element">(context_->eqn);
  in.put<"cq_context.dbr_addr">(records_.iova());
  const std::array<std::uint64_t, 1> pages{rings_.iova()};
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_cq_out>(*context_->commands, in, pages));
  cq_ = ObjectHandle(*context_->commands, out.get<"cqn">(),
                     destroy<prm::destroy_cq_in, prm::Opcode::DESTROY_CQ, "cqn">);
  return {};
}

Result<void> FrameQueues::make_sender() {
  prm::Buffer<prm::create_tis_in> tis;
  tis.put<"opcode">(prm::Opcode::CREATE_TIS).put<"ctx.transport_domain">(domain_.number());
  PORTCULLIS_TRY_ASSIGN(const auto made, run<prm::create_tis_out>(*context_->commands, tis));
  tis_ = ObjectHandle(*context_->commands, made.get<"tisn">(),
                      destroy<prm::destroy_tis_in, prm::Opcode::DESTROY_TIS, "tisn">);
  PORTCULLIS_TRY_ASSIGN(const std::uint32_t sqn, create_sq());
  sq_ = ObjectHandle(*context_->commands, sqn,
                     destroy<prm::destroy_sq_in, prm::Opcode::DESTROY_SQ, "sqn">);
  prm::Buffer<prm::modify_sq_in> ready;
  ready.put<"opcode">(prm::Opcode::MODIFY_SQ).put<"sqn">(sqn);
  ready.put<"sq_state">(prm::SqState::RST).put<"ctx.state">(prm::SqState::RDY);
  PORTCULLIS_TRY(run<prm::modify_sq_out>(*context_->commands, ready));
  return {};
}

Result<std::uint32_t> FrameQueues::create_sq() const {
  prm::Buffer<prm::create_sq_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_SQ).put<"ctx.state">(prm::SqState::RST);
  in.set<"ctx.flush_in_error_en", 1>().set<"ctx.tis_lst_sz", 1>();
  in.put<"ctx.ts_format">(prm::QpcTimestampFormat::FREE_RUNNING);
  in.put<"ctx.tis_num_0">(tis_.id()).put<"ctx.cqn">(cq_.id());
  in.put<"ctx.wq.wq_type">(prm::WqType::CYCLIC).put<"ctx.wq.pd">(pd_.number());
  in.put<"ctx.wq.uar_page">(uar_.index()).put<"ctx.wq.dbr_addr">(records_.iova() + kSendRecord);
  in.set<"ctx.wq.log_wq_stride", std::countr_zero(std::uint32_t{prm::kSendWqeBlockBytes})>();
  in.put<"ctx.wq.log_wq_sz">(kLogFrames);
  const std::array<std::uint64_t, 1> pages{rings_.iova() + kSendRing};
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_sq_out>(*context_->commands, in, pages));
  return out.get<"sqn">();
}

Result<void> FrameQueues::make_receiver() {
  PORTCULLIS_TRY_ASSIGN(const std::uint32_t rqn, create_rq());
  rq_ = ObjectHandle(*context_->commands, rqn,
                     destroy<prm::destroy_rq_in, prm::Opcode::DESTROY_RQ, "rqn">);
  prm::Buffer<prm::modify_rq_in> ready;
  ready.put<"opcode">(prm::Opcode::MODIFY_RQ).put<"rqn">(rqn);
  ready.put<"rq_state">(prm::RqState::RST).put<"ctx.state">(prm::RqState::RDY);
  PORTCULLIS_TRY(run<prm::modify_rq_out>(*context_->commands, ready));
  // self_lb_block stays 0: what the function sends itself does not come back here.
  prm::Buffer<prm::create_tir_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_TIR).put<"ctx.disp_type">(prm::TirDispType::DIRECT);
  in.put<"ctx.inline_rqn">(rqn).put<"ctx.transport_domain">(domain_.number());
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::create_tir_out>(*context_->commands, in));
  tir_ = ObjectHandle(*context_->commands, out.get<"tirn">(),
                      destroy<prm::destroy_tir_in, prm::Opcode::DESTROY_TIR, "tirn">);
  return {};
}

/// vsd: a tag stays in the frame, where whoever reads it looks for it.
Result<std::uint32_t> FrameQueues::create_rq() const {
  constexpr std::uint32_t kLogStride = std::countr_zero(std::uint32_t{prm::kWqeOctowordBytes});
  prm::Buffer<prm::create_rq_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_RQ).put<"ctx.state">(prm::RqState::RST);
  in.put<"ctx.mem_rq_type">(prm::MemRqType::MEMORY_RQ_INLINE);
  in.set<"ctx.vsd", 1>().set<"ctx.flush_in_error_en", 1>();
  in.put<"ctx.ts_format">(prm::QpcTimestampFormat::FREE_RUNNING).put<"ctx.cqn">(cq_.id());
  in.put<"ctx.wq.wq_type">(prm::WqType::CYCLIC).put<"ctx.wq.pd">(pd_.number());
  in.put<"ctx.wq.dbr_addr">(records_.iova() + kReceiveRecord);
  in.put<"ctx.wq.log_wq_stride">(kLogStride).put<"ctx.wq.log_wq_sz">(kLogFrames);
  const std::array<std::uint64_t, 1> pages{rings_.iova() + kReceiveRing};
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_rq_out>(*context_->commands, in, pages));
  return out.get<"rqn">();
}

void FrameQueues::post_receive() noexcept {
  const std::uint32_t index = posted_++ % kFrames;
  put_piece(rings_.data() + kReceiveRing + index * prm::kWqeOctowordBytes,
            {.address = frames_.iova() + index * slot_bytes_,
             .lkey = key_->lkey(),
             .bytes = static_cast<std::uint32_t>(slot_bytes_)});
  cells::store_release<std::uint32_t>(
      records_.data() + kReceiveRecord + prm::record_byte(prm::kRcvDbr),
      cells::be32(prm::rq_producer_index(posted_)));
}

tl::unexpected<Error> FrameQueues::break_with(const std::string& what) {
  broken_ = Error{Errc::DeviceFailed, "queues of Ethernet frames: " + what, std::nullopt};
  return tl::unexpected<Error>(*broken_);
}

Result<std::optional<std::size_t>> FrameQueues::receive(std::span<std::byte> to) {
  if (broken_) return tl::unexpected<Error>(*broken_);
  while (true) {
    std::byte* at = rings_.data() + (seen_ % (2 * kFrames)) * prm::kCqeBytes;
    const std::uint8_t op_own = cells::load_acquire<std::uint8_t>(at + kOpOwnByte);
    if (!prm::cqe_is_ready(op_own, seen_, kLogCompletions)) return std::nullopt;
    const prm::ConstView<prm::mlx5_ethernet_cqe> cqe(
        std::span<const std::byte, prm::kCqeBytes>(at, prm::kCqeBytes));
    const auto counter = static_cast<std::uint16_t>(cqe.get<"wqe_counter">());
    const std::size_t bytes = cqe.get<"byte_cnt">();
    const prm::CqeOpcode opcode = prm::cqe_opcode(op_own);
    ++seen_;
    cells::store_release<std::uint32_t>(records_.data() + prm::record_byte(prm::kCqSetCi),
                                        cells::be32(prm::cq_consumer_index(seen_)));
    if (opcode == prm::CqeOpcode::REQ) {
      if (gone_ == sent_ || counter != static_cast<std::uint16_t>(gone_))
        return break_with("a frame is said to be sent that nobody sent");
      ++gone_;
      continue;
    }
    if (opcode != prm::CqeOpcode::RESP_SEND)
      return break_with("a completion of opcode " + std::to_string(prm::number(opcode)));
    if (counter != static_cast<std::uint16_t>(received_) || bytes > slot_bytes_ ||
        bytes > to.size())
      return break_with("a frame of " + std::to_string(bytes) + " bytes in receive " +
                        std::to_string(counter));
    dma_copy(to.data(), slot(received_++ % kFrames), bytes);
    post_receive();
    return bytes;
  }
}

Result<void> FrameQueues::send(std::span<const std::byte> frame) {
  if (broken_) return tl::unexpected<Error>(*broken_);
  if (frame.size() <= kInlineBytes || frame.size() > slot_bytes_)
    return fail(Errc::InvalidArgument, "a frame of " + std::to_string(frame.size()) +
                                           " bytes; more than " + std::to_string(kInlineBytes) +
                                           " and at most " + std::to_string(slot_bytes_) +
                                           " are accepted");
  if (sent_ - gone_ == kFrames) return fail(Errc::Busy, "every frame is still under way");
  const std::uint32_t index = sent_ % kFrames;
  std::byte* memory = slot(kFrames + index);
  dma_copy(memory, frame.data(), frame.size());
  std::byte* wqe = rings_.data() + kSendRing + index * prm::kSendWqeBlockBytes;
  std::memset(wqe, 0, prm::kSendWqeBlockBytes);
  const std::span<std::byte> room(wqe, prm::kSendWqeBlockBytes);
  const auto control = prm::View<prm::mlx5_wqe_ctrl_seg>::at(room);
  control.put<"opmod_idx_opcode">(
      prm::opmod_idx_opcode(prm::WqeOpcode::SEND, static_cast<std::uint16_t>(sent_)));
  control.put<"qpn_ds">(prm::qpn_ds(sq_.id(), kOctowords));
  control.put<"fm_ce_se">(prm::kCtrlCqUpdate);
  prm::View<prm::mlx5_wqe_eth_seg>::at(room, kEthernetAt)
      .put<"inline_hdr_sz">(static_cast<std::uint16_t>(kInlineBytes));
  std::memcpy(wqe + kInlineAt, frame.data(), kInlineBytes);
  put_piece(wqe + kDataAt,
            {.address = frames_.iova() + (kFrames + index) * slot_bytes_ + kInlineBytes,
             .lkey = key_->lkey(),
             .bytes = static_cast<std::uint32_t>(frame.size() - kInlineBytes)});
  ++sent_;
  // The record first: the device that sees the doorbell must find the WQE counted
  // (mlx5e_notify_hw).
  cells::store_release<std::uint32_t>(
      records_.data() + kSendRecord + prm::record_byte(prm::kSndDbr),
      cells::be32(prm::sq_producer_index(sent_)));
  std::uint64_t doorbell;
  std::memcpy(&doorbell, wqe, sizeof doorbell);
  cells::ring<std::uint64_t>(uar_.page().data() + prm::kBfOffset + doorbell_, doorbell);
  doorbell_ ^= prm::bf_buffer_bytes(kLogBfRegister);
  return {};
}

}  // namespace portcullis::pmd
