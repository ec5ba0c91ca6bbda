// SPDX-License-Identifier: BSD-3-Clause
//
// The model's Ethernet path under anything: send WQEs of any bytes, producer indices of any value,
// receive WQEs of any bytes, and frames of any bytes to a TIR that hashes. A page that
// nobody mapped stays as it is, and a frame that goes out is no longer than a frame may be.
// libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs the corpus once.
//
// An input is a row of steps: a byte that says which, two bytes of length (little-endian), and that
// many bytes, which the step reads as it needs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/cells.hpp"
#include "model/ethernet/ipoib.hpp"
#include "model/ethernet/port_counters.hpp"
#include "model/ethernet/send_queues.hpp"
#include "model/steering/flow_key.hpp"
#include "model/steering/receive_targets.hpp"
#include "model/transport/frame.hpp"
#include "prm/doorbell.hpp"
#include "prm/wqe.hpp"
#include "tests/model/queue_parts.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::model;

constexpr std::size_t kStepHeader = 3;
constexpr int kMostSteps = 256;
constexpr std::uint32_t kUar = 20;
constexpr std::uint32_t kPd = 7;
constexpr std::uint32_t kLogCompletions = 6;
// Pages.
constexpr std::size_t kCompletions = 1, kSends = 2, kReceives = 3, kRecords = 4, kPayload = 5,
                      kUnmapped = 9, kPages = 10;
constexpr std::byte kUntouched{0x5a};

enum class Step : std::uint8_t { Send, Ring, Receive, Frame, Own, Restart, Datagram };
constexpr std::uint8_t kSteps = 7;
/// In the first byte of an input: the queue sends IP over InfiniBand.
constexpr std::byte kUnderlay{0x80};

void require(bool held) {
  if (!held) std::abort();
}

class Outlet final : public FrameOutlet {
 public:
  std::span<std::byte> next() override { return buffer_; }
  void send(std::size_t length, std::uint32_t /*domain*/) override {
    require(length >= kEthernetBytes && length <= buffer_.size());
  }
  bool send_datagram(const UnderlayDatagram& datagram) override {
    require(datagram.payload.size() >= kIpoibHeaderBytes &&
            datagram.payload.size() <= kMaxMtuBytes);
    return true;
  }

 private:
  std::array<std::byte, kMaxFrameBytes> buffer_{};
};

struct alignas(kPageBytes) Memory {
  std::array<std::byte, kPages * kPageBytes> bytes{};
};

class World {
 public:
  explicit World(bool is_underlay) : is_underlay_(is_underlay) {
    dma_.set_bus_master(true);
    std::ranges::fill(page(kUnmapped), kUntouched);
    iova_ = iommu_.map(std::span(memory_->bytes).first(kUnmapped * kPageBytes)).value();
    for (std::size_t at = prm::kCqeBytes - 1; at < kPageBytes; at += prm::kCqeBytes) {
      page(0)[at] = std::byte{1};
      page(kCompletions)[at] = std::byte{prm::kCqeNeverWritten};
    }
    cqn_ = portcullis::model::testing::make_cq(eqs_, cqs_,
                                               {.uar = kUar,
                                                .log_size = kLogCompletions,
                                                .eq = iova_,
                                                .cq = iova_ + kCompletions * kPageBytes,
                                                .record = iova_ + kRecords * kPageBytes + 64});
    lkey_ = portcullis::model::testing::make_lkey(mkeys_, kPd);
    queues_.connect(outlet_);
    port_.mtu = 9022;
    make_sender();
    make_receiver();
  }

  void run(std::span<const std::byte> input) {
    for (int i = 0; i < kMostSteps && input.size() >= kStepHeader; ++i) {
      const auto step =
          static_cast<Step>(std::to_integer<std::uint8_t>(input[0] & ~kUnderlay) % kSteps);
      const std::size_t said =
          std::to_integer<std::size_t>(input[1]) | std::to_integer<std::size_t>(input[2]) << 8;
      const std::size_t bytes = std::min(said, input.size() - kStepHeader);
      take(step, input.subspan(kStepHeader, bytes));
      input = input.subspan(kStepHeader + bytes);
      while (scheduler_.loop().step(0)) {
      }
    }
    for (const std::byte each : page(kUnmapped)) require(each == kUntouched);
  }

 private:
  [[nodiscard]] std::span<std::byte> page(std::size_t index) {
    return std::span(memory_->bytes).subspan(index * kPageBytes, kPageBytes);
  }
  [[nodiscard]] std::array<std::byte, 8> pas(std::size_t index) const {
    const std::uint64_t raw = cells::be64(iova_ + index * kPageBytes);
    std::array<std::byte, 8> list;
    std::memcpy(list.data(), &raw, sizeof raw);
    return list;
  }

  void make_sender() {
    require(domains_.allocate(domain_).ok());
    prm::Buffer<prm::tisc> tis;
    tis.put<"transport_domain">(domain_).put<"underlay_qpn">(is_underlay_ ? 0x42 : 0);
    require(queues_.create_tis(prm::ConstView<prm::tisc>{tis.all()}, tisn_).ok());
    prm::Buffer<prm::sqc> sq;
    sq.put<"cqn">(cqn_).set<"flush_in_error_en", 1>().set<"tis_lst_sz", 1>();
    sq.put<"tis_num_0">(tisn_).put<"wq.wq_type">(prm::WqType::CYCLIC).put<"wq.pd">(kPd);
    sq.put<"wq.uar_page">(kUar).put<"wq.dbr_addr">(iova_ + kRecords * kPageBytes);
    sq.set<"wq.log_wq_stride", 6>().set<"wq.log_wq_sz", 4>();
    require(queues_.create_sq(prm::ConstView<prm::sqc>{sq.all()}, pas(kSends), sqn_).ok());
    restart_sender(prm::SqState::RST);
  }
  void restart_sender(prm::SqState from) {
    prm::Buffer<prm::modify_sq_in> in;
    in.put<"sqn">(sqn_).put<"sq_state">(from).put<"ctx.state">(prm::SqState::RDY);
    static_cast<void>(queues_.modify_sq(prm::ConstView<prm::modify_sq_in>{in.all()}));
  }

  void make_receiver() {
    prm::Buffer<prm::rqc> rq;
    rq.put<"mem_rq_type">(prm::MemRqType::MEMORY_RQ_INLINE).put<"cqn">(cqn_);
    rq.put<"wq.wq_type">(prm::WqType::CYCLIC).put<"wq.pd">(kPd);
    rq.put<"wq.dbr_addr">(iova_ + kRecords * kPageBytes + 128);
    rq.set<"wq.log_wq_stride", 6>().set<"wq.log_wq_sz", 4>();
    require(targets_.create_rq(prm::ConstView<prm::rqc>{rq.all()}, pas(kReceives), rqn_).ok());
    restart_receiver(prm::RqState::RST);
    std::uint32_t domain = 0;
    require(targets_.domains().allocate(domain).ok());
    prm::Buffer<prm::tirc> tir;
    tir.put<"disp_type">(prm::TirDispType::DIRECT).put<"inline_rqn">(rqn_);
    tir.put<"transport_domain">(domain).set<"self_lb_block", 3>();
    tir.put<"rx_hash_fn">(prm::RxHashFn::TOEPLITZ);
    tir.set<"rx_hash_field_selector_outer.selected_fields", 0xf>();
    require(targets_.create_tir(prm::ConstView<prm::tirc>{tir.all()}, tirn_).ok());
  }
  void restart_receiver(prm::RqState from) {
    prm::Buffer<prm::modify_rq_in> in;
    in.put<"rqn">(rqn_).put<"rq_state">(from).put<"ctx.state">(prm::RqState::RDY);
    static_cast<void>(targets_.modify_rq(prm::ConstView<prm::modify_rq_in>{in.all()}));
  }

  void take(Step step, std::span<const std::byte> bytes) {
    switch (step) {
      case Step::Send:
      case Step::Receive: {
        const auto ring = page(step == Step::Send ? kSends : kReceives);
        std::ranges::copy(bytes.first(std::min(bytes.size(), ring.size())), ring.begin());
        point_into_payload(ring);
        break;
      }
      case Step::Ring:
        std::ranges::copy(bytes.first(std::min<std::size_t>(bytes.size(), 256)),
                          page(kRecords).begin());
        queues_.kick_uar(kUar);
        break;
      case Step::Frame:
      case Step::Own:
        static_cast<void>(flow_key(bytes, PortType::Ethernet));
        targets_.deliver(tirn_, bytes, {.flow_tag = 1, .from = {.is_own = step == Step::Own}});
        break;
      case Step::Datagram:
        deliver_datagram(bytes);
        break;
      case Step::Restart:
        restart(bytes);
        break;
    }
  }
  /// A payload of IP over InfiniBand, as the transport hands it on.
  void deliver_datagram(std::span<const std::byte> payload) {
    if (payload.size() < kIpoibHeaderBytes || payload.size() > kMaxMtuBytes) return;
    std::vector<std::byte> whole(grh::bytes), frame(kIpoibShift);
    whole.insert(whole.end(), payload.begin(), payload.end());
    frame.insert(frame.end(), payload.begin(), payload.end());
    const std::uint32_t header = make_ethernet(frame);
    const IpoibDatagram datagram{whole, frame, 0x42, 0x43, 7, true, false};
    targets_.deliver(tirn_, frame, {.flow_tag = 1, .datagram = &datagram});
    make_ipoib(frame, header);
    require(std::ranges::equal(std::span(frame).subspan(kIpoibShift), payload));
  }
  /// A data segment with this key names memory from the payload on, under the key that there is.
  void point_into_payload(std::span<std::byte> ring) const {
    constexpr std::uint32_t kAnyKey = 0xffffffff;
    for (std::size_t at = 0; at < ring.size(); at += prm::mlx5_wqe_data_seg::bytes) {
      const auto segment = prm::View<prm::mlx5_wqe_data_seg>::at(ring, at);
      if (segment.get<"lkey">() != kAnyKey) continue;
      segment.put<"lkey">(lkey_);
      segment.put<"addr">(iova_ + kPayload * kPageBytes + segment.get<"addr">());
    }
  }
  void restart(std::span<const std::byte> bytes) {
    prm::Buffer<prm::modify_sq_in> sq;
    sq.put<"sqn">(sqn_).put<"sq_state">(prm::SqState::ERR).put<"ctx.state">(prm::SqState::RST);
    static_cast<void>(queues_.modify_sq(prm::ConstView<prm::modify_sq_in>{sq.all()}));
    restart_sender(prm::SqState::RST);
    prm::Buffer<prm::modify_rq_in> rq;
    rq.put<"rqn">(rqn_).put<"rq_state">(prm::RqState::ERR).put<"ctx.state">(prm::RqState::RST);
    static_cast<void>(targets_.modify_rq(prm::ConstView<prm::modify_rq_in>{rq.all()}));
    restart_receiver(prm::RqState::RST);
    std::ranges::copy(bytes.first(std::min(bytes.size(), kPageBytes)), page(kPayload).begin());
  }

  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  Iommu iommu_ = std::move(Iommu::create()).value();
  std::uint64_t faults_ = 0, lost_ = 0;
  Dma dma_{iommu_, faults_};
  EqTable eqs_{dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr};
  Scheduler scheduler_{std::make_shared<EventLoop>(Execution::Stepped, 1)};
  CqTable cqs_{dma_, eqs_, scheduler_, 4};
  MkeyTable mkeys_{10};
  Domains domains_{4};
  PortSettings port_;
  PortCounters counters_;
  Outlet outlet_;
  SendQueues queues_{{&dma_, &mkeys_, &cqs_, &scheduler_, &domains_, &port_, &counters_}};
  ReceiveTargets targets_{{&dma_, &mkeys_, &cqs_, &scheduler_, &lost_}};
  bool is_underlay_;
  Iova iova_ = 0;
  std::uint32_t cqn_ = 0, lkey_ = 0, domain_ = 0, tisn_ = 0, sqn_ = 0, rqn_ = 0, tirn_ = 0;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const auto input = std::as_bytes(std::span(data, bytes));
  World(!input.empty() && (input[0] & kUnderlay) != std::byte{0}).run(input);
  return 0;
}
