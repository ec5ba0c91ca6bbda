// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/queue_pair.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/cells.hpp"
#include "prm/doorbell.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"
#include "prm/wqe.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

using prm::Opcode;

constexpr std::size_t kCqBytes = prm::kCqeBytes << CompletionQueue::kLogEntries;
constexpr std::size_t kSqBytes = prm::kSendWqeBlockBytes << QueuePair::kLogBlocks;
constexpr std::uint32_t kFirstPsn = 0x123456;
constexpr std::uint32_t kLogMaxMessage = 20;

}  // namespace

CompletionQueue::CompletionQueue(Device& device)
    : device_(&device), memory_(kCqBytes + prm::kDoorbellRecordBytes) {
  for (std::size_t at = prm::kCqeBytes - 1; at < kCqBytes; at += prm::kCqeBytes)
    memory_.bytes()[at] = std::byte{prm::kCqeNeverWritten};
}

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::create(Device& device,
                                                                 std::uint32_t eqn) {
  std::unique_ptr<CompletionQueue> queue(new CompletionQueue(device));
  PORTCULLIS_TRY_ASSIGN(queue->umem_, device.register_memory(queue->memory_));
  prm::Buffer<prm::create_cq_in> in;
  in.set<"opcode", Opcode::CREATE_CQ>()
      .set<"cq_context.log_cq_size", kLogEntries>()
      .put<"cq_context.uar_page">(device.uar())
      .put<"cq_context.c_eqn_or_apu_element">(eqn)
      .set<"cq_context.dbr_umem_valid", 1>()
      .put<"cq_context.dbr_umem_id">(queue->umem_->umem_id)
      .put<"cq_context.dbr_addr">(kCqBytes)
      .set<"cq_umem_valid", 1>()
      .put<"cq_umem_id">(queue->umem_->umem_id);
  PORTCULLIS_TRY_ASSIGN(const auto out, device.run<prm::create_cq_out>(in));
  queue->cqn_ = out.get<"cqn">();
  return queue;
}

CompletionQueue::~CompletionQueue() {
  if (cqn_ == 0) return;
  prm::Buffer<prm::destroy_cq_in> in;
  in.set<"opcode", Opcode::DESTROY_CQ>().put<"cqn">(cqn_);
  static_cast<void>(device_->run<prm::destroy_cq_out>(in));
}

std::byte* CompletionQueue::record(std::size_t dword) const noexcept {
  return memory_.bytes().data() + kCqBytes + prm::record_byte(dword);
}

std::optional<Completion> CompletionQueue::poll() {
  const std::size_t index = consumer_ & ((1U << kLogEntries) - 1);
  const auto entry = memory_.bytes().subspan(index * prm::kCqeBytes, prm::kCqeBytes);
  const auto op_own = cells::load_acquire<std::uint8_t>(&entry.back());
  if (!prm::cqe_is_ready(op_own, consumer_, kLogEntries)) return std::nullopt;
  const auto error = prm::ConstView<prm::mlx5_err_cqe>::at(entry);
  Completion completion;
  completion.wqe = static_cast<std::uint16_t>(error.get<"wqe_counter">());
  if (prm::cqe_is_error(op_own))
    completion.status =
        prm::wc_status(prm::CqeSyndrome{static_cast<std::uint8_t>(error.get<"syndrome">())});
  ++consumer_;
  cells::store_release<std::uint32_t>(record(prm::kCqSetCi),
                                      cells::be32(prm::cq_consumer_index(consumer_)));
  return completion;
}

Result<Completion> CompletionQueue::wait(std::uint32_t timeout_ms) {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + std::chrono::milliseconds(timeout_ms);
  while (Steady::now() < end) {
    if (const auto completion = poll()) return *completion;
    PORTCULLIS_TRY(device_->process_events());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return fail(Errc::Timeout, fmt::format("no completion within {} ms", timeout_ms));
}

void CompletionQueue::arm(std::uint32_t event) const noexcept {
  const std::uint32_t request = prm::cq_arm_record(event, prm::kCqDbReqNot, consumer_);
  cells::store_release<std::uint32_t>(record(prm::kCqArmDb), cells::be32(request));
  cells::ring<std::uint64_t>(device_->uar_page() + prm::kCqDoorbell,
                             cells::be64(prm::cq_doorbell(request, cqn_)));
}

QueuePair::QueuePair(Device& device)
    : device_(&device), memory_(kSqBytes + prm::kDoorbellRecordBytes) {}

Result<std::unique_ptr<QueuePair>> QueuePair::create(Device& device,
                                                     const CompletionQueue& completions) {
  std::unique_ptr<QueuePair> pair(new QueuePair(device));
  PORTCULLIS_TRY_ASSIGN(pair->umem_, device.register_memory(pair->memory_));
  prm::Buffer<prm::create_qp_in> in;
  in.set<"opcode", Opcode::CREATE_QP>()
      .put<"qpc.st">(prm::QpServiceType::RC)
      .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
      .put<"qpc.pd">(device.pd())
      .put<"qpc.rq_type">(prm::QpRqType::ZERO_LEN_RQ)
      .set<"qpc.log_sq_size", kLogBlocks>()
      .put<"qpc.uar_page">(device.uar())
      .put<"qpc.cqn_snd">(completions.number())
      .put<"qpc.cqn_rcv">(completions.number())
      .set<"qpc.log_msg_max", kLogMaxMessage>()
      .set<"qpc.dbr_umem_valid", 1>()
      .put<"qpc.dbr_umem_id">(pair->umem_->umem_id)
      .put<"qpc.dbr_addr">(kSqBytes)
      .set<"wq_umem_valid", 1>()
      .put<"wq_umem_id">(pair->umem_->umem_id);
  PORTCULLIS_TRY_ASSIGN(const auto out, device.run<prm::create_qp_out>(in));
  pair->qpn_ = out.get<"qpn">();
  return pair;
}

QueuePair::~QueuePair() {
  if (qpn_ == 0) return;
  prm::Buffer<prm::destroy_qp_in> in;
  in.set<"opcode", Opcode::DESTROY_QP>().put<"qpn">(qpn_);
  static_cast<void>(device_->run<prm::destroy_qp_out>(in));
}

Result<void> QueuePair::connect(const Port& port, std::uint32_t remote) {
  prm::Buffer<prm::rst2init_qp_in> init;
  init.set<"opcode", Opcode::RST2INIT_QP>()
      .put<"qpn">(qpn_)
      .put<"qpc.pm_state">(prm::QpPathMigration::MIGRATED)
      .set<"qpc.rwe", 1>()
      .set<"qpc.rre", 1>()
      .set<"qpc.primary_address_path.vhca_port_num", 1>();
  PORTCULLIS_TRY(device_->run<prm::rst2init_qp_out>(init));
  PORTCULLIS_TRY(receive_from(port, remote));
  return send_to();
}

Result<void> QueuePair::receive_from(const Port& port, std::uint32_t remote) {
  prm::Buffer<prm::init2rtr_qp_in> in;
  in.set<"opcode", Opcode::INIT2RTR_QP>()
      .put<"qpn">(qpn_)
      .put<"qpc.mtu">(prm::QpcMtu::MTU_1024)
      .set<"qpc.log_msg_max", kLogMaxMessage>()
      .put<"qpc.remote_qpn">(remote)
      .set<"qpc.next_rcv_psn", kFirstPsn>();
  fill_path(in, port);
  PORTCULLIS_TRY(device_->run<prm::init2rtr_qp_out>(in));
  return {};
}

Result<void> QueuePair::send_to() {
  prm::Buffer<prm::rtr2rts_qp_in> in;
  in.set<"opcode", Opcode::RTR2RTS_QP>()
      .put<"qpn">(qpn_)
      .set<"qpc.next_send_psn", kFirstPsn>()
      .set<"qpc.retry_count", kRetryCount>()
      .set<"qpc.rnr_retry", 7>()
      .set<"qpc.primary_address_path.vhca_port_num", 1>()
      .set<"qpc.primary_address_path.ack_timeout", kAckTimeout>();
  PORTCULLIS_TRY(device_->run<prm::rtr2rts_qp_out>(in));
  return {};
}

Result<void> QueuePair::to_error() {
  prm::Buffer<prm::qp_2err_in> in;
  in.set<"opcode", Opcode::QP_2ERR>().put<"qpn">(qpn_);
  PORTCULLIS_TRY(device_->run<prm::qp_2err_out>(in));
  return {};
}

Result<void> QueuePair::to_reset() {
  prm::Buffer<prm::qp_2rst_in> in;
  in.set<"opcode", Opcode::QP_2RST>().put<"qpn">(qpn_);
  PORTCULLIS_TRY(device_->run<prm::qp_2rst_out>(in));
  return {};
}

void QueuePair::post(const Write& write) {
  constexpr std::uint32_t kOctowords = 3;  // control, remote address, data
  const std::size_t block = producer_ & ((1U << kLogBlocks) - 1);
  const auto wqe =
      memory_.bytes().subspan(block * prm::kSendWqeBlockBytes, prm::kSendWqeBlockBytes);
  std::memset(wqe.data(), 0, wqe.size());
  const auto control = prm::View<prm::mlx5_wqe_ctrl_seg>::at(wqe);
  control.put<"opmod_idx_opcode">(prm::opmod_idx_opcode(prm::WqeOpcode::RDMA_WRITE, producer_));
  control.put<"qpn_ds">(prm::qpn_ds(qpn_, kOctowords));
  control.set<"fm_ce_se", prm::kCtrlCqUpdate>();
  const auto remote = prm::View<prm::mlx5_wqe_raddr_seg>::at(wqe, prm::kWqeOctowordBytes);
  remote.put<"raddr">(write.to);
  remote.put<"rkey">(write.rkey);
  const auto data = prm::View<prm::mlx5_wqe_data_seg>::at(wqe, 2 * prm::kWqeOctowordBytes);
  data.put<"byte_count">(write.bytes);
  data.put<"lkey">(write.lkey);
  data.put<"addr">(write.from);
  ++producer_;
  std::byte* const record = memory_.bytes().data() + kSqBytes + prm::record_byte(prm::kSndDbr);
  cells::store_release<std::uint32_t>(record, cells::be32(prm::sq_producer_index(producer_)));
  std::uint64_t first = 0;
  std::memcpy(&first, wqe.data(), sizeof first);
  cells::ring<std::uint64_t>(device_->uar_page() + prm::kBfOffset, first);
}

}  // namespace portcullis::tools::vfio_peer
