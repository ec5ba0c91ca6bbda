// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs that receive by a tag list, their peers, and the command QP that changes it: two of
// one host over its own wire, or a bare port that plays the peer. Entries, opcodes and CQEs as
// libmlx5 has them (set_tm_seg of rdma-core's mlx5/qp.c, handle_tag_matching of cq.c).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/tag_matching/tagged_qp.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {

using prm::CqeAppOp;
using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::TmhOp;
using prm::TmOpcode;
using prm::WqeOpcode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

inline constexpr std::uint32_t kClient = 0x40;
inline constexpr std::uint32_t kServer = 0x41;
inline constexpr std::uint32_t kCommand = 0x42;
inline constexpr std::uint32_t kOtherClient = 0x43;
inline constexpr std::uint32_t kOtherServer = 0x44;
inline constexpr std::uint32_t kAlone = 0x45;  // its peer is the bare port
inline constexpr std::uint32_t kPeerQpn = 0x777;
inline constexpr std::uint32_t kPsn = 0x123;  // QpOptions::psn
inline constexpr std::uint32_t kUserIndex = 0x5566;
inline constexpr std::uint32_t kAppCtx = 0xa1b2c3d4;
inline constexpr std::uint64_t kTag = 0x1122334455667788;
inline constexpr std::uint32_t kHeader = prm::ibv_tmh::bytes;
inline constexpr std::uint32_t kRequest = Rendezvous::kHeaderBytes;
inline constexpr std::uint32_t kRoom = 4096;  // of a buffer, and between two

/// What a CQE says of tags.
struct Said {
  CqeOpcode opcode{};
  std::uint32_t app = 0;
  CqeAppOp op{};
  std::uint32_t index = 0;
  std::uint32_t bytes = 0;
  std::uint32_t app_ctx = 0;
  std::uint64_t tag = 0;
  bool operator==(const Said&) const = default;
};

inline Said said_by(const Cqe& cqe) {
  const auto entry = prm::ConstView<prm::mlx5_cqe64>::at(cqe.bytes);
  const auto header = prm::ConstView<prm::ibv_tmh>::at(cqe.bytes);
  return {cqe.opcode,
          static_cast<std::uint32_t>(entry.get<"app">()),
          CqeAppOp{static_cast<std::uint8_t>(entry.get<"app_op">())},
          static_cast<std::uint32_t>(entry.get<"app_info">()),
          cqe.byte_cnt,
          static_cast<std::uint32_t>(header.get<"app_ctx">()),
          header.get<"tag">()};
}
constexpr Said said(CqeOpcode opcode, CqeAppOp op, std::uint32_t index, std::uint32_t bytes) {
  return {opcode, prm::kCqeAppTagMatching, op, index, bytes, 0, 0};
}
constexpr Said with_tag(Said said, std::uint64_t tag = kTag) {
  said.app_ctx = kAppCtx;
  said.tag = tag;
  return said;
}

class TagMatching : public ::testing::Test {
 protected:
  explicit TagMatching(std::shared_ptr<Pace> pace = nullptr)
      : held(std::move(pace)), host(nullptr, "", PortType::Ethernet, held) {
    fill_pattern(source.bytes, 7);
    xrq = host.make_xrq(3, kUserIndex);
    server_options.shared_receives = xrq;
    server_options.no_sq = server_options.offload_rendezvous = true;
    host.connect(kClient, kServer, client_options);
    host.connect(kServer, kClient, server_options);
    host.connect(kCommand, kCommand, command_options());
  }

  [[nodiscard]] QpOptions command_options() const {
    QpOptions options;
    options.shared_receives = xrq;
    return options;
  }
  /// Another queue pair of the same list, whose peer is the bare port.
  void connect_alone() {
    QpOptions options = server_options;
    options.dest_mac = kPeerMac;
    options.dest_gid = kPeerGid;
    host.connect(kAlone, kPeerQpn, options);
  }

  [[nodiscard]] static std::vector<std::byte> segment(TmOpcode opcode, std::uint16_t index,
                                                      std::uint8_t flags, std::uint16_t count) {
    prm::Buffer<prm::mlx5_wqe_tm_seg> tm;
    tm.put<"opcode">(prm::tm_opcode_byte(opcode)).put<"flags">(flags);
    tm.put<"index">(index).put<"sw_cnt">(count);
    return {tm.all().begin(), tm.all().end()};
  }
  /// The WQE's segments come from `change`.
  void command(std::span<const std::byte> change, std::uint32_t qpn = kCommand) {
    host.post_raw(qpn, WqeOpcode::TAG_MATCHING, change, false);
    host.ring(qpn);
    host.run();
  }
  /// An entry whose buffer is place `index` of the target.
  void append(std::uint16_t index, std::uint64_t tag = kTag, std::uint64_t mask = ~0ULL,
              std::uint32_t bytes = kRoom, std::uint8_t flags = 0, std::uint16_t count = 0) {
    std::vector<std::byte> change =
        segment(TmOpcode::APPEND, static_cast<std::uint16_t>(index + 1), flags, count);
    const auto tm = prm::View<prm::mlx5_wqe_tm_seg>::at(change);
    tm.put<"append_tag">(tag);
    tm.put<"append_mask">(mask);
    const std::array<Piece, 1> piece{Piece{address_of(target) + index * kRoom, bytes, lkey_target}};
    const std::vector<std::byte> data = segments_of(piece);
    change.insert(change.end(), data.begin(), data.end());
    command(change);
  }
  void remove(std::uint16_t index) { command(segment(TmOpcode::REMOVE, index, prm::kTmCqeReq, 0)); }
  void synchronize(std::uint16_t count) {
    command(segment(TmOpcode::NOP, 0, prm::kTmCqeReq | prm::kTmSwCnt, count));
  }

  /// A message's header, in front of the pattern.
  void put_header(TmhOp op, std::uint64_t tag = kTag) {
    const auto header = prm::View<prm::ibv_tmh>::at(source.bytes);
    header.put<"opcode">(op);
    header.put<"app_ctx">(kAppCtx);
    header.put<"tag">(tag);
  }
  /// Behind it: the data is `bytes` from `address` on.
  void put_request(std::uint32_t bytes, std::uint32_t rkey, std::uint64_t address) {
    put_header(TmhOp::RNDV);
    const auto where = prm::View<prm::ibv_rvh>::at(source.bytes, kHeader);
    where.put<"va">(address);
    where.put<"rkey">(rkey);
    where.put<"len">(bytes);
  }
  void put_request(std::uint32_t bytes) {
    put_request(bytes, rkey_source, address_of(source) + kRoom);
  }
  /// The first `bytes` of the source.
  void send(std::uint32_t bytes, std::uint32_t from = kClient, WqeOpcode opcode = WqeOpcode::SEND,
            std::uint32_t immediate = 0) {
    const std::array<Piece, 1> pieces{Piece{address_of(source), bytes, lkey_source}};
    host.post_raw(from, opcode, segments_of(pieces), false, immediate);
    host.ring(from);
    host.run();
  }
  void send_eager(std::uint32_t data_bytes, std::uint64_t tag = kTag,
                  std::uint32_t from = kClient) {
    put_header(TmhOp::EAGER, tag);
    send(kHeader + data_bytes, from);
  }
  /// A receive of the queue, whose memory is place `index` of the target.
  void post(std::uint32_t index, std::uint32_t bytes = kRoom) {
    host.post_shared({address_of(target) + index * kRoom, bytes, lkey_target});
  }
  /// A receive of the client's, for the end of a rendezvous.
  void post_client(std::uint32_t index, std::uint32_t bytes = kRoom) {
    const std::array<Piece, 1> piece{Piece{address_of(target) + index * kRoom, bytes, lkey_target}};
    host.post_receive(kClient, piece);
  }

  [[nodiscard]] std::vector<Said> heard_of(std::uint32_t qpn) {
    std::vector<Said> all;
    for (const Cqe& cqe : host.drain_cq()) {
      const std::size_t count = cqe.qpn == qpn ? 1 : 0;
      all.insert(all.end(), count, said_by(cqe));
    }
    return all;
  }
  [[nodiscard]] std::span<const std::byte> place(std::uint32_t index, std::size_t bytes) const {
    return target.bytes.subspan(index * kRoom, bytes);
  }
  /// The target has, from place `index` on, what the source has from `from` on.
  [[nodiscard]] bool has_arrived(std::uint32_t index, std::size_t from, std::size_t bytes) const {
    return std::ranges::equal(place(index, bytes), source.bytes.subspan(from, bytes));
  }
  [[nodiscard]] bool is_untouched(std::uint32_t index) const {
    return std::ranges::all_of(place(index, kRoom), [](std::byte b) { return b == std::byte{0}; });
  }
  [[nodiscard]] std::uint32_t hw_phase() const {
    return host.query_xrq(xrq).get<"tag_matching_topology_context.hw_phase_cnt">();
  }

  std::shared_ptr<Pace> held;
  Host host;
  QpOptions client_options{.log_rq_size = 3};
  QpOptions server_options;
  std::uint32_t xrq = 0;
  Region source = host.map(std::size_t{16} * kRoom);
  Region target = host.map(std::size_t{16} * kRoom);
  std::uint32_t lkey_source = host.make_key(source, access::kLocalRead);
  std::uint32_t lkey_target = host.make_key(target, access::kLocalWrite);
  std::uint32_t rkey_source = host.make_key(source, access::kRemoteRead);
};

class TagMatchingAlone : public TagMatching {
 protected:
  explicit TagMatchingAlone(std::shared_ptr<Pace> pace = nullptr) : TagMatching(std::move(pace)) {
    connect_alone();
  }

  void send_packet(BthOpcode opcode, std::uint32_t psn, std::size_t at, std::size_t bytes) {
    PacketHeader header;
    header.opcode = opcode;
    header.psn = psn;
    header.ack_request = true;
    peer.send(Peer::path_to(kAlone), header, source.bytes.subspan(at, bytes));
    host.run();
  }
  /// The request that fetches what a rendezvous names; the acknowledgement went before it.
  [[nodiscard]] std::optional<Packet> read_request() {
    const std::vector<Packet> packets = peer.take();
    const auto found = std::ranges::find(packets, BthOpcode::ReadRequest, &Packet::operation);
    return found == packets.end() ? std::nullopt : std::optional(*found);
  }
  void begin_rendezvous(std::uint32_t bytes) {
    append(0);
    put_request(bytes, 0xabcd, 0x10000);
    send_packet(BthOpcode::SendOnly, kPsn, 0, kRequest);
    const auto request = read_request();
    ASSERT_TRUE(request);
    EXPECT_EQ(request->va, 0x10000U);
    EXPECT_EQ(request->rkey, 0xabcdU);
    EXPECT_EQ(request->dma_length, bytes);
    EXPECT_EQ(request->dest_qpn, kPeerQpn);
    EXPECT_THAT(heard_of(kAlone), SizeIs(1));
  }
  void respond(BthOpcode opcode, std::uint32_t psn, std::size_t bytes) {
    send_packet(opcode, psn, kRoom, bytes);
  }
  Said canceled() const {
    return said(CqeOpcode::RESP_SEND, CqeAppOp::TM_MSG_COMPLETION_CANCELED, 0, 0);
  }

  Peer peer{host};
};

}  // namespace portcullis::model::testing
