// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/transport/rig.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/cells.hpp"
#include "prm/device_memory_commands.hpp"
#include "prm/doorbell.hpp"
#include "prm/eqe.hpp"

namespace portcullis::model::testing {
namespace {

constexpr std::uint32_t kLogCqSize = 12;
constexpr std::uint32_t kLogEqSize = 8;
constexpr std::uint32_t kLogMaxQp = 11;
constexpr std::uint32_t kLogMaxMsg = 30;
constexpr std::uint32_t kVariant = 0x5a;  // of every key
constexpr std::uint32_t kSharedReceives = 4;
constexpr std::uint32_t kSharedStride = 64;
constexpr std::size_t kReceiveBytes = kReceivePieces * prm::mlx5_wqe_data_seg::bytes;

/// Tests may build on what they set up.
template <class T>
T must(Result<T> result) {
  if (!result) std::abort();
  return *std::move(result);
}
void must(const Verdict& verdict) {
  if (!verdict.ok()) std::abort();
}

void free_pages(std::byte* pages) { std::free(pages); }

std::vector<Iova> pages_of(const Region& region) {
  std::vector<Iova> pages;
  for (std::size_t at = 0; at < region.bytes.size(); at += kPageBytes)
    pages.push_back(region.iova + at);
  return pages;
}

/// What the keys over `region` have in common.
prm::Buffer<prm::mkc> key_context(const Region& region, std::uint8_t rights) {
  prm::Buffer<prm::mkc> mkc;
  mkc.set<"umr_en", 1>().put<"start_addr">(address_of(region)).put<"len">(region.bytes.size());
  mkc.put<"lr">((rights & access::kLocalRead) != 0).put<"lw">((rights & access::kLocalWrite) != 0);
  mkc.put<"rr">((rights & access::kRemoteRead) != 0)
      .put<"rw">((rights & access::kRemoteWrite) != 0);
  mkc.put<"a">((rights & access::kAtomic) != 0);
  return mkc;
}

}  // namespace

std::uint64_t address_of(const Region& region) {
  return std::bit_cast<std::uintptr_t>(region.bytes.data());
}

void put_be(std::span<std::byte> at, std::uint64_t value) {
  for (std::size_t i = 0; i < at.size(); ++i)
    at[i] = static_cast<std::byte>(value >> (8 * (at.size() - 1 - i)));
}

Host::Host(std::shared_ptr<Wire> wire, const std::string& pcap_path, PortType port_type,
           std::shared_ptr<Pace> pace, const Behaviours& behaviours)
    : wire_(wire ? std::move(wire) : std::make_shared<Wire>(0, port_type)),
      behaviours_(behaviours),
      iommu_(must(Iommu::create())),
      dma_(iommu_, counters_.dma_faults),
      eqs_(
          dma_, 4, [](void*, prm::HealthSyndrome) {}, nullptr),
      scheduler_(std::make_unique<Scheduler>(shared_loop(*wire_, 1))),
      cqs_(dma_, eqs_, *scheduler_, 8),
      mkeys_(12),
      flows_({&behaviours_, port_type, [](void*, std::uint32_t) { return true; },
              [](void*, std::uint32_t) { return true; }, [](void*, std::uint32_t) { return false; },
              this}) {
  dma_.set_bus_master(true);
  dma_.set_bar(bar_);
  port_.type = port_type;
  port_.lid = kHostLid;
  port_.mac = kHostMac;
  port_.roce_enabled = true;
  port_.roce[0] = RoceAddress{kHostGid, kHostMac, 2, 0, false, 0, true};
  port_.roce[1] = RoceAddress{kHostGid6, kHostMac, 2, 1, false, 0, true};
  port_.roce[kOnVlan] = RoceAddress{kHostGid, kHostMac, 2, 0, true, kVlanId, true};
  TransportDeps deps{&dma_, &mkeys_, &cqs_, &eqs_, scheduler_.get(), &counters_, &port_};
  deps.q_counters = &q_counters_;
  deps.port_counters = &port_counters_;
  deps.flows = &flows_;
  deps.psvs = &psvs_;
  deps.shared_receives = &shared_receives_;
  deps.groups = &groups_;
  deps.deliver_datagram = [this](const FlowDecision& decision, const IpoibDatagram& datagram,
                                 bool is_own) {
    datagrams_.push_back({decision.to.tirn,
                          datagram.qpn,
                          datagram.flags_rqpn,
                          datagram.slid,
                          is_own,
                          datagram.is_solicited,
                          datagram.is_of_group,
                          {datagram.bytes.begin(), datagram.bytes.end()}});
  };
  deps.behaviours = &behaviours_;
  deps.host_endian_atomics = &host_endian_atomics_;
  TransportOptions options;
  options.wire = wire_;
  options.pcap_path = pcap_path;
  options.log_max_qp = kLogMaxQp;
  options.log_max_msg = kLogMaxMsg;
  options.pace = std::move(pace);
  transport_ = must(Transport::create(deps, options));
  mkeys_.set_idle_hook(
      {[](void* transport, std::uint32_t) { static_cast<Transport*>(transport)->keys_idle(); },
       transport_.get()});
  make_queues();
}

Host::~Host() = default;

void Host::make_queues() {
  eq_ = map(prm::kEqeBytes << kLogEqSize);
  prm::Buffer<prm::eqc> eqc;
  eqc.put<"log_eq_size">(kLogEqSize).put<"uar_page">(kUar);
  std::array<std::byte, 32> events;
  events.fill(std::byte{0xff});
  must(eqs_.create(prm::ConstView<prm::eqc>(eqc.all()), events, pages_of(eq_), eqn_));
  for (std::size_t at = prm::kEqeBytes - 1; at < eq_.bytes.size(); at += prm::kEqeBytes)
    eq_.bytes[at] = std::byte{1};

  cq_ = map((prm::kCqeBytes << kLogCqSize) + kPageBytes);
  prm::Buffer<prm::cqc> cqc;
  const std::size_t record = prm::kCqeBytes << kLogCqSize;
  cqc.put<"log_cq_size">(kLogCqSize).put<"uar_page">(kUar).put<"c_eqn_or_apu_element">(eqn_);
  cqc.put<"dbr_addr">(cq_.iova + record);
  for (std::size_t at = prm::kCqeBytes - 1; at < record; at += prm::kCqeBytes)
    cq_.bytes[at] = std::byte{prm::kCqeNeverWritten};
  must(cqs_.create(prm::ConstView<prm::cqc>(cqc.all()), pages_of(cq_), cqn_));
}

Region Host::map(std::size_t bytes) {
  const std::size_t size = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  auto* const at = static_cast<std::byte*>(std::aligned_alloc(kPageBytes, size));
  std::memset(at, 0, size);
  memory_.emplace_back(at, &free_pages);
  const std::span<std::byte> pages(at, size);
  return Region{pages, must(iommu_.map(pages))};
}

void Host::unmap(const Region& region) {
  static_cast<void>(iommu_.unmap(region.iova, region.bytes.size()));
}

std::uint32_t Host::create_key(prm::Buffer<prm::mkc>& mkc, std::span<const std::byte> list) {
  const auto octwords = static_cast<std::uint32_t>(list.size() / 16);
  mkc.put<"mkey_7_0">(kVariant).put<"translations_octword_size">(octwords);
  std::uint32_t index = 0;
  must(mkeys_.create({prm::ConstView<prm::mkc>(mkc.all()), true, octwords, list}, index));
  return index << 8 | kVariant;
}

std::uint32_t Host::make_key(const Region& region, std::uint8_t rights, std::uint32_t pd,
                             std::uint32_t qpn) {
  std::vector<std::byte> list;
  for (const Iova page : pages_of(region)) {
    const std::uint64_t entry = cells::be64(page | 3);
    const auto* const raw = static_cast<const std::byte*>(static_cast<const void*>(&entry));
    list.insert(list.end(), raw, raw + sizeof entry);
  }
  list.resize((list.size() + 15) / 16 * 16);
  auto mkc = key_context(region, rights);
  mkc.put<"access_mode_1_0">(prm::MkcAccessMode::MTT).put<"log_page_size">(12);
  mkc.put<"pd">(pd).put<"qpn">(qpn);
  return create_key(mkc, list);
}

std::uint32_t Host::make_indirect_key(const Region& region, std::uint8_t rights,
                                      std::uint32_t direct) {
  prm::Buffer<prm::mlx5_klm> entry;
  entry.put<"bcount">(region.bytes.size()).put<"key">(direct).put<"va">(address_of(region));
  auto mkc = key_context(region, rights);
  mkc.put<"access_mode_1_0">(prm::MkcAccessMode::KLMS).put<"pd">(kPd).put<"qpn">(prm::kMkcQpnAny);
  return create_key(mkc, entry.all());
}

std::uint32_t Host::make_device_key(std::uint8_t rights) {
  auto mkc = key_context({bar_, 0}, rights);
  mkc.put<"access_mode_1_0">(prm::kMkcModeMemic & 3)
      .put<"access_mode_4_2">(prm::kMkcModeMemic >> 2);
  mkc.put<"start_addr">(0).put<"pd">(kPd).put<"qpn">(prm::kMkcQpnAny);
  return create_key(mkc, {});
}

std::uint32_t Host::make_free_key(prm::MkcAccessMode mode, std::uint32_t octowords,
                                  std::uint32_t pd, bool remote_invalidate) {
  prm::Buffer<prm::mkc> mkc;
  mkc.put<"en_rinval">(std::uint8_t{remote_invalidate}).set<"lr", 1>();
  mkc.set<"free", 1>().set<"umr_en", 1>().put<"access_mode_1_0">(mode);
  mkc.put<"qpn">(prm::kMkcQpnAny).put<"pd">(pd).put<"log_page_size">(12);
  mkc.put<"mkey_7_0">(kVariant).put<"translations_octword_size">(octowords);
  std::uint32_t index = 0;
  must(mkeys_.create({prm::ConstView<prm::mkc>(mkc.all()), true, 0, {}}, index));
  return index << 8 | kVariant;
}

std::uint32_t Host::make_signed_key(std::uint32_t octowords, std::uint32_t pd) {
  prm::Buffer<prm::mkc> mkc;
  mkc.set<"free", 1>().set<"umr_en", 1>().set<"lr", 1>().set<"bsf_en", 1>();
  mkc.set<"bsf_octword_size", 4>().put<"access_mode_1_0">(prm::MkcAccessMode::KLMS);
  mkc.put<"qpn">(prm::kMkcQpnAny).put<"pd">(pd);
  mkc.put<"mkey_7_0">(kVariant).put<"translations_octword_size">(octowords);
  std::uint32_t index = 0;
  must(mkeys_.create({prm::ConstView<prm::mkc>(mkc.all()), true, 0, {}}, index));
  return index << 8 | kVariant;
}

std::uint32_t Host::make_psv(std::uint32_t pd) { return psvs_.create(pd).value_or(0); }

void Host::join(const Gid& group, std::uint32_t qpn) {
  must(groups_.attach(group, qpn));
  transport_->port_changed();
}

void Host::leave(const Gid& group, std::uint32_t qpn) {
  must(groups_.detach(group, qpn));
  transport_->port_changed();
}

void Host::destroy_key(std::uint32_t key) { must(mkeys_.destroy(key >> 8)); }

prm::Buffer<prm::qpc> Host::context(const QpOptions& options) const {
  prm::Buffer<prm::qpc> qpc;
  qpc.put<"st">(options.service).put<"pm_state">(prm::QpPathMigration::MIGRATED);
  qpc.put<"rq_type">(prm::QpRqType::ZERO_LEN_RQ).put<"log_sq_size">(options.log_sq_size);
  if (options.log_rq_size)
    qpc.put<"rq_type">(prm::QpRqType::NON_ZERO_RQ)
        .put<"log_rq_size">(*options.log_rq_size)
        .put<"log_rq_stride">(std::bit_width(kReceivePieces) - 1);
  if (options.shared_receives != 0)
    qpc.put<"rq_type">(prm::QpRqType::SRQ_RQ).put<"srqn_rmpn_xrqn">(options.shared_receives);
  qpc.put<"min_rnr_nak">(options.min_rnr_nak);
  qpc.put<"pd">(options.pd).put<"uar_page">(options.uar).put<"cqn_snd">(cqn_).put<"cqn_rcv">(cqn_);
  qpc.put<"rre">(options.rre).put<"rae">(options.rae);
  static_cast<void>(qpc.view().try_set<"log_sra_max">(options.log_sra_max));
  static_cast<void>(qpc.view().try_set<"log_rra_max">(options.log_rra_max));
  qpc.put<"rwe">(options.rwe).put<"mtu">(options.mtu).put<"log_msg_max">(kLogMaxMsg);
  qpc.put<"next_send_psn">(options.psn).put<"next_rcv_psn">(options.psn);
  qpc.put<"retry_count">(options.retry_count).put<"rnr_retry">(options.rnr_retry);
  qpc.put<"log_ack_req_freq">(8).put<"counter_set_id">(options.counters);
  qpc.put<"primary_address_path.vhca_port_num">(1).put<"q_key">(options.q_key);
  qpc.put<"xrcd">(options.xrcd).put<"no_sq">(options.no_sq);
  qpc.put<"offload_type">(options.offload_rendezvous ? prm::kQpOffloadRndv : std::uint8_t{0});
  qpc.put<"block_lb_mc">(options.block_lb_mc).put<"drain_sigerr">(options.drain_sigerr);
  if (options.is_underlay)
    qpc.set<"ulp_stateless_offload_mode", 2>().put<"rq_type">(prm::QpRqType::NON_ZERO_RQ);
  qpc.put<"primary_address_path.ack_timeout">(options.ack_timeout);
  qpc.put<"primary_address_path.src_addr_index">(options.src_addr_index);
  qpc.put<"primary_address_path.eth_prio">(options.eth_prio);
  qpc.put<"primary_address_path.hop_limit">(64).put<"primary_address_path.udp_sport">(0xc123);
  qpc.put<"primary_address_path.fl">(options.force_loopback);
  qpc.put<"primary_address_path.rlid">(options.dest_lid);
  qpc.put<"primary_address_path.grh">(options.grh);
  qpc.put<"primary_address_path.sl">(options.service_level);
  qpc.put<"primary_address_path.pkey_index">(options.pkey_index);
  const Mac& mac = options.dest_mac;
  qpc.put<"primary_address_path.rmac_47_32">(std::uint32_t{mac[0]} << 8 | mac[1]);
  qpc.put<"primary_address_path.rmac_31_0">(std::uint32_t{mac[2]} << 24 |
                                            std::uint32_t{mac[3]} << 16 |
                                            std::uint32_t{mac[4]} << 8 | mac[5]);
  std::memcpy(qpc.bytes<"primary_address_path.rgid_rip">().data(), options.dest_gid.data(), 16);
  return qpc;
}

Verdict Host::create(std::uint32_t qpn, const QpOptions& options) {
  Queue queue;
  queue.blocks = 1U << options.log_sq_size;
  queue.receives = options.log_rq_size ? 1U << *options.log_rq_size : 0;
  queue.sq_start = queue.receives * kReceiveBytes;
  queue.memory = map(queue.sq_start + queue.blocks * prm::kSendWqeBlockBytes);
  queue.record = map(prm::kDoorbellRecordBytes);
  queue.uar = options.uar;
  prm::Buffer<prm::qpc> qpc = context(options);
  qpc.put<"dbr_addr">(queue.record.iova);
  const std::vector<Iova> pages = pages_of(queue.memory);
  std::erase_if(queues_, [qpn](const auto& entry) { return entry.first == qpn; });
  queues_.emplace_back(qpn, queue);
  return transport_->create_qp({qpn, 0, prm::ConstView<prm::qpc>(qpc.all()), pages});
}

Verdict Host::modify(std::uint32_t qpn, QpTransition transition, std::uint32_t remote_qpn,
                     const QpOptions& options, std::uint32_t opt_param_mask) {
  prm::Buffer<prm::qpc> qpc = context(options);
  qpc.put<"remote_qpn">(remote_qpn);
  return transport_->modify_qp(
      {transition, qpn, opt_param_mask, prm::ConstView<prm::qpc>(qpc.all())});
}

Verdict Host::change_udp_sport(std::uint32_t qpn, std::uint16_t port) {
  prm::Buffer<prm::qpc> qpc;
  qpc.put<"primary_address_path.udp_sport">(port);
  return transport_->modify_qp(
      {QpTransition::Rts2Rts, qpn, 0, prm::ConstView<prm::qpc>(qpc.all()), prm::kOptPar32UdpSport});
}

void Host::connect(std::uint32_t qpn, std::uint32_t remote_qpn, const QpOptions& options) {
  must(create(qpn, options));
  must(modify(qpn, QpTransition::Rst2Init, remote_qpn, options));
  must(modify(qpn, QpTransition::Init2Rtr, remote_qpn, options));
  must(modify(qpn, QpTransition::Rtr2Rts, remote_qpn, options));
}

prm::Buffer<prm::qpc> Host::query(std::uint32_t qpn) {
  prm::Buffer<prm::qpc> qpc;
  must(transport_->query_qp(qpn, qpc.view()));
  return qpc;
}

prm::QpState Host::state(std::uint32_t qpn) {
  return prm::QpState{static_cast<std::uint8_t>(query(qpn).get<"state">())};
}

Host::Queue& Host::queue(std::uint32_t qpn) {
  return std::ranges::find(queues_, qpn, [](const auto& e) { return e.first; })->second;
}

std::span<std::byte> Host::send_queue(std::uint32_t qpn) {
  return queue(qpn).memory.bytes.subspan(queue(qpn).sq_start);
}

std::span<std::byte> Host::receive_queue(std::uint32_t qpn) {
  return queue(qpn).memory.bytes.first(queue(qpn).sq_start);
}

std::span<std::byte> Host::block(Queue& sq, std::uint16_t index) {
  const std::size_t at = (index & (sq.blocks - 1)) * prm::kSendWqeBlockBytes;
  return sq.memory.bytes.subspan(sq.sq_start + at, prm::kSendWqeBlockBytes);
}

void Host::post_raw(std::uint32_t qpn, prm::WqeOpcode opcode, std::span<const std::byte> segments,
                    bool signaled, std::uint32_t immediate, std::uint8_t flags) {
  Queue& sq = queue(qpn);
  std::vector<std::byte> wqe(prm::mlx5_wqe_ctrl_seg::bytes);
  wqe.insert(wqe.end(), segments.begin(), segments.end());
  const auto ds = static_cast<std::uint32_t>(wqe.size() / prm::kWqeOctowordBytes);
  const auto ctrl = prm::View<prm::mlx5_wqe_ctrl_seg>::at(wqe);
  ctrl.put<"opmod_idx_opcode">(prm::opmod_idx_opcode(opcode, sq.producer));
  ctrl.put<"qpn_ds">(prm::qpn_ds(qpn, ds));
  const unsigned update = signaled ? prm::kCtrlCqUpdate : 0U;
  ctrl.put<"fm_ce_se">(static_cast<std::uint8_t>(update | flags));
  ctrl.put<"imm">(immediate);
  const std::uint32_t blocks = prm::wqe_blocks(ds);
  wqe.resize(blocks * prm::kSendWqeBlockBytes);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const auto to = block(sq, static_cast<std::uint16_t>(sq.producer + b));
    std::ranges::copy(std::span(wqe).subspan(b * to.size(), to.size()), to.begin());
  }
  sq.producer = static_cast<std::uint16_t>(sq.producer + blocks);
}

void Host::post(std::uint32_t qpn, const WriteRequest& request) {
  post_rdma(qpn, prm::WqeOpcode::RDMA_WRITE, request);
}

void Host::post_rdma(std::uint32_t qpn, prm::WqeOpcode opcode, const WriteRequest& request,
                     std::uint32_t immediate, std::uint8_t flags) {
  std::array<std::byte, prm::mlx5_wqe_raddr_seg::bytes + prm::mlx5_wqe_data_seg::bytes> segments{};
  const auto remote = prm::View<prm::mlx5_wqe_raddr_seg>::at(segments);
  remote.put<"raddr">(request.raddr);
  remote.put<"rkey">(request.rkey);
  const auto data = prm::View<prm::mlx5_wqe_data_seg>::at(segments, prm::mlx5_wqe_raddr_seg::bytes);
  data.put<"byte_count">(request.length);
  data.put<"lkey">(request.lkey);
  data.put<"addr">(request.address);
  const std::size_t used = request.length == 0 ? prm::mlx5_wqe_raddr_seg::bytes : segments.size();
  post_raw(qpn, opcode, std::span(segments).first(used), request.signaled, immediate, flags);
}

void Host::post_atomic(std::uint32_t qpn, prm::WqeOpcode opcode, const AtomicRequest& request) {
  std::vector<std::byte> segments(prm::mlx5_wqe_raddr_seg::bytes + prm::mlx5_wqe_atomic_seg::bytes);
  const auto remote = prm::View<prm::mlx5_wqe_raddr_seg>::at(segments);
  remote.put<"raddr">(request.raddr);
  remote.put<"rkey">(request.rkey);
  const auto operands =
      prm::View<prm::mlx5_wqe_atomic_seg>::at(segments, prm::mlx5_wqe_raddr_seg::bytes);
  operands.put<"swap_add">(request.swap_add);
  operands.put<"compare">(request.compare);
  const std::vector<std::byte> data =
      segments_of({{Piece{request.address, request.length, request.lkey}}});
  segments.insert(segments.end(), data.begin(), data.end());
  post_raw(qpn, opcode, segments);
}

void Host::set_record(std::uint32_t qpn, std::uint32_t value) {
  cells::store_release<std::uint32_t>(
      queue(qpn).record.bytes.data() + prm::record_byte(prm::kSndDbr), cells::be32(value));
}

void Host::set_receive_record(std::uint32_t qpn, std::uint32_t value) {
  cells::store_release<std::uint32_t>(
      queue(qpn).record.bytes.data() + prm::record_byte(prm::kRcvDbr), cells::be32(value));
}

void Host::restart_queue(std::uint32_t qpn) {
  queue(qpn).producer = 0;
  write_record(qpn);
}

void Host::write_record(std::uint32_t qpn) {
  set_record(qpn, prm::sq_producer_index(queue(qpn).producer));
}

std::vector<std::byte> segments_of(std::span<const Piece> pieces) {
  std::vector<std::byte> bytes(pieces.size() * prm::mlx5_wqe_data_seg::bytes);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto segment =
        prm::View<prm::mlx5_wqe_data_seg>::at(bytes, i * prm::mlx5_wqe_data_seg::bytes);
    segment.put<"byte_count">(pieces[i].bytes);
    segment.put<"lkey">(pieces[i].lkey);
    segment.put<"addr">(pieces[i].address);
  }
  return bytes;
}

void Host::post_receive(std::uint32_t qpn, std::span<const Piece> pieces) {
  Queue& rq = queue(qpn);
  std::vector<Piece> all(pieces.begin(), pieces.end());
  all.resize(kReceivePieces, Piece{0, 0, prm::kInvalidLkey});
  const std::size_t at = (rq.receive_producer & (rq.receives - 1)) * kReceiveBytes;
  std::ranges::copy(segments_of(all), rq.memory.bytes.subspan(at, kReceiveBytes).begin());
  set_receive_record(qpn, ++rq.receive_producer);
}

/// Of a shared queue: its list of pages.
std::array<std::byte, 8> Host::make_shared_memory() {
  shared_queue_ = map(kSharedReceives * kSharedStride);
  shared_record_ = map(prm::kDoorbellRecordBytes);
  shared_posted_ = 0;
  const std::uint64_t page = cells::be64(shared_queue_.iova);
  std::array<std::byte, sizeof page> pas;
  std::memcpy(pas.data(), &page, sizeof page);
  return pas;
}

std::uint32_t Host::make_xrc_domain() {
  std::uint32_t number = 0;
  must(shared_receives_.domains().allocate(number));
  return number;
}

std::uint32_t Host::make_xrc_receives(std::uint32_t xrcd, std::uint32_t pd,
                                      std::uint32_t user_index) {
  const auto pas = make_shared_memory();
  prm::Buffer<prm::xrc_srqc> context;
  context.put<"xrcd">(xrcd).put<"pd">(pd).put<"cqn">(cqn_).put<"user_index">(user_index);
  context.put<"log_rq_stride">(std::countr_zero(kSharedStride) - 4);  // from 16 bytes
  context.put<"log_xrc_srq_size">(std::countr_zero(kSharedReceives));
  const Iova record = shared_record_.iova;
  context.put<"db_record_addr_h">(static_cast<std::uint32_t>(record >> 32));
  context.put<"db_record_addr_l">(static_cast<std::uint32_t>(record) >> 2);
  std::uint32_t number = 0;
  must(shared_receives_.create(prm::ConstView<prm::xrc_srqc>(context.all()), pas, number));
  return number;
}

std::uint32_t Host::make_xrq(std::uint32_t log_tags, std::uint32_t user_index) {
  const auto pas = make_shared_memory();
  prm::Buffer<prm::xrqc> context;
  context.put<"topology">(prm::XrqTopology::TAG_MATCHING).put<"offload">(prm::kXrqOffloadRndv);
  context.put<"user_index">(user_index).put<"cqn">(cqn_);
  static_cast<void>(
      context.view().try_set<"tag_matching_topology_context.log_matching_list_sz">(log_tags));
  context.put<"wq.pd">(kPd).put<"wq.dbr_addr">(shared_record_.iova);
  context.put<"wq.log_wq_stride">(std::countr_zero(kSharedStride));
  context.put<"wq.log_wq_sz">(std::countr_zero(kSharedReceives));
  std::uint32_t number = 0;
  must(shared_receives_.create(prm::ConstView<prm::xrqc>(context.all()), pas, number));
  return number;
}

prm::Buffer<prm::xrqc> Host::query_xrq(std::uint32_t number) const {
  prm::Buffer<prm::xrqc> context;
  must(shared_receives_.query(number, context.view()));
  return context;
}

std::uint32_t Host::make_shared_receives() {
  const auto pas = make_shared_memory();
  prm::Buffer<prm::rmpc> context;
  context.put<"state">(prm::RmpState::RDY)
      .put<"wq.pd">(kPd)
      .put<"wq.dbr_addr">(shared_record_.iova);
  context.put<"wq.log_wq_stride">(std::countr_zero(kSharedStride));
  context.put<"wq.log_wq_sz">(std::countr_zero(kSharedReceives));
  std::uint32_t number = 0;
  must(shared_receives_.create(prm::ConstView<prm::rmpc>(context.all()), pas, number));
  return number;
}

void Host::post_shared(const Piece& piece) {
  const std::span<std::byte> wqe =
      shared_queue_.bytes.subspan(shared_posted_ % kSharedReceives * kSharedStride, kSharedStride);
  prm::Buffer<prm::mlx5_wqe_srq_next_seg> next;
  next.put<"next_wqe_index">((shared_posted_ + 1U) % kSharedReceives);
  std::ranges::copy(next.all(), wqe.begin());
  const std::array<Piece, 2> pieces{piece, Piece{0, 0, prm::kInvalidLkey}};
  std::ranges::copy(segments_of(pieces), wqe.subspan(next.all().size()).begin());
  cells::store_release<std::uint32_t>(shared_record_.bytes.data(), cells::be32(++shared_posted_));
}

void Host::ring(std::uint32_t qpn) {
  write_record(qpn);
  transport_->kick_uar(queue(qpn).uar);
}

void Host::post_and_ring(std::uint32_t qpn, const WriteRequest& request) {
  post(qpn, request);
  ring(qpn);
}

std::uint64_t Host::now_ns() const { return scheduler_->now_ns(); }

void Host::run() {
  while (scheduler_->loop().step(scheduler_->now_ns())) {
  }
}

void Host::run_until(std::uint64_t until_ns) {
  run();
  while (scheduler_->now_ns() < until_ns) static_cast<void>(scheduler_->loop().step(until_ns));
  run();
}

std::optional<Cqe> Host::poll_cq() {
  const std::size_t size = std::size_t{1} << kLogCqSize;
  const auto entry =
      cq_.bytes.subspan((cq_consumer_ & (size - 1)) * prm::kCqeBytes, prm::kCqeBytes);
  const auto error = prm::ConstView<prm::mlx5_err_cqe>::at(entry);
  const auto op_own = cells::load_acquire<std::uint8_t>(&entry.back());
  if (!prm::cqe_is_ready(op_own, cq_consumer_, kLogCqSize)) return std::nullopt;
  ++cq_consumer_;
  cells::store_release<std::uint32_t>(cq_.bytes.data() + size * prm::kCqeBytes,
                                      cells::be32(prm::cq_consumer_index(cq_consumer_)));
  Cqe cqe;
  std::ranges::copy(entry, cqe.bytes.begin());
  cqe.opcode = prm::cqe_opcode(op_own);
  cqe.wqe_counter = error.get<"wqe_counter">();
  cqe.qpn = prm::cqe_qpn(error.get<"s_wqe_opcode_qpn">());
  const auto good = prm::ConstView<prm::mlx5_cqe64>::at(entry);
  cqe.byte_cnt = good.get<"byte_cnt">();
  cqe.immediate = good.get<"imm_inval_pkey">();
  cqe.flags_rqpn = good.get<"flags_rqpn">();
  cqe.slid = good.get<"slid">();
  cqe.l4_hdr_type_etc = good.get<"l4_hdr_type_etc">();
  cqe.vlan_info = good.get<"vlan_info">();
  cqe.user_index = prm::cqe_user_index(good.get<"srqn_uidx">());
  if (prm::cqe_is_error(op_own)) {
    cqe.syndrome = prm::CqeSyndrome{static_cast<std::uint8_t>(error.get<"syndrome">())};
    cqe.vendor_syndrome = static_cast<std::uint8_t>(error.get<"vendor_err_synd">());
  }
  return cqe;
}

std::vector<Cqe> Host::drain_cq() {
  std::vector<Cqe> all;
  while (const auto cqe = poll_cq()) all.push_back(*cqe);
  return all;
}

std::optional<Host::Event> Host::poll_eq() {
  const std::size_t at = (eq_consumer_ & ((1U << kLogEqSize) - 1)) * prm::kEqeBytes;
  const auto entry = prm::ConstView<prm::eqe>::at(eq_.bytes, at);
  if ((entry.get<"owner">() != 0) != prm::owner_bit(eq_consumer_, kLogEqSize)) return std::nullopt;
  ++eq_consumer_;
  const auto data = prm::ConstView<prm::qp_events>(entry.bytes<"event_data">());
  return Event{prm::EventType{static_cast<std::uint8_t>(entry.get<"event_type">())},
               data.get<"qpn_rqn_sqn">()};
}

bool goes_to(std::span<const std::byte> frame, const Mac& address) noexcept {
  return std::memcmp(frame.data(), address.data(), address.size()) == 0;
}

Peer::Peer(Host& host)
    : host_(&host), port_(host.wire().attach(*this, host.scheduler(), counters_)) {}

Peer::~Peer() { host_->wire().detach(port_); }

void Peer::receive(std::span<const std::byte> frame) {
  frames_.emplace_back(frame.begin(), frame.end());
}

Path Peer::path_to(std::uint32_t qpn) {
  Path path;
  path.source_mac = kPeerMac;
  path.dest_mac = kHostMac;
  path.source_ip = kPeerGid;
  path.dest_ip = kHostGid;
  path.hop_limit = 64;
  path.udp_sport = 0xc321;
  path.dest_qpn = qpn;
  return path;
}

void Peer::send(const Path& path, const PacketHeader& header, std::span<const std::byte> payload) {
  const FrameTemplate frame(path);
  const auto buffer = host_->wire().next_buffer();
  std::ranges::copy(
      payload, buffer.begin() + static_cast<std::ptrdiff_t>(frame.payload_offset(header.opcode)));
  host_->wire().send(port_, frame.finish(buffer, header, payload.size()));
}

void Peer::send_raw(std::span<const std::byte> frame) {
  std::ranges::copy(frame, host_->wire().next_buffer().begin());
  host_->wire().send(port_, frame.size());
}

void Peer::acknowledge(std::uint32_t qpn, std::uint32_t psn, std::uint8_t code) {
  PacketHeader header;
  header.psn = psn;
  header.syndrome = code;
  send(path_to(qpn), header);
}

std::vector<std::vector<std::byte>> Peer::take_frames() { return std::exchange(frames_, {}); }

std::vector<Packet> Peer::take() {
  kept_ = take_frames();
  std::vector<Packet> packets;
  for (const auto& frame : kept_) {
    if (const auto packet = decode(frame)) packets.push_back(*packet);
  }
  return packets;
}

void fill_pattern(std::span<std::byte> bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 0xff);
}

}  // namespace portcullis::model::testing
