// SPDX-License-Identifier: BSD-3-Clause
//
// One capture with every opcode and every error path of RC in it, judged by tshark and scapy: none
// malformed, every ICRC right, every value where they look for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>

#include "model/transport/pcap.hpp"
#include "tests/model/transport/judges.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using prm::WqeOpcode;
using ::testing::ElementsAre;

constexpr std::uint32_t kLong = 2 * kMtu + 100;  // first, middle and last
constexpr std::uint32_t kShort = 60;
constexpr std::uint32_t kImmediate = 0x0a0b0c0d;
constexpr std::uint64_t kSwap = 0x1122'3344'5566'7788;
constexpr std::uint64_t kCompare = 0x99aa'bbcc'ddee'ff00;
constexpr std::uint64_t kAdd = 0x0102'0304'0506'0708;

/// Pairs of queue pairs, a new one for each path that ends in an error.
class Conversation {
 public:
  Conversation(const std::string& path, PortType port_type, const QpOptions& options)
      : options_(options), host_(nullptr, path, port_type) {
    options_.log_rq_size = 4;
    fill_pattern(from_.bytes, 3);
    talk();
    lose_a_packet();
    write_without_the_right();
    write_under_a_dead_key();
    send_to_nobody();
    send_to_memory_that_is_not_theirs();
  }

  [[nodiscard]] std::uint64_t frames() const { return host_.counters().frames_sent; }
  [[nodiscard]] std::uint64_t remote() const { return address(to_); }

 private:
  [[nodiscard]] static std::uint64_t address(const Region& region) {
    return std::bit_cast<std::uint64_t>(region.bytes.data());
  }
  /// The client; the server is the next number.
  std::uint32_t connect(const QpOptions& server) {
    const std::uint32_t client = next_;
    next_ += 2;
    host_.connect(client, client + 1, options_);
    host_.connect(client + 1, client, server);
    return client;
  }
  void go(std::uint32_t client) {
    host_.ring(client);
    host_.run();
  }
  [[nodiscard]] WriteRequest request(std::uint32_t length, std::uint32_t rkey) const {
    return {remote(), rkey, lkey_, address(from_), length, true};
  }
  void receives(std::uint32_t server, int count, std::uint32_t lkey) {
    const std::array pieces{Piece{remote(), 4096, lkey}};
    for (int i = 0; i < count; ++i) host_.post_receive(server, pieces);
  }
  void send(std::uint32_t client, WqeOpcode opcode, std::uint32_t length) {
    const std::array pieces{Piece{address(from_), length, lkey_}};
    host_.post_raw(client, opcode, segments_of(pieces), true, kImmediate);
  }

  void talk() {
    const std::uint32_t client = connect(options_);
    receives(client + 1, 6, rkey_);
    for (const std::uint32_t length : {0U, 1U, kShort, kMtu, kLong})
      host_.post(client, request(length, rkey_));
    for (const std::uint32_t length : {kShort, kLong}) {
      host_.post_rdma(client, WqeOpcode::RDMA_WRITE_IMM, request(length, rkey_), kImmediate);
      host_.post_rdma(client, WqeOpcode::RDMA_READ,
                      {remote(), rkey_, llkey_, address(from_), length});
      send(client, WqeOpcode::SEND, length);
      send(client, WqeOpcode::SEND_IMM, length);
    }
    host_.post_atomic(client, WqeOpcode::ATOMIC_CS,
                      {remote(), rkey_, llkey_, address(from_), kSwap, kCompare});
    host_.post_atomic(client, WqeOpcode::ATOMIC_FA,
                      {remote(), rkey_, llkey_, address(from_), kAdd, 0});
    go(client);
  }
  void lose_a_packet() {
    const std::uint32_t client = connect(options_);
    host_.transport().inject({.bth_opcode = 0x07, .dest_qpn = client + 1});
    host_.post(client, request(kLong, rkey_));
    go(client);
  }
  void write_without_the_right() {
    QpOptions server = options_;
    server.rwe = false;
    const std::uint32_t client = connect(server);
    host_.post(client, request(kShort, rkey_));
    go(client);
  }
  void write_under_a_dead_key() {
    const std::uint32_t client = connect(options_);
    host_.post(client, request(kShort, 0xdead00));
    go(client);
  }
  void send_to_nobody() {
    QpOptions impatient = options_;
    impatient.rnr_retry = 0;
    const std::uint32_t client = next_;
    next_ += 2;
    host_.connect(client, client + 1, impatient);
    host_.connect(client + 1, client, options_);
    send(client, WqeOpcode::SEND, kShort);
    go(client);
  }
  void send_to_memory_that_is_not_theirs() {
    const std::uint32_t client = connect(options_);
    receives(client + 1, 1, lkey_);
    send(client, WqeOpcode::SEND, kShort);
    go(client);
  }

  QpOptions options_;
  Host host_;
  std::uint32_t next_ = 0x40;
  Region from_ = host_.map(8192);
  Region to_ = host_.map(8192);
  std::uint32_t lkey_ = host_.make_key(from_, access::kLocalRead);
  std::uint32_t llkey_ = host_.make_key(from_, access::kLocalWrite);
  std::uint32_t rkey_ = host_.make_key(
      to_, access::kRemoteWrite | access::kRemoteRead | access::kAtomic | access::kLocalWrite);
};

class CapturePaths : public ::testing::Test {
 protected:
  void talk(const QpOptions& options = {}, PortType port_type = PortType::Ethernet) {
    const Conversation conversation(path_, port_type, options);
    frames_ = std::to_string(conversation.frames());
    remote_ = conversation.remote();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  std::string path_ = ::testing::TempDir() + "portcullis_paths_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".pcap";
  std::string frames_;
  std::uint64_t remote_ = 0;
};

TEST_F(CapturePaths, EveryOpcode_IsThereAndNoneIsMalformed) {
  talk();
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(std::to_string(lines(tshark(path_, "infiniband.bth.opcode", "frame.number"))), frames_);
  // As text: 0 to 20 without SEND with invalidate, which is judged below.
  EXPECT_THAT(tshark_values(path_, "infiniband", "infiniband.bth.opcode"),
              ElementsAre("0", "1", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "2",
                          "20", "3", "4", "5", "6", "7", "8", "9"));
}

TEST_F(CapturePaths, EveryOpcodeOverIpv6_IsThereAndNoneIsMalformed) {
  talk({.src_addr_index = 1, .dest_gid = kHostGid6});
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(tshark_values(path_, "ipv6", "infiniband.bth.opcode").size(), 21U);
}

TEST_F(CapturePaths, EveryOpcodeOverInfiniBand_IsThereAndNoneIsMalformed) {
  talk({}, PortType::InfiniBand);
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(tshark_values(path_, "infiniband", "infiniband.bth.opcode").size(), 21U);
  EXPECT_EQ(infiniband_oracle(path_), "frames " + frames_ + " wrong 0\n");
}

TEST_F(CapturePaths, EveryIcrc_IsConfirmedByScapy) {
  talk();
  EXPECT_EQ(oracle(path_), "frames " + frames_ + " wrong 0\n");
}

TEST_F(CapturePaths, EveryIcrcOverIpv6_IsConfirmed) {
  talk({.src_addr_index = 1, .dest_gid = kHostGid6});
  EXPECT_EQ(oracle(path_), "frames " + frames_ + " wrong 0\n");
}

// The AETH's syndrome as tshark splits it: 0 acknowledge, 1 RNR NAK, 3 NAK with its code.
TEST_F(CapturePaths, EveryNak_IsWhatItsPathCallsFor) {
  talk();
  EXPECT_THAT(tshark_values(path_, "infiniband.aeth", "infiniband.aeth.syndrome.opcode"),
              ElementsAre("0", "1", "3"));
  // PSN sequence error, invalid request, remote access error, remote operational error
  EXPECT_THAT(tshark_values(path_, "infiniband.aeth.syndrome.opcode == 3",
                            "infiniband.aeth.syndrome.error_code"),
              ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(tshark_values(path_, "infiniband.aeth.syndrome.opcode == 1",
                            "infiniband.aeth.syndrome.timer"),
              ElementsAre("1"));
}

TEST_F(CapturePaths, Operands_StandWhereTsharkLooksForThem) {
  talk();
  const std::string swap = "infiniband.bth.opcode == 19";
  EXPECT_EQ(tshark(path_, swap, "infiniband.atomiceth.swapdt"), std::to_string(kSwap) + "\n");
  EXPECT_EQ(tshark(path_, swap, "infiniband.atomiceth.cmpdt"), std::to_string(kCompare) + "\n");
  EXPECT_EQ(tshark(path_, "infiniband.bth.opcode == 20", "infiniband.atomiceth.swapdt"),
            std::to_string(kAdd) + "\n");
  EXPECT_THAT(tshark_values(path_, "infiniband.bth.opcode == 12", "infiniband.reth.dmalen"),
              ElementsAre(std::to_string(kLong), std::to_string(kShort)));
  EXPECT_EQ(tshark_values(path_, "infiniband.immdt", "infiniband.immdt").size(), 1U);
}

/// SEND with invalidate, which the requester does not send: two frames built by themselves.
TEST_F(CapturePaths, SendWithInvalidate_HasItsKeyWhereTsharkLooksForIt) {
  {
    auto writer = PcapWriter::create(path_);
    ASSERT_TRUE(writer);
    for (const BthOpcode opcode : {BthOpcode::SendLastInvalidate, BthOpcode::SendOnlyInvalidate}) {
      std::vector<std::byte> frame(kMaxFrameBytes);
      PacketHeader header;
      header.opcode = opcode;
      header.immediate = 0x01020304;
      frame.resize(FrameTemplate(Peer::path_to(1)).finish(frame, header, kShort));
      (*writer)->write(frame, 0);
    }
  }
  EXPECT_EQ(tshark(path_, "_ws.malformed", "frame.number"), "");
  EXPECT_EQ(tshark(path_, "infiniband", "infiniband.bth.opcode"), "22\n23\n");
  EXPECT_EQ(lines(tshark(path_, "infiniband.ieth", "frame.number")), 2U);
  EXPECT_EQ(oracle(path_), "frames 2 wrong 0\n");
}

}  // namespace
}  // namespace portcullis::model::testing
