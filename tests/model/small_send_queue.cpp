// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/small_send_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/cells.hpp"
#include "prm/doorbell.hpp"
#include "prm/ethernet_wqe.hpp"
#include "prm/pacing_commands.hpp"
#include "prm/receive_commands.hpp"
#include "prm/wqe.hpp"
#include "tests/model/ethernet_frames.hpp"

namespace portcullis::model::testing {
namespace {

using prm::Opcode;

constexpr std::size_t kRecordsAt = 0;  // the CQ's, then the SQ's
constexpr std::size_t kSendRecordAt = 64;
constexpr std::size_t kCqAt = 1 * kPageBytes;
constexpr std::size_t kSqAt = 2 * kPageBytes;
constexpr std::size_t kInlineAt = 16 + 14;  // control segment, Ethernet segment up to its header
constexpr std::size_t kWqeBlock = 64;
constexpr std::size_t kBlocks = 2;       // of a WQE that has its frame inline
constexpr std::uint32_t kLogBlocks = 5;  // of the queue
static_assert(kWqeBlock << kLogBlocks <= kPageBytes);

}  // namespace

SmallSendQueue::SmallSendQueue(MiniDriver& driver, std::uint32_t rate_index)
    : driver_(driver), memory_(driver.allocate(3 * kPageBytes)), eq_(driver, {}) {
  uar_ = driver_.alloc_uar();
  cqn_ = create_cq();
  auto in = command<prm::create_sq_in>(Opcode::CREATE_SQ);
  in.put<"ctx.cqn">(cqn_).put<"ctx.wq.wq_type">(prm::WqType::CYCLIC);
  in.put<"ctx.wq.pd">(driver_.alloc_pd()).put<"ctx.wq.uar_page">(uar_);
  in.put<"ctx.wq.dbr_addr">(memory_.iova() + kSendRecordAt).set<"ctx.wq.log_wq_stride", 6>();
  in.put<"ctx.wq.log_wq_sz">(kLogBlocks).set<"ctx.tis_lst_sz", 1>();
  in.put<"ctx.tis_num_0">(create_tis());
  in.put<"ctx.packet_pacing_rate_limit_index">(rate_index);
  const std::array<Iova, 1> pages{memory_.iova() + kSqAt};
  number_ = driver_.run<prm::create_sq_out>(in, pages).as<prm::create_sq_out>().get<"sqn">();
  EXPECT_TRUE(modify(prm::SqState::RST, prm::SqState::RDY).ok());
}

std::uint32_t SmallSendQueue::create_cq() {
  auto in = command<prm::create_cq_in>(Opcode::CREATE_CQ);
  in.set<"cq_context.log_cq_size", 4>().put<"cq_context.uar_page">(eq_.uar());
  in.put<"cq_context.c_eqn_or_apu_element">(eq_.eqn());
  in.put<"cq_context.dbr_addr">(memory_.iova() + kRecordsAt);
  const std::array<Iova, 1> pages{memory_.iova() + kCqAt};
  return driver_.run<prm::create_cq_out>(in, pages).as<prm::create_cq_out>().get<"cqn">();
}

std::uint32_t SmallSendQueue::create_tis() {
  const Answer domain = driver_.run<prm::alloc_transport_domain_out>(
      command<prm::alloc_transport_domain_in>(Opcode::ALLOC_TRANSPORT_DOMAIN));
  auto in = command<prm::create_tis_in>(Opcode::CREATE_TIS);
  in.put<"ctx.transport_domain">(
      domain.as<prm::alloc_transport_domain_out>().get<"transport_domain">());
  return driver_.run<prm::create_tis_out>(in).as<prm::create_tis_out>().get<"tisn">();
}

Answer SmallSendQueue::modify(prm::SqState from, prm::SqState to) {
  auto in = command<prm::modify_sq_in>(Opcode::MODIFY_SQ);
  in.put<"sqn">(number_).put<"sq_state">(from).put<"ctx.state">(to);
  return driver_.run<prm::modify_sq_out>(in);
}

Answer SmallSendQueue::change_rate(std::uint32_t rate_index) {
  auto in = command<prm::modify_sq_in>(Opcode::MODIFY_SQ);
  in.put<"sqn">(number_).put<"sq_state">(prm::SqState::RDY).put<"ctx.state">(prm::SqState::RDY);
  in.put<"modify_bitmask">(prm::kModifySqRateLimit);
  in.put<"ctx.packet_pacing_rate_limit_index">(rate_index);
  return driver_.run<prm::modify_sq_out>(in);
}

void SmallSendQueue::post(std::uint16_t dport, bool to_group) {
  auto frame = build_frame({.udp = true, .payload = kFrameBytes - 14 - 20 - 8, .dport = dport});
  ASSERT_EQ(frame.size(), kFrameBytes);
  if (to_group) frame[0] |= std::byte{1};
  const std::size_t block = posted_ % (1U << kLogBlocks);
  const auto wqe = memory_.bytes().subspan(kSqAt + block * kWqeBlock, kBlocks * kWqeBlock);
  const auto ctrl = prm::View<prm::mlx5_wqe_ctrl_seg>::at(wqe);
  ctrl.put<"opmod_idx_opcode">(std::uint32_t{posted_} << 8 | prm::number(prm::WqeOpcode::SEND));
  constexpr std::uint32_t kOctowords = (kInlineAt + kFrameBytes + 15) / 16;
  ctrl.put<"qpn_ds">(number_ << 8 | kOctowords);
  prm::View<prm::mlx5_wqe_eth_seg>::at(wqe, 16).put<"inline_hdr_sz">(
      static_cast<std::uint16_t>(kFrameBytes));
  std::memcpy(wqe.data() + kInlineAt, frame.data(), frame.size());
  posted_ = static_cast<std::uint16_t>(posted_ + kBlocks);
  cells::store_release<std::uint32_t>(memory_.bytes().data() + kSendRecordAt + 4,
                                      cells::be32(posted_));
  cells::store_release<std::uint64_t>(
      driver_.device().bar.data() + prm::uar_offset(uar_) + prm::kBfOffset, 1);
}

}  // namespace portcullis::model::testing
