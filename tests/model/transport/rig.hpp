// SPDX-License-Identifier: BSD-3-Clause
//
// A transport with real tables and real memory around it, but no command interface: what the tests
// of the RC rules need. A Host is one function; a Peer is a bare port that speaks raw frames to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/behaviours.hpp"
#include "model/iommu.hpp"
#include "model/transport/frame.hpp"
#include "model/transport/wire.hpp"
#include "model/transport_port.hpp"
#include "prm/cqe.hpp"
#include "prm/enums.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model::testing {

inline constexpr Mac kHostMac{0x02, 0, 0, 0, 0, 0x01};
inline constexpr Mac kPeerMac{0x02, 0, 0, 0, 0, 0x02};
inline constexpr Gid kHostGid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
inline constexpr Gid kPeerGid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 2};
inline constexpr Gid kHostGid6{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
inline constexpr std::uint16_t kHostLid = 0x1234;
/// kHostGid once more, on VLAN 5, is this entry of a host's RoCE address table.
inline constexpr std::uint32_t kOnVlan = 5;
inline constexpr std::uint16_t kVlanId = 5;
inline constexpr std::uint32_t kPd = 7;
inline constexpr std::uint32_t kUar = 3;
inline constexpr std::uint32_t kMtu = 1024;

/// Pages that a host mapped for DMA.
struct Region {
  std::span<std::byte> bytes;
  Iova iova = 0;
};

/// Where the program has them, which is where a key over them begins.
[[nodiscard]] std::uint64_t address_of(const Region& region);

/// Big-endian, over all of `at`: how WQEs have their numbers.
void put_be(std::span<std::byte> at, std::uint64_t value);

/// What one queue pair is made of; the defaults work.
struct QpOptions {
  std::uint32_t log_sq_size = 6;
  std::optional<std::uint32_t> log_rq_size{};  // of WQEs of kReceivePieces segments; absent: no RQ
  std::uint32_t shared_receives = 0;           // in place of an RQ, of make_shared_receives()
  std::uint32_t min_rnr_nak = 1;               // 10 us
  std::uint32_t pd = kPd;
  std::uint32_t uar = kUar;
  bool rwe = true;
  bool rre = true;
  bool rae = true;
  std::uint32_t log_sra_max = 3;  // READs and atomics under way
  std::uint32_t log_rra_max = 3;  // and kept by the responder
  std::uint32_t ack_timeout = 14;
  std::uint32_t retry_count = 7;
  std::uint32_t rnr_retry = 7;
  std::uint32_t psn = 0x123;   // both directions
  std::uint32_t counters = 0;  // set of Q counters
  prm::QpServiceType service = prm::QpServiceType::RC;
  prm::QpcMtu mtu = prm::QpcMtu::MTU_1024;
  std::uint32_t src_addr_index = 0;
  std::uint32_t eth_prio = 0;
  Mac dest_mac = kHostMac;
  Gid dest_gid = kHostGid;
  bool force_loopback = false;
  // InfiniBand
  std::uint16_t dest_lid = kHostLid;
  std::uint32_t service_level = 0;
  bool grh = false;
  std::uint32_t pkey_index = 0;
  std::uint32_t q_key = 0;  // of UD
  std::uint32_t xrcd = 0;   // of XRC
  bool no_sq = false;
  bool offload_rendezvous = false;
  bool block_lb_mc = false;
  bool drain_sigerr = false;
  bool is_underlay = false;  // no queues: ulp_stateless_offload_mode 2
};

struct Cqe {
  prm::CqeOpcode opcode{};
  prm::CqeSyndrome syndrome{};
  std::uint8_t vendor_syndrome = 0;
  std::uint32_t wqe_counter = 0;
  std::uint32_t qpn = 0;
  std::uint32_t byte_cnt = 0;
  std::uint32_t immediate = 0;
  std::uint32_t flags_rqpn = 0;
  std::uint32_t slid = 0;
  std::uint32_t l4_hdr_type_etc = 0;
  std::uint32_t vlan_info = 0;
  std::uint32_t user_index = 0;
  std::array<std::byte, prm::kCqeBytes> bytes{};  // as they came
};

/// A data segment.
struct Piece {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t lkey = 0;
};
/// Data segments a receive WQE has room for.
inline constexpr std::uint32_t kReceivePieces = 2;
[[nodiscard]] std::vector<std::byte> segments_of(std::span<const Piece> pieces);

/// One RDMA WRITE as a driver would post it.
struct WriteRequest {
  std::uint64_t raddr = 0;
  std::uint32_t rkey = 0;
  std::uint32_t lkey = 0;
  std::uint64_t address = 0;
  std::uint32_t length = 0;
  bool signaled = true;
};

class Host {
 public:
  /// A pcap path is optional; without a wire the host has one of its own.
  explicit Host(std::shared_ptr<Wire> wire = nullptr, const std::string& pcap_path = "",
                PortType port_type = PortType::Ethernet, std::shared_ptr<Pace> pace = nullptr,
                const Behaviours& behaviours = no_behaviours);
  ~Host();

  [[nodiscard]] Region map(std::size_t bytes);
  void unmap(const Region& region);
  /// The key (index << 8 | variant) of an MTT over `region`, virtual address = its CPU address.
  [[nodiscard]] std::uint32_t make_key(const Region& region, std::uint8_t rights,
                                       std::uint32_t pd = kPd, std::uint32_t qpn = prm::kMkcQpnAny);
  /// One of mode KLM over the same addresses, which leads to `direct`.
  [[nodiscard]] std::uint32_t make_indirect_key(const Region& region, std::uint8_t rights,
                                                std::uint32_t direct);
  /// One of mode MEMIC over all of bar(), from address 0 on.
  [[nodiscard]] std::uint32_t make_device_key(std::uint8_t rights);
  [[nodiscard]] std::span<std::byte> bar() { return bar_; }
  /// One that UMRs will fill: free, with room for that many octowords of translations.
  [[nodiscard]] std::uint32_t make_free_key(prm::MkcAccessMode mode, std::uint32_t octowords,
                                            std::uint32_t pd, bool remote_invalidate = false);
  /// The same of mode KLM, with room for a byte stream format (_mlx5dv_create_mkey of rdma-core's
  /// mlx5/verbs.c), and a PSV for it.
  [[nodiscard]] std::uint32_t make_signed_key(std::uint32_t octowords, std::uint32_t pd);
  [[nodiscard]] std::uint32_t make_psv(std::uint32_t pd);
  void destroy_key(std::uint32_t key);
  [[nodiscard]] bool has_pending_dma(std::uint32_t key) const {
    return mkeys_.has_pending_dma(key >> 8);
  }

  /// CREATE_QP only.
  Verdict create(std::uint32_t qpn, const QpOptions& options = {});
  Verdict modify(std::uint32_t qpn, QpTransition transition, std::uint32_t remote_qpn = 0,
                 const QpOptions& options = {}, std::uint32_t opt_param_mask = 0);
  /// RTS2RTS, as mlx5dv_modify_qp_udp_sport gives it: nothing else is in its context.
  Verdict change_udp_sport(std::uint32_t qpn, std::uint16_t port);
  /// Of an InfiniBand port, trained or not.
  void set_port_state(PortState state) {
    port_.state = state;
    port_.link_up = state != PortState::Down;
    transport_->port_changed();
  }
  Verdict destroy(std::uint32_t qpn) { return transport_->destroy_qp(qpn); }
  /// CREATE_QP and all transitions to RTS; `remote_qpn` may be its own.
  void connect(std::uint32_t qpn, std::uint32_t remote_qpn, const QpOptions& options = {});
  [[nodiscard]] prm::QpState state(std::uint32_t qpn);
  [[nodiscard]] prm::Buffer<prm::qpc> query(std::uint32_t qpn);

  /// Places the WQE; ring() tells the device about all that were posted since.
  void post(std::uint32_t qpn, const WriteRequest& request);
  /// A WQE of raw octowords behind a control segment that says `opcode` and their number.
  void post_raw(std::uint32_t qpn, prm::WqeOpcode opcode, std::span<const std::byte> segments,
                bool signaled = true, std::uint32_t immediate = 0, std::uint8_t flags = 0);
  /// A shared receive queue of four receives.
  [[nodiscard]] std::uint32_t make_shared_receives();
  [[nodiscard]] std::uint32_t make_xrc_domain();
  /// The same of an XRC domain, on the host's CQ.
  [[nodiscard]] std::uint32_t make_xrc_receives(std::uint32_t xrcd, std::uint32_t pd,
                                                std::uint32_t user_index);
  /// An XRQ of four receives on the host's CQ, whose tag list has 2^log_tags places.
  [[nodiscard]] std::uint32_t make_xrq(std::uint32_t log_tags, std::uint32_t user_index);
  [[nodiscard]] prm::Buffer<prm::xrqc> query_xrq(std::uint32_t number) const;
  /// Places the next receive of the queue made last, in the order of the list, and tells the
  /// device.
  void post_shared(const Piece& piece);
  /// Places a receive WQE and tells the device by the doorbell record.
  void post_receive(std::uint32_t qpn, std::span<const Piece> pieces);
  void ring(std::uint32_t qpn);
  void post_and_ring(std::uint32_t qpn, const WriteRequest& request);
  /// A READ into, or an RDMA WRITE with immediate out of, the request's local memory.
  void post_rdma(std::uint32_t qpn, prm::WqeOpcode opcode, const WriteRequest& request,
                 std::uint32_t immediate = 0, std::uint8_t flags = 0);
  struct AtomicRequest {
    std::uint64_t raddr = 0;
    std::uint32_t rkey = 0;
    std::uint32_t lkey = 0;
    std::uint64_t address = 0;
    std::uint64_t swap_add = 0;
    std::uint64_t compare = 0;
    std::uint32_t length = 8;
  };
  void post_atomic(std::uint32_t qpn, prm::WqeOpcode opcode, const AtomicRequest& request);
  /// The doorbell record alone, no kick.
  void write_record(std::uint32_t qpn);
  /// The driver's side after 2RST: producer index and record are 0 again.
  void restart_queue(std::uint32_t qpn);
  /// Any value in the doorbell record, no kick.
  void set_record(std::uint32_t qpn, std::uint32_t value);
  void set_receive_record(std::uint32_t qpn, std::uint32_t value);
  [[nodiscard]] std::span<std::byte> send_queue(std::uint32_t qpn);
  [[nodiscard]] std::span<std::byte> receive_queue(std::uint32_t qpn);
  void unmap_send_queue(std::uint32_t qpn) { unmap(queue(qpn).memory); }

  /// Runs all that is due now, then time up to `until_ns`.
  void run();
  void run_until(std::uint64_t until_ns);
  [[nodiscard]] std::uint64_t now_ns() const;

  [[nodiscard]] std::optional<Cqe> poll_cq();
  /// All completions that are there.
  [[nodiscard]] std::vector<Cqe> drain_cq();
  /// The next asynchronous event: type and QP number.
  struct Event {
    prm::EventType type{};
    std::uint32_t qpn = 0;
  };
  [[nodiscard]] std::optional<Event> poll_eq();

  /// As SET_HCA_CAP would choose it.
  void set_host_endian_atomics(bool on) noexcept { host_endian_atomics_ = on; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  [[nodiscard]] Dma& dma() { return dma_; }
  [[nodiscard]] Wire& wire() { return *wire_; }
  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const PortCounters::Counts& port_counts() const { return port_counters_.port; }
  [[nodiscard]] const KeyViolations& violations() const { return port_counters_.violations; }
  [[nodiscard]] const PortCounters::PacketCounts& packet_counts() const {
    return port_counters_.packets;
  }
  /// What the queue pairs of set 0 met: all, unless a test says otherwise.
  [[nodiscard]] const QCounters& q_counters() { return q_counters_.at(0); }
  [[nodiscard]] Behaviours& behaviours() { return behaviours_; }
  [[nodiscard]] QCounterTable& q_counter_table() { return q_counters_; }
  [[nodiscard]] PortSettings& port() { return port_; }
  /// As ATTACH_TO_MCG and DETACH_FROM_MCG have it.
  void join(const Gid& group, std::uint32_t qpn);
  void leave(const Gid& group, std::uint32_t qpn);
  [[nodiscard]] FlowTables& flows() { return flows_; }
  /// What came to a TIR as IP over InfiniBand.
  struct Datagram {
    std::uint32_t tirn = 0;
    std::uint32_t qpn = 0;
    std::uint32_t flags_rqpn = 0;
    std::uint16_t slid = 0;
    bool is_own = false;
    bool is_solicited = false;
    bool is_of_group = false;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] const std::vector<Datagram>& datagrams() const { return datagrams_; }

 private:
  struct Queue {
    Region memory;  // SQ, then the doorbell record's page
    Region record;
    std::size_t sq_start = 0;  // behind the receive queue
    std::uint32_t receives = 0;
    std::uint16_t receive_producer = 0;
    std::uint32_t blocks = 0;
    std::uint16_t producer = 0;
    std::uint32_t uar = 0;
  };
  [[nodiscard]] Queue& queue(std::uint32_t qpn);
  [[nodiscard]] prm::Buffer<prm::qpc> context(const QpOptions& options) const;
  [[nodiscard]] std::array<std::byte, 8> make_shared_memory();
  std::uint32_t create_key(prm::Buffer<prm::mkc>& mkc, std::span<const std::byte> list);
  void make_queues();
  std::span<std::byte> block(Queue& sq, std::uint16_t index);

  std::shared_ptr<Wire> wire_;
  Behaviours behaviours_;
  bool host_endian_atomics_ = true;
  Counters counters_;
  Iommu iommu_;
  Dma dma_;
  std::vector<std::byte> bar_ = std::vector<std::byte>(2 * kPageBytes);
  EqTable eqs_;
  std::unique_ptr<Scheduler> scheduler_;
  CqTable cqs_;
  MkeyTable mkeys_;
  PsvTable psvs_{8};
  QCounterTable q_counters_;
  PortSettings port_;
  PortCounters port_counters_;
  FlowTables flows_;
  std::vector<Datagram> datagrams_;
  MulticastGroups groups_;
  UmemTable umems_{4};
  SharedReceives shared_receives_{dma_, eqs_, umems_};
  Region shared_queue_, shared_record_;
  std::uint16_t shared_posted_ = 0;
  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<std::byte[], void (*)(std::byte*)>> memory_;
  std::vector<std::pair<std::uint32_t, Queue>> queues_;
  Region cq_, eq_;
  std::uint32_t cqn_ = 0, eqn_ = 0;
  std::uint32_t cq_consumer_ = 0, eq_consumer_ = 0;
};

/// Whether an Ethernet frame's destination is `address`.
[[nodiscard]] bool goes_to(std::span<const std::byte> frame, const Mac& address) noexcept;

/// A port that sends and keeps raw frames.
class Peer final : public FrameSink {
 public:
  explicit Peer(Host& host);
  ~Peer() override;

  [[nodiscard]] bool owns(std::span<const std::byte> frame) const noexcept override {
    return goes_to(frame, kPeerMac);
  }
  void receive(std::span<const std::byte> frame) override;
  void room() override {}

  /// A path from the peer to `qpn` of the host; change it before send().
  [[nodiscard]] static Path path_to(std::uint32_t qpn);
  void send(const Path& path, const PacketHeader& header, std::span<const std::byte> payload = {});
  void send_raw(std::span<const std::byte> frame);
  /// Acknowledge packet to `qpn`.
  void acknowledge(std::uint32_t qpn, std::uint32_t psn,
                   std::uint8_t code = syndrome::kAckUnlimited);

  /// What came since the last call; `payload` refers to frames kept here.
  [[nodiscard]] std::vector<Packet> take();
  [[nodiscard]] std::vector<std::vector<std::byte>> take_frames();

 private:
  Host* host_;
  Counters counters_;
  Wire::PortId port_;
  std::vector<std::vector<std::byte>> frames_, kept_;
};

/// Distinct bytes, the same every time.
void fill_pattern(std::span<std::byte> bytes, std::uint32_t seed);

}  // namespace portcullis::model::testing
