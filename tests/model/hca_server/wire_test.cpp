// SPDX-License-Identifier: BSD-3-Clause
//
// hca-server --wire: what a specification may say, what stands on the socket (compared with what
// QEMU's net/dgram.c and net/stream_data.c write), and two servers joined to each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>

#include "base/unique_fd.hpp"
#include "model/ethernet/pause_frame.hpp"
#include "model/hca_server/uplink.hpp"
#include "model/vfio_user/connection.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

std::string fresh_path() {
  static std::atomic<int> count{0};
  return "/tmp/portcullis-wire-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

std::unique_ptr<FrameChannel> open(const std::string& text) {
  const auto spec = WireSpec::parse(text);
  if (!spec) return nullptr;
  auto channel = FrameChannel::open(*spec);
  return channel ? *std::move(channel) : nullptr;
}

Bytes frame_of(std::size_t bytes) {
  Bytes frame(bytes);
  fill_pattern(frame, static_cast<std::uint32_t>(bytes));
  return frame;
}

/// A peer built here: a UNIX socket of its own.
UniqueFd connected(const std::string& path, int type) {
  UniqueFd fd(socket(AF_UNIX, type | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const auto* generic = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  EXPECT_EQ(connect(fd.get(), generic, sizeof address), 0);
  return fd;
}

Bytes read_all(int fd) {
  Bytes bytes(65536);
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

/// The next frame, a second's patience with every part of it.
Bytes next_frame(FrameChannel& channel, std::size_t room = 4224) {
  Bytes frame(room);
  auto bytes = channel.receive(frame);
  for (pollfd part{.fd = channel.fd(), .events = POLLIN, .revents = 0};
       !bytes && poll(&part, 1, 1000) > 0;)
    bytes = channel.receive(frame);
  frame.resize(bytes.value_or(0));
  return frame;
}

class WireSpecRefused : public ::testing::TestWithParam<const char*> {};

TEST_P(WireSpecRefused, Text_RefusedWithWhatIsAccepted) {
  const auto spec = WireSpec::parse(GetParam());
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().text, HasSubstr("stream,listen=ADDRESS"));
}

INSTANTIATE_TEST_SUITE_P(Texts, WireSpecRefused,
                         ::testing::Values("", "dgram", "dgram,local=/a", "stream",
                                           "stream,local=/a", "tap,ifname=x",
                                           "stream,listen=/a,connect=/b",
                                           "dgram,local=/a,remote=/b,more=1", "stream,listen="));

class WireAddressRefused : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WireAddressRefused, Address_RefusedWithTheReason) {
  const auto channel =
      FrameChannel::open({.kind = WireSpec::Kind::Listen, .local = GetParam().first, .remote = {}});
  ASSERT_FALSE(channel);
  EXPECT_THAT(channel.error().text, HasSubstr(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(Addresses, WireAddressRefused,
                         ::testing::Values(std::pair("nowhere", "HOST:PORT or a path"),
                                           std::pair("example:80", "IPv4 address"),
                                           std::pair("127.0.0.1:0", "1 to 65535"),
                                           std::pair("127.0.0.1:70000", "1 to 65535"),
                                           std::pair("127.0.0.1:80x", "1 to 65535"),
                                           std::pair("/tmp", "not a socket")));

TEST(WireDatagram, Frame_IsOneDatagramAsItStands) {
  const std::string ours = fresh_path();
  const std::string theirs = fresh_path();
  const auto channel = open("dgram,local=" + ours + ",remote=" + theirs);
  const auto peer = open("dgram,local=" + theirs + ",remote=" + ours);
  ASSERT_TRUE(channel && peer);
  EXPECT_TRUE(channel->send(frame_of(60)));
  EXPECT_TRUE(channel->send(frame_of(1500)));
  EXPECT_EQ(next_frame(*peer), frame_of(60));
  EXPECT_EQ(next_frame(*peer), frame_of(1500));
}

TEST(WireDatagram, PathThatSomebodyHas_BusyAndHisStays) {
  const std::string ours = fresh_path();
  const std::string theirs = fresh_path();
  const auto channel = open("dgram,local=" + ours + ",remote=" + theirs);
  const auto peer = open("dgram,local=" + theirs + ",remote=" + ours);
  ASSERT_TRUE(channel && peer);
  const auto second = FrameChannel::open({.local = ours, .remote = theirs});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
  EXPECT_TRUE(peer->send(frame_of(60)));
  EXPECT_EQ(next_frame(*channel), frame_of(60));
}

TEST(WireDatagram, NobodyThere_FrameLostAndNothingElse) {
  const auto channel = open("dgram,local=" + fresh_path() + ",remote=" + fresh_path());
  ASSERT_TRUE(channel);
  EXPECT_FALSE(channel->send(frame_of(60)));
}

TEST(WireDatagram, FrameLongerThanAnyOfOurs_Dropped) {
  const std::string ours = fresh_path();
  const auto channel = open("dgram,local=" + ours + ",remote=" + fresh_path());
  ASSERT_TRUE(channel);
  const UniqueFd peer = connected(ours, SOCK_DGRAM);
  for (const std::size_t bytes : {5000UL, 100UL})
    EXPECT_GT(write(peer.get(), frame_of(bytes).data(), bytes), 0);
  EXPECT_EQ(next_frame(*channel), frame_of(100));
}

TEST(WireDatagram, OverUdp_Arrives) {
  const int port = 20000 + getpid() % 20000;
  const std::string one = "127.0.0.1:" + std::to_string(port);
  const std::string two = "127.0.0.1:" + std::to_string(port + 1);
  const auto a = open("dgram,local=" + one + ",remote=" + two);
  const auto b = open("dgram,local=" + two + ",remote=" + one);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(a->send(frame_of(200)));
  EXPECT_EQ(next_frame(*b), frame_of(200));
}

class WireStream : public ::testing::Test {
 protected:
  void SetUp() override {
    channel_ = open("stream,listen=" + path_);
    ASSERT_TRUE(channel_);
  }
  UniqueFd join() {
    UniqueFd peer = connected(path_, SOCK_STREAM);
    Bytes nothing(100);
    EXPECT_FALSE(channel_->receive(nothing));
    return peer;
  }

  std::string path_ = fresh_path();
  std::unique_ptr<FrameChannel> channel_;
};

TEST_F(WireStream, Frame_HasItsLengthBeforeIt) {
  const UniqueFd peer = join();
  EXPECT_TRUE(channel_->send(Bytes(3, std::byte{0x5a})));
  EXPECT_THAT(read_all(peer.get()),
              ElementsAre(std::byte{0}, std::byte{0}, std::byte{0}, std::byte{3}, std::byte{0x5a},
                          std::byte{0x5a}, std::byte{0x5a}));
}

TEST_F(WireStream, FrameInPieces_IsPutTogether) {
  const UniqueFd peer = join();
  const Bytes pieces{std::byte{0}, std::byte{0}, std::byte{0}, std::byte{2}, std::byte{7}};
  EXPECT_EQ(write(peer.get(), pieces.data(), 5), 5);
  Bytes frame(100);
  EXPECT_FALSE(channel_->receive(frame));
  EXPECT_EQ(write(peer.get(), pieces.data(), 1), 1);
  EXPECT_THAT(next_frame(*channel_), ElementsAre(std::byte{7}, std::byte{0}));
}

/// As much as switch() of Snabb's connectx_test.lua sends before it looks at what came, and more.
TEST_F(WireStream, PeerThatReadsLate_GetsAllOfABurst) {
  constexpr std::size_t kBurst = 3000;
  const auto other = open("stream,connect=" + path_);
  ASSERT_TRUE(other);
  Bytes frame(1500);
  EXPECT_FALSE(other->receive(frame));
  EXPECT_FALSE(channel_->receive(frame));
  std::size_t sent = 0;
  while (sent < kBurst && channel_->send(frame_of(60 + sent % 1000))) ++sent;
  ASSERT_EQ(sent, kBurst);
  for (std::size_t i = 0; i < kBurst; ++i) {
    auto bytes = other->receive(frame);
    for (int look = 0; look < 100 && !bytes; ++look) {
      Bytes nothing(100);
      EXPECT_FALSE(channel_->receive(nothing));
      bytes = other->receive(frame);
    }
    ASSERT_TRUE(bytes);
    ASSERT_EQ(Bytes(frame.begin(), frame.begin() + static_cast<long>(*bytes)),
              frame_of(60 + i % 1000));
  }
}

TEST_F(WireStream, PeerThatNeverReads_LosesFramesInTheEnd) {
  constexpr int kFarTooMany = 10'000;  // of 9000 bytes
  const UniqueFd peer = join();
  const Bytes frame = frame_of(9000);
  int sent = 0;
  while (sent < kFarTooMany && channel_->send(frame)) ++sent;
  EXPECT_LT(sent, kFarTooMany);
}

TEST_F(WireStream, MuchForAPeerThatReads_IsFullUntilItHasRead) {
  const UniqueFd peer = join();
  EXPECT_FALSE(channel_->is_full());
  EXPECT_EQ(channel_->events(), POLLIN);
  const Bytes frame = frame_of(9000);
  int sent = 0;
  for (; sent < 10'000 && !channel_->is_full(); ++sent) EXPECT_TRUE(channel_->send(frame));
  EXPECT_LT(sent, 200);
  EXPECT_EQ(channel_->events(), POLLIN | POLLOUT);
  Bytes nothing(100);
  for (int look = 0; look < 10'000 && channel_->is_full(); ++look) {
    static_cast<void>(read_all(peer.get()));
    EXPECT_FALSE(channel_->receive(nothing));
  }
  EXPECT_FALSE(channel_->is_full());
}

TEST_F(WireStream, PeerThatHasReadNothingForASecond_StopsNobody) {
  const UniqueFd peer = join();
  const Bytes frame = frame_of(9000);
  for (int sent = 0; sent < 200 && !channel_->is_full(); ++sent) EXPECT_TRUE(channel_->send(frame));
  ASSERT_TRUE(channel_->is_full());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (channel_->is_full() && std::chrono::steady_clock::now() < until) poll(nullptr, 0, 10);
  EXPECT_FALSE(channel_->is_full());
}

TEST_F(WireStream, LengthThatNoFrameHas_HungUp) {
  const UniqueFd peer = join();
  const Bytes length(4, std::byte{0xff});
  EXPECT_EQ(write(peer.get(), length.data(), 4), 4);
  Bytes frame(100);
  EXPECT_FALSE(channel_->receive(frame));
  EXPECT_TRUE(read_all(peer.get()).empty());
}

TEST_F(WireStream, PeerGone_NextOneIsTaken) {
  { const UniqueFd peer = join(); }
  Bytes frame(100);
  EXPECT_FALSE(channel_->receive(frame));
  EXPECT_FALSE(channel_->send(frame_of(60)));
  const UniqueFd peer = join();
  EXPECT_TRUE(channel_->send(frame_of(60)));
}

TEST_F(WireStream, Connected_BothWays) {
  const auto other = open("stream,connect=" + path_);
  ASSERT_TRUE(other);
  Bytes nothing(100);
  EXPECT_FALSE(other->receive(nothing));
  EXPECT_FALSE(channel_->receive(nothing));
  EXPECT_TRUE(other->send(frame_of(60)));
  EXPECT_EQ(next_frame(*channel_), frame_of(60));
  EXPECT_TRUE(channel_->send(frame_of(70)));
  EXPECT_EQ(next_frame(*other), frame_of(70));
}

std::shared_ptr<Wire> fresh_wire() {
  auto made = std::make_shared<Wire>();
  static_cast<void>(shared_loop(*made, 1));
  return made;
}

constexpr Mac kRightMac{0x02, 0, 0, 0, 0, 0x99};

/// kRightMac and kPeerGid alone are the host's from now on: its own port would take what is for
/// another's.
void live_at_the_right(Host& host) {
  host.port().mac = kRightMac;
  host.port().roce[0].mac = kRightMac;
  host.port().roce[0].gid = kPeerGid;
  host.port().roce[1].valid = host.port().roce[kOnVlan].valid = false;
  host.transport().port_changed();
}

/// Two hosts on wires of their own, joined by a socket pair of datagrams.
class JoinedWires : public ::testing::Test {
 protected:
  void run() {
    for (int i = 0; i < 50; ++i) {
      left_out_.take();
      left_.run();
      right_out_.take();
      right_.run();
    }
  }

  std::string paths_[2]{fresh_path(), fresh_path()};
  std::shared_ptr<Wire> left_wire_ = fresh_wire(), right_wire_ = fresh_wire();
  Host left_{left_wire_}, right_{right_wire_};
  Uplink left_out_{left_wire_, shared_loop(*left_wire_, 1),
                   open("dgram,local=" + paths_[0] + ",remote=" + paths_[1])};
  Uplink right_out_{right_wire_, shared_loop(*right_wire_, 1),
                    open("dgram,local=" + paths_[1] + ",remote=" + paths_[0])};
};

TEST_F(JoinedWires, UplinkThatLosesAll_LetsNothingIn) {
  const std::array rules{FrameFaultRule{.repeat = true}};
  left_out_.inject(rules, 1);
  left_.connect(0x40, 0x41);
  right_.connect(0x41, 0x40, {.dest_mac = kPeerMac});
  right_.post_and_ring(0x41, {0, 0, 0, 0, 0, true});
  run();
  EXPECT_EQ(right_.counters().frames_sent, 1U);
  EXPECT_EQ(left_out_.counters().frames_sent, 1U);
  EXPECT_EQ(left_out_.counters().frames_dropped, 1U);
}

TEST_F(JoinedWires, WriteFromOneToTheOther_ArrivesAndCompletes) {
  live_at_the_right(right_);
  const Region from = left_.map(4096);
  const Region to = right_.map(4096);
  fill_pattern(from.bytes.first(3000), 9);
  const std::uint32_t lkey = left_.make_key(from, access::kLocalRead);
  const std::uint32_t rkey = right_.make_key(to, access::kRemoteWrite);
  left_.connect(0x40, 0x41, {.dest_mac = kRightMac, .dest_gid = kPeerGid});
  right_.connect(0x41, 0x40, {.dest_mac = kHostMac, .dest_gid = kHostGid});
  left_.post_and_ring(0x40, {std::bit_cast<std::uint64_t>(to.bytes.data()), rkey, lkey,
                             std::bit_cast<std::uint64_t>(from.bytes.data()), 3000, true});
  run();
  EXPECT_TRUE(std::ranges::equal(from.bytes.first(3000), to.bytes.first(3000)));
  EXPECT_EQ(left_.poll_cq().value().opcode, prm::CqeOpcode::REQ);
}

/// The same, joined by a stream that both read only when it is their turn.
class StreamedWires : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kPairs = 1000;
  static constexpr std::uint32_t kWrites = 16;
  static constexpr std::uint32_t kBytes = 4096;

  void SetUp() override {
    live_at_the_right(right_);
    right_end_.take();  // which joins the two
    left_end_.take();
    const Region from = left_.map(kBytes);
    const Region to = right_.map(kBytes);
    write_ = {std::bit_cast<std::uint64_t>(to.bytes.data()),
              right_.make_key(to, access::kRemoteWrite),
              left_.make_key(from, access::kLocalRead),
              std::bit_cast<std::uint64_t>(from.bytes.data()),
              kBytes,
              true};
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      left_.connect(0x40 + i, 0x40 + i, {.dest_mac = kRightMac, .dest_gid = kPeerGid});
      right_.connect(0x40 + i, 0x40 + i, {.dest_mac = kHostMac, .dest_gid = kHostGid});
    }
  }
  static void turn(Uplink& out, Host& host) {
    out.take();
    host.run_until(host.now_ns());
    out.take();
  }

  std::string path_ = fresh_path();
  std::shared_ptr<Wire> left_wire_ = fresh_wire(), right_wire_ = fresh_wire();
  Host left_{left_wire_}, right_{right_wire_};
  Uplink left_end_{left_wire_, shared_loop(*left_wire_, 1), open("stream,listen=" + path_)};
  Uplink right_end_{right_wire_, shared_loop(*right_wire_, 1), open("stream,connect=" + path_)};
  WriteRequest write_;
};

TEST_F(StreamedWires, WritesOfAThousandQueuePairs_AllComplete) {
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    for (std::uint32_t j = 0; j < kWrites; ++j) left_.post(0x40 + i, write_);
    left_.ring(0x40 + i);
  }
  std::size_t done = 0;
  for (int look = 0; look < 20'000 && done < std::size_t{kPairs} * kWrites; ++look) {
    turn(left_end_, left_);
    turn(right_end_, right_);
    done += left_.drain_cq().size();
  }
  EXPECT_EQ(done, std::size_t{kPairs} * kWrites);
  EXPECT_EQ(left_end_.counters().frames_dropped, 0U);
  EXPECT_EQ(left_.counters().retransmissions, 0U);
}

/// A host on a wire with three sockets behind it, a station at each.
class SwitchedWires : public ::testing::Test {
 protected:
  static constexpr std::size_t kStations = 3;
  static constexpr Mac kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  static Mac mac(std::size_t station) {
    return {0x02, 0, 0, 0, 0x57, static_cast<std::uint8_t>(station)};
  }
  static Bytes frame(const Mac& to, const Mac& from) {
    Bytes bytes = frame_of(60);
    std::ranges::copy(std::as_bytes(std::span(to)), bytes.begin());
    std::ranges::copy(std::as_bytes(std::span(from)), bytes.begin() + 6);
    return bytes;
  }
  Uplink::Channels channels() {
    Uplink::Channels out;
    for (std::size_t i = 0; i < kStations; ++i) {
      const std::string here = fresh_path(), there = fresh_path();
      out.push_back(open("dgram,local=" + here + ",remote=" + there));
      stations_[i] = open("dgram,local=" + there + ",remote=" + here);
    }
    return out;
  }
  void send(std::size_t station, const Bytes& bytes) {
    EXPECT_TRUE(stations_[station]->send(bytes));
    out_.take();
    host_.run();
  }
  /// How many frames came to each station since the last call.
  std::vector<int> heard() {
    std::vector<int> counts(kStations);
    Bytes room(4224);
    for (std::size_t i = 0; i < kStations; ++i)
      while (stations_[i]->receive(room)) ++counts[i];
    return counts;
  }

  std::unique_ptr<FrameChannel> stations_[kStations];
  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
  std::shared_ptr<EventLoop> loop_ = shared_loop(*wire_, 1);
  Host host_{wire_};
  Uplink out_{wire_, loop_, channels()};
};

TEST_F(SwitchedWires, AddressThatNobodyHasSaid_IsLookedForEverywhereElse) {
  send(0, frame(mac(1), mac(0)));
  EXPECT_THAT(heard(), ElementsAre(0, 1, 1));
}

TEST_F(SwitchedWires, AddressThatWasHeard_IsOneSocketsAlone) {
  send(0, frame(kEverybody, mac(0)));
  static_cast<void>(heard());
  send(1, frame(mac(0), mac(1)));
  EXPECT_THAT(heard(), ElementsAre(1, 0, 0));
  EXPECT_EQ(host_.counters().frames_received, 0U);
}

TEST_F(SwitchedWires, StationThatMoves_IsWhereItSpokeLast) {
  send(0, frame(kEverybody, mac(0)));
  send(2, frame(kEverybody, mac(0)));
  static_cast<void>(heard());
  send(1, frame(mac(0), mac(1)));
  EXPECT_THAT(heard(), ElementsAre(0, 0, 1));
}

TEST_F(SwitchedWires, FrameForItsOwnSide_GoesNowhere) {
  send(0, frame(kEverybody, mac(0)));
  send(0, frame(kEverybody, mac(7)));
  static_cast<void>(heard());
  send(0, frame(mac(7), mac(0)));
  EXPECT_THAT(heard(), ElementsAre(0, 0, 0));
}

TEST_F(SwitchedWires, FrameForAll_ComesToEveryoneElse) {
  send(1, frame(kEverybody, mac(1)));
  send(1, frame(kEverybody, mac(1)));
  EXPECT_THAT(heard(), ElementsAre(2, 0, 2));
}

TEST_F(SwitchedWires, PortOfTheServer_IsOneOfThem) {
  send(0, frame(kHostMac, mac(0)));
  EXPECT_EQ(host_.counters().frames_received, 1U);
  EXPECT_THAT(heard(), ElementsAre(0, 1, 1));
  host_.connect(0x40, 0x41, {.dest_mac = mac(0), .dest_gid = kPeerGid});
  host_.post_and_ring(0x40, {0, 0, 0, 0, 0, true});
  host_.run();
  EXPECT_THAT(heard(), ElementsAre(1, 0, 0));
  send(1, frame(kHostMac, mac(1)));
  EXPECT_EQ(host_.counters().frames_received, 2U);
  EXPECT_THAT(heard(), ElementsAre(0, 0, 0));
}

TEST_F(SwitchedWires, FrameThatStopsSenders_StopsAllOfThem) {
  Bytes pause(kPauseFrameBytes);
  build_pause({}, mac(2), pause);
  send(2, pause);
  EXPECT_THAT(heard(), ElementsAre(1, 1, 0));
  EXPECT_EQ(host_.port_counts().pauses_received, 1U);
}

TEST_F(SwitchedWires, ShortFrame_IsAsLongAsAPortWouldMakeIt) {
  Bytes arp = frame(kEverybody, mac(0));
  arp.resize(42);
  send(0, arp);
  Bytes expected = arp;
  expected.resize(60);
  EXPECT_EQ(next_frame(*stations_[1]), expected);
}

/// A station that has a frame for another one whenever it is asked.
class Endless final : public FrameChannel {
 public:
  Endless(std::uint8_t from, std::uint8_t to) : from_(from), to_(to) {}
  [[nodiscard]] int fd() const noexcept override { return -1; }
  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> frame) override {
    ++received;
    std::ranges::fill(frame.first(60), std::byte{2});
    frame[5] = std::byte{to_};
    frame[11] = std::byte{from_};
    return 60;
  }
  [[nodiscard]] bool send(std::span<const std::byte> /*frame*/) override { return true; }
  std::size_t received = 0;

 private:
  std::uint8_t from_, to_;
};

TEST(SwitchedWire, SocketThatNeverEnds_LeavesTheOthersTheirTurn) {
  const auto wire = std::make_shared<Wire>();
  Uplink::Channels channels;
  channels.push_back(std::make_unique<Endless>(std::uint8_t{1}, std::uint8_t{2}));
  const auto& endless = dynamic_cast<const Endless&>(*channels.front());
  channels.push_back(std::make_unique<Endless>(std::uint8_t{2}, std::uint8_t{1}));
  Uplink out(wire, shared_loop(*wire, 1), std::move(channels));
  EXPECT_TRUE(out.take());
  EXPECT_LE(endless.received, Wire::kFrames);
}

/// A socket that is as full as the test says.
class Slow final : public FrameChannel {
 public:
  [[nodiscard]] int fd() const noexcept override { return -1; }
  [[nodiscard]] bool is_full() const noexcept override { return full; }
  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> frame) override {
    const Bytes next = std::exchange(coming, {});
    std::ranges::copy(next, frame.begin());
    return next.empty() ? std::nullopt : std::optional(next.size());
  }
  [[nodiscard]] bool send(std::span<const std::byte> frame) override {
    sent.emplace_back(frame.begin(), frame.end());
    return true;
  }
  bool full = false;
  std::vector<Bytes> sent;
  Bytes coming;
};

/// A host whose wire ends in such a socket.
struct SlowSide {
  /// Whatever can be done now, without the timers.
  void run() {
    out.take();
    host.run_until(host.now_ns());
    out.take();
  }

  std::shared_ptr<Wire> wire = std::make_shared<Wire>();
  std::shared_ptr<EventLoop> loop = shared_loop(*wire, 1);
  Host host{wire};
  Slow* socket = new Slow;
  Uplink out{wire, loop, std::unique_ptr<FrameChannel>(socket)};
};

class SlowWire : public ::testing::Test {
 protected:
  SlowWire() {
    const QpOptions options{.dest_mac = kPeerMac};
    side_.host.connect(0x40, 0x41, options);
    side_.host.connect(0x41, 0x40, options);
  }
  /// Before anybody looks at the socket.
  void request_alone() {
    side_.host.post_and_ring(0x40, {0, 0, 0, 0, 0, true});
    side_.host.run_until(side_.host.now_ns());
  }
  void request() {
    request_alone();
    side_.run();
  }

  SlowSide side_;
};

TEST_F(SlowWire, Full_KeepsRequestsUntilThereIsRoom) {
  side_.socket->full = true;
  side_.run();
  request();
  EXPECT_TRUE(side_.socket->sent.empty());
  side_.socket->full = false;
  side_.run();
  EXPECT_EQ(side_.socket->sent.size(), 1U);
}

TEST_F(SlowWire, FullByAFrame_KeepsTheNext) {
  side_.socket->full = true;
  request_alone();
  request_alone();
  EXPECT_EQ(side_.socket->sent.size(), 1U);
}

TEST_F(SlowWire, Full_LetsRequestsInAndAnswersOut) {
  request();
  Bytes theirs = side_.socket->sent.front();  // of QP 0x40 for 0x41, which this host has too
  theirs[5] = std::byte{0x01};                // kHostMac, where kPeerMac stands
  side_.socket->full = true;
  side_.socket->coming = std::move(theirs);
  side_.run();
  EXPECT_EQ(side_.socket->sent.size(), 2U);
}

TEST(MacTable, OldEntry_IsNone) {
  MacTable table;
  const Mac address{2, 0, 0, 0, 0, 1};
  table.learn(address, 4, 10);
  EXPECT_EQ(table.find(address, 10 + MacTable::kAgeingNs - 1), 4U);
  EXPECT_EQ(table.find(address, 10 + MacTable::kAgeingNs), std::nullopt);
}

TEST(MacTable, AddressOfAGroup_IsNotLearned) {
  MacTable table;
  table.learn({1, 0, 0, 0, 0, 1}, 4, 0);
  EXPECT_EQ(table.size(), 0U);
}

TEST(MacTable, FullTable_ForgetsItsOldestEntry) {
  MacTable table;
  const auto address = [](std::size_t i) {
    return Mac{2, 0, 0, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
  };
  for (std::size_t i = 0; i <= MacTable::kMost; ++i) table.learn(address(i), 1, i);
  EXPECT_EQ(table.size(), MacTable::kMost);
  EXPECT_EQ(table.find(address(0), MacTable::kMost), std::nullopt);
  EXPECT_EQ(table.find(address(1), MacTable::kMost), 1U);
}

}  // namespace
}  // namespace portcullis::model::testing
