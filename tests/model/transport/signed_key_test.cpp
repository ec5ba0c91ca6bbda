// SPDX-License-Identifier: BSD-3-Clause
//
// Data through keys with signatures, configured by WQEs as libmlx5 builds them
// (mlx5dv_wr_mkey_configure, mlx5dv_wr_set_mkey_sig_block). The cases are those of config() and
// TYPED_TEST(sig_test, c0..c4) of ibverbs-tests' sig-handover: signatures are inserted and stripped
// by what goes out and what comes in, of one's own requests and of a peer's.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "prm/block_signature.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CqeOpcode;
using prm::CqeSyndrome;
using prm::WqeOpcode;

constexpr std::uint32_t kOwner = 0x40;  // of the signed keys
constexpr std::uint32_t kPeer = 0x41;
constexpr std::uint32_t kBlocks = 8;
constexpr std::uint32_t kBlock = 512;
constexpr std::uint32_t kDif = 8;
constexpr std::uint32_t kData = kBlocks * kBlock;
constexpr std::uint32_t kWithDif = kBlocks * (kBlock + kDif);
constexpr std::uint8_t kFence = prm::kCtrlFence;

// MLX5_WQE_UMR_CTRL_* of mlx5dv.h, MLX5_WQE_UMR_CTRL_MKEY_MASK_* of rdma-core's mlx5/wqe.h
constexpr std::uint8_t kInline = 1 << 7;
constexpr std::uint64_t kLen = 1 << 0, kSigErr = 1 << 9, kBsfEnable = 1 << 12, kMkey = 1 << 13,
                        kAccess = 0xf << 18, kFree = 1 << 29;

class SignedKeyTest : public ::testing::Test {
 protected:
  SignedKeyTest() {
    QpOptions options;
    options.log_rq_size = 2;
    host.connect(kOwner, kPeer, options);
    host.connect(kPeer, kOwner, options);
    std::ranges::fill(data.bytes, std::byte{0xa5});
  }

  enum class Side : std::uint8_t { Wire, Memory, Both };
  /// T10-DIF of every 512 bytes, as mlx5_umr_fill_sig_bsf has it.
  [[nodiscard]] prm::Buffer<prm::mlx5_bsf> dif(Side side) const {
    prm::Buffer<prm::mlx5_bsf> bsf;
    bsf.set<"bsf_size_sbs", 0x80>().set<"check_byte_mask", 0xff>();
    bsf.put<"raw_data_size">(0xffffffff);
    if (side != Side::Memory) {
      bsf.put<"w_bfs_psv">(psv).set<"wire_selector", 1>();
      fill_dif(bsf.bytes<"w_inl">());
    }
    if (side != Side::Wire) {
      bsf.put<"m_bfs_psv">(psv).set<"mem_selector", 1>();
      fill_dif(bsf.bytes<"m_inl">());
    }
    if (side == Side::Both) bsf.set<"bsf_size_sbs", 0x90>().set<"wire_selector", 0xff>();
    return bsf;
  }
  static void fill_dif(std::span<std::byte> section) {
    prm::Buffer<prm::mlx5_bsf_inl> inl;
    inl.set<"vld_refresh", 0xc000>().set<"dif_apptag", 0x5678>().set<"sig_type", 1>();
    inl.put<"dif_reftag">(0xabcdef90).set<"rp_inv_seed", 0x88>();
    inl.set<"dif_inc_ref_guard_check", 0x40>().set<"dif_app_bitmask_check", 0xffff>();
    std::ranges::copy(inl.all(), section.begin());
  }
  /// Signature of block `number` of data that is all 0xa5: the guard is the one of the card's
  /// example (block_guard_test.cpp).
  [[nodiscard]] static std::array<std::byte, kDif> dif_of(std::uint32_t number) {
    std::array<std::byte, kDif> bytes{};
    put_be(bytes, 0xec7d5678abcdef90 + number);
    return bytes;
  }
  /// Blocks and signatures as they stand together.
  [[nodiscard]] static std::vector<std::byte> interleaved() {
    std::vector<std::byte> all;
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      all.insert(all.end(), kBlock, std::byte{0xa5});
      const auto signature = dif_of(block);
      all.insert(all.end(), signature.begin(), signature.end());
    }
    return all;
  }

  /// UMR and SET_PSV, as umr_finalize_and_set_psvs posts them. `sigerr` is what the key expects.
  void configure(std::uint32_t key, const Region& memory, std::uint32_t lkey, std::uint32_t bytes,
                 const prm::Buffer<prm::mlx5_bsf>& bsf, std::uint32_t sigerr = 1) {
    std::vector<std::byte> all(48 + 64 + 64 + prm::mlx5_bsf::bytes);
    const std::span<std::byte> control(all), mkey = control.subspan(48);
    control[0] = std::byte{kInline};
    put_be(control.subspan(4, 2), 4);
    put_be(control.subspan(6, 2), 4);
    put_be(control.subspan(8, 8), kLen | kSigErr | kBsfEnable | kMkey | kAccess | kFree);
    mkey[2] = std::byte{0x38};  // local write, remote read, remote write
    put_be(mkey.subspan(4, 4), 0xffffff00U | (key & 0xff));
    put_be(mkey.subspan(12, 4), 1U << 30 | sigerr << 26);
    put_be(mkey.subspan(24, 8), bytes);
    const std::array pieces{Piece{address_of(memory), bytes, lkey}};
    std::ranges::copy(segments_of(pieces), all.begin() + 48 + 64);
    std::ranges::copy(bsf.all(), all.begin() + 48 + 64 + 64);
    host.post_raw(kOwner, WqeOpcode::UMR, all, false, key);
    set_psv(psv, 0xffff5678abcdef90);
    EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  }
  void set_psv(std::uint32_t index, std::uint64_t value) {
    std::array<std::byte, prm::mlx5_seg_set_psv::bytes> segment{};
    put_be(std::span(segment).first(4), index);
    put_be(std::span(segment).subspan(8, 8), value);
    host.post_raw(kOwner, WqeOpcode::SET_PSV, segment);
    host.ring(kOwner);
    host.run();
  }
  /// A key over `memory`, of the owner's QP.
  [[nodiscard]] std::uint32_t signed_key(const Region& memory, std::uint32_t lkey,
                                         std::uint32_t bytes,
                                         const prm::Buffer<prm::mlx5_bsf>& bsf) {
    const std::uint32_t key = host.make_signed_key(4, kPd);
    configure(key, memory, lkey, bytes, bsf);
    return key;
  }

  void rdma(std::uint32_t qpn, WqeOpcode opcode, const WriteRequest& request) {
    host.post_rdma(qpn, opcode, request);
    host.ring(qpn);
    host.run();
  }
  [[nodiscard]] Cqe only_completion() {
    const auto all = host.drain_cq();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Cqe{} : all.front();
  }
  /// The fault, which stands before the completion of the transfer.
  [[nodiscard]] prm::Buffer<prm::mlx5_sig_err_cqe> fault_and_success() {
    const auto all = host.drain_cq();
    prm::Buffer<prm::mlx5_sig_err_cqe> entry;
    EXPECT_EQ(all.size(), 2U);
    if (all.size() != 2) return entry;
    EXPECT_EQ(all[0].opcode, CqeOpcode::SIGNATURE_ERR);
    EXPECT_EQ(all[1].opcode, CqeOpcode::REQ);
    std::ranges::copy(all[0].bytes, entry.all().begin());
    return entry;
  }
  [[nodiscard]] static bool starts_with(const Region& region, std::span<const std::byte> bytes) {
    return std::ranges::equal(region.bytes.first(bytes.size()), bytes);
  }
  void put(const Region& region, std::span<const std::byte> bytes) const {
    std::ranges::copy(bytes, region.bytes.begin());
  }

  Host host;
  Region data = host.map(2 * kPageBytes);
  Region plain = host.map(2 * kPageBytes);
  std::uint32_t data_key = host.make_key(data, access::kLocalRead | access::kLocalWrite);
  std::uint32_t plain_key = host.make_key(
      plain, access::kLocalRead | access::kLocalWrite | access::kRemoteWrite | access::kRemoteRead);
  std::uint32_t psv = host.make_psv(kPd);
};

TEST_F(SignedKeyTest, Write_InsertsSignaturesOnTheWire) {
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kOwner, WqeOpcode::RDMA_WRITE, {address_of(plain), plain_key, key, 0, kWithDif, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(plain, interleaved()));
}

TEST_F(SignedKeyTest, Write_StripsSignaturesOfMemory) {
  put(data, interleaved());
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Memory));
  rdma(kOwner, WqeOpcode::RDMA_WRITE, {address_of(plain), plain_key, key, 0, kData, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(plain, std::vector<std::byte>(kData, std::byte{0xa5})));
}

TEST_F(SignedKeyTest, ReadByAPeer_InsertsSignaturesOnTheWire) {
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kPeer, WqeOpcode::RDMA_READ, {0, key, plain_key, address_of(plain), kWithDif, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(plain, interleaved()));
}

TEST_F(SignedKeyTest, ReadByAPeerOfOneSignature_GivesThatAlone) {
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kPeer, WqeOpcode::RDMA_READ,
       {3 * (kBlock + kDif) + kBlock, key, plain_key, address_of(plain), kDif, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(plain, dif_of(3)));
}

TEST_F(SignedKeyTest, WriteByAPeer_ChecksAndStripsSignatures) {
  put(plain, interleaved());
  std::ranges::fill(data.bytes, std::byte{0});
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kPeer, WqeOpcode::RDMA_WRITE, {0, key, plain_key, address_of(plain), kWithDif, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(data, std::vector<std::byte>(kData, std::byte{0xa5})));
  EXPECT_EQ(data.bytes[kData], std::byte{0});
}

TEST_F(SignedKeyTest, WriteByAPeer_InsertsSignaturesInMemory) {
  std::ranges::fill(plain.bytes, std::byte{0xa5});
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Memory));
  rdma(kPeer, WqeOpcode::RDMA_WRITE, {0, key, plain_key, address_of(plain), kData, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(data, interleaved()));
}

TEST_F(SignedKeyTest, Read_InsertsSignaturesInMemory) {
  std::ranges::fill(plain.bytes, std::byte{0xa5});
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Memory));
  rdma(kOwner, WqeOpcode::RDMA_READ, {address_of(plain), plain_key, key, 0, kData, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(data, interleaved()));
}

TEST_F(SignedKeyTest, Read_ChecksAndStripsSignatures) {
  put(plain, interleaved());
  std::ranges::fill(data.bytes, std::byte{0});
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kOwner, WqeOpcode::RDMA_READ, {address_of(plain), plain_key, key, 0, kWithDif, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(data, std::vector<std::byte>(kData, std::byte{0xa5})));
}

TEST_F(SignedKeyTest, SignaturesOnBothSides_GoOverAsTheyAre) {
  put(data, interleaved());
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Both));
  rdma(kOwner, WqeOpcode::RDMA_WRITE, {address_of(plain), plain_key, key, 0, kWithDif, true});
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_TRUE(starts_with(plain, interleaved()));
}

TEST_F(SignedKeyTest, WrongSignatureOnBothSides_IsSaidAndGoesOverAsItIs) {
  std::vector<std::byte> all = interleaved();
  all[2 * (kBlock + kDif) + kBlock] ^= std::byte{1};
  put(data, all);
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Both));
  rdma(kOwner, WqeOpcode::RDMA_WRITE, {address_of(plain), plain_key, key, 0, kWithDif, true});
  EXPECT_EQ(fault_and_success().get<"syndrome">(), prm::kGuardError);
  EXPECT_TRUE(starts_with(plain, all));
}

TEST_F(SignedKeyTest, Receive_IsStrippedPartByPart) {
  put(plain, interleaved());
  std::ranges::fill(data.bytes, std::byte{0});
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  const std::array receive{Piece{0, kWithDif, key}};
  host.post_receive(kOwner, receive);
  const std::array segments{Piece{address_of(plain), kWithDif, plain_key}};
  host.post_raw(kPeer, WqeOpcode::SEND, segments_of(segments));
  host.ring(kPeer);
  host.run();
  EXPECT_EQ(host.drain_cq().size(), 2U);
  EXPECT_TRUE(starts_with(data, std::vector<std::byte>(kData, std::byte{0xa5})));
}

TEST_F(SignedKeyTest, WrongDataInMemory_IsSaidBeforeTheTransferCompletes) {
  put(data, interleaved());
  data.bytes[2 * (kBlock + kDif) + 7] = std::byte{0};
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Memory));
  rdma(kOwner, WqeOpcode::RDMA_WRITE, {address_of(plain), plain_key, key, 0, kData, true});
  const auto fault = fault_and_success();
  EXPECT_EQ(fault.get<"syndrome">(), prm::kGuardError);
  EXPECT_EQ(fault.get<"mkey">(), key);
  EXPECT_EQ(fault.get<"domain">(), prm::kMemoryDomain);
  EXPECT_EQ(fault.get<"err_offset">(), 2U * (kBlock + kDif));
  EXPECT_EQ(fault.get<"expected_trans_sig">(), 0xec7d5678U);
  EXPECT_NE(fault.get<"actual_trans_sig">() >> 16, 0xec7dU);
  EXPECT_EQ(fault.get<"qpn">(), kOwner);
}

TEST_F(SignedKeyTest, WrongReferenceTagOnTheWire_IsSaid) {
  std::vector<std::byte> all = interleaved();
  all[5 * (kBlock + kDif) + kBlock + 7] = std::byte{0};
  put(plain, all);
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kOwner, WqeOpcode::RDMA_READ, {address_of(plain), plain_key, key, 0, kWithDif, true});
  const auto fault = fault_and_success();
  EXPECT_EQ(fault.get<"syndrome">(), prm::kReftagError);
  EXPECT_EQ(fault.get<"domain">(), prm::kWireDomain);
  EXPECT_EQ(fault.get<"expected_reftag">(), 0xabcdef00U);
  EXPECT_EQ(fault.get<"actual_reftag">(), 0xabcdef95U);
}

TEST_F(SignedKeyTest, WrongDataFromAPeer_IsSaidInTheQueueOfReceives) {
  std::vector<std::byte> all = interleaved();
  all[0] = std::byte{0};
  put(plain, all);
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kPeer, WqeOpcode::RDMA_WRITE, {0, key, plain_key, address_of(plain), kWithDif, true});
  EXPECT_EQ(fault_and_success().get<"qpn">(), kOwner);
}

TEST_F(SignedKeyTest, SecondFault_IsNotSaidBeforeTheNextIsExpected) {
  put(data, interleaved());
  data.bytes[0] = std::byte{0};
  const std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Memory));
  const WriteRequest write{address_of(plain), plain_key, key, 0, kData, true};
  rdma(kOwner, WqeOpcode::RDMA_WRITE, write);
  EXPECT_EQ(host.drain_cq().size(), 2U);
  rdma(kOwner, WqeOpcode::RDMA_WRITE, write);
  EXPECT_EQ(host.drain_cq().size(), 1U);
  configure(key, data, data_key, kWithDif, dif(Side::Memory), 0);
  rdma(kOwner, WqeOpcode::RDMA_WRITE, write);
  EXPECT_EQ(host.drain_cq().size(), 2U);
}

TEST_F(SignedKeyTest, RangeBeyondTheWiresLength_IsRefused) {
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  rdma(kPeer, WqeOpcode::RDMA_READ, {0, key, plain_key, address_of(plain), kWithDif + 1, true});
  EXPECT_EQ(host.drain_cq().front().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(SignedKeyTest, MemoryKeyThatIsGone_RefusesTheSignedOne) {
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  host.destroy_key(data_key);
  rdma(kPeer, WqeOpcode::RDMA_READ, {0, key, plain_key, address_of(plain), kDif, true});
  EXPECT_EQ(host.drain_cq().front().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(SignedKeyTest, Atomic_IsRefused) {
  const std::uint32_t key = signed_key(data, data_key, kData, dif(Side::Wire));
  host.post_atomic(kPeer, WqeOpcode::ATOMIC_FA,
                   {.rkey = key, .lkey = plain_key, .address = address_of(plain), .swap_add = 1});
  host.ring(kPeer);
  host.run();
  EXPECT_EQ(host.drain_cq().front().syndrome, CqeSyndrome::REMOTE_ACCESS_ERR);
}

TEST_F(SignedKeyTest, PsvOfAnotherDomain_EndsInABindError) {
  set_psv(host.make_psv(kPd + 1), 0);
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::MW_BIND_ERR);
}

TEST_F(SignedKeyTest, FormatForWhichNoRoomWasReserved_EndsInABindError) {
  const std::uint32_t key = host.make_free_key(prm::MkcAccessMode::KLMS, 4, kPd);
  std::vector<std::byte> all(48 + 64 + 64 + prm::mlx5_bsf::bytes);
  const std::span<std::byte> control(all);
  control[0] = std::byte{kInline};
  put_be(control.subspan(6, 2), 4);
  put_be(control.subspan(8, 8), kBsfEnable);
  host.post_raw(kOwner, WqeOpcode::UMR, all, true, key);
  host.ring(kOwner);
  host.run();
  EXPECT_EQ(only_completion().syndrome, CqeSyndrome::MW_BIND_ERR);
}

/// A queue pair that stops behind a fault, and whose next WQE waits behind a fence.
class SignaturePipeline : public SignedKeyTest {
 protected:
  SignaturePipeline() {
    QpOptions options;
    options.log_rq_size = 2;
    EXPECT_TRUE(host.create(kDraining, options).ok());
    EXPECT_TRUE(host.modify(kDraining, QpTransition::Rst2Init, kOther, options).ok());
    options.drain_sigerr = true;
    EXPECT_TRUE(
        host.modify(kDraining, QpTransition::Init2Init, kOther, options, prm::kOptParDrainSigerr)
            .ok());
    EXPECT_TRUE(host.modify(kDraining, QpTransition::Init2Rtr, kOther, options).ok());
    EXPECT_TRUE(host.modify(kDraining, QpTransition::Rtr2Rts, kOther, options).ok());
    host.connect(kOther, kDraining, options);
    put(data, interleaved());
  }
  /// Data that is checked as it leaves, then a response behind a fence.
  void post_data_and_response() {
    host.post_rdma(kDraining, WqeOpcode::RDMA_WRITE,
                   {address_of(plain), plain_key, key, 0, kData, false});
    const std::array response{Piece{address_of(plain), 16, plain_key}};
    host.post_raw(kDraining, WqeOpcode::SEND, segments_of(response), true, 0, kFence);
    host.ring(kDraining);
    host.run();
  }

  static constexpr std::uint32_t kDraining = 0x42;
  static constexpr std::uint32_t kOther = 0x43;
  std::uint32_t key = signed_key(data, data_key, kWithDif, dif(Side::Memory));
};

TEST_F(SignaturePipeline, RightData_LetsTheResponseGo) {
  const std::array receive{Piece{address_of(plain), 16, plain_key}};
  host.post_receive(kOther, receive);
  post_data_and_response();
  EXPECT_EQ(host.drain_cq().size(), 2U);
  EXPECT_EQ(host.state(kDraining), prm::QpState::RTS);
}

TEST_F(SignaturePipeline, WrongData_StopsBeforeTheResponse) {
  data.bytes[0] = std::byte{0};
  post_data_and_response();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::SIGNATURE_ERR);
  EXPECT_EQ(host.state(kDraining), prm::QpState::SQD);
  const auto event = host.poll_eq();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, prm::EventType::SQ_DRAINED);
  // The data WQE has one block, and the response is the next.
  EXPECT_EQ(host.query(kDraining).get<"hw_sq_wqebb_counter">(), 1U);
}

/// mlx5dv_qp_cancel_posted_send_wrs.
TEST_F(SignaturePipeline, ResponseMadeANopWhileStopped_CompletesAndIsNotSent) {
  data.bytes[0] = std::byte{0};
  post_data_and_response();
  EXPECT_EQ(host.drain_cq().size(), 1U);
  host.send_queue(kDraining)[prm::kSendWqeBlockBytes + 3] =
      static_cast<std::byte>(prm::number(WqeOpcode::NOP));
  ASSERT_TRUE(host.modify(kDraining, QpTransition::Sqd2Rts).ok());
  host.run();
  EXPECT_EQ(only_completion().opcode, CqeOpcode::REQ);
  EXPECT_EQ(host.state(kDraining), prm::QpState::RTS);
}

}  // namespace
}  // namespace portcullis::model::testing
