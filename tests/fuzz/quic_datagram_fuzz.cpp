// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams at the port that other hosts reach: any bytes, Initial packets with any frames under
// their right keys and behind an address that a Retry has validated, datagrams that are played
// again or changed on their way, and streams of any bytes from a client with a certificate. Nobody
// but that client is ever let in, it stays through all of it, and who has validated no address is
// sent no more than it has sent. libFuzzer drives it in the asan build; elsewhere corpus_test.cpp
// runs the corpus once.
//
// An input is a row of steps: a byte that says which, a byte that the step reads as it needs, two
// of length, and that many bytes. Time is the target's own. Port and client live from one input to
// the next, for a handshake costs as much as a hundred inputs; each input ends with everybody else
// forgotten.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quic/pki.hpp"
#include "service/daemon/quic_port.hpp"
#include "tests/fuzz/quic_initial.hpp"
#include "wire/frame.hpp"

namespace {

namespace quic = portcullis::quic;
namespace wire = portcullis::wire;
using portcullis::Clock;
using portcullis::kNsPerMs;
using portcullis::kNsPerSecond;
using portcullis::UdpAddress;
using portcullis::UdpSocket;
using portcullis::fuzz::Initial;
using portcullis::fuzz::Octets;
using portcullis::fuzz::protect;
using portcullis::fuzz::Retry;
using portcullis::service::daemon::ConnectionId;
using portcullis::service::daemon::Identity;
using portcullis::service::daemon::QuicPort;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kStepHeader = 4;
constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMostSeen = 256;
constexpr int kMostRounds = 200;

enum class Step : std::uint8_t { Raw, Initial, Replay, Change, Ask, Wait, Notice, Short };
constexpr std::uint8_t kSteps = 8;

void require(bool held) {
  if (!held) std::abort();
}

// The clock. It is far ahead of the kernel's, whose timers would go off at once, one after another.
std::uint64_t now = 1ULL << 58;  // NOLINT(*-avoid-non-const-global-variables)

/// An authority in a folder that goes with the process.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "quic-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    require(quic::create_authority(path_, "fuzz", 10).has_value());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] quic::CredentialFiles issue(const std::string& stem, quic::Purpose purpose,
                                            const std::string& name) const {
    require(
        quic::issue(path_, {.purpose = purpose, .common_name = stem, .names = {name}}, path_ / stem)
            .has_value());
    return {.authority = path_ / "ca.pem",
            .certificate = path_ / (stem + ".pem"),
            .key = path_ / (stem + ".key"),
            .revoked = path_ / "revoked.pem"};
  }

 private:
  std::filesystem::path path_;
};

class Target {
 public:
  Target() {
    server_ = folder_.issue("server", quic::Purpose::Server, "IP:127.0.0.1");
    client_ = quic::Credentials::load(
                  folder_.issue("client", quic::Purpose::Client, "URI:portcullis:7:client"))
                  .value();
    port_ = QuicPort::listen(
                {.address = UdpAddress::parse("127.0.0.1:0", "listen").value(),
                 .files = server_,
                 .timeouts = {.idle_ms = 1ULL << 40, .handshake_ms = 5'000},
                 .certificates = {},
                 .limits = {},
                 .log = {},
                 .clock = Clock::simulated([](const void*) noexcept { return now; }, nullptr)},
                {.opened = [this](ConnectionId id, const Identity& who) { opened(id, who); },
                 .received = [this](ConnectionId id,
                                    std::span<const std::byte> bytes) { received(id, bytes); },
                 .closed = [this](ConnectionId id) { require(open_.erase(id) == 1); }})
                .value();
    outside_ = UdpSocket::connect(port_->address()).value();
    between_ = UdpSocket::connect(port_->address()).value();
    front_ = UdpSocket::bind(UdpAddress::parse("127.0.0.1:0", "front").value()).value();
  }

  /// The client is there, before and after.
  void begin() {
    if (connection_ && !connection_->end() && inputs_++ % kInputsOfOne != 0) return;
    if (connection_) connection_->close(quic::CloseCode::Done, "another comes");
    for (int i = 0; connection_ && i < 3; ++i) pump();
    settle();
    require(open_.empty());
    may_open_ = true;
    socket_ = UdpSocket::connect(front_.local()).value();
    connection_ = quic::Connection::connect(socket_.local(), front_.local(), "127.0.0.1", client_,
                                            {.idle_ms = 1ULL << 40, .handshake_ms = 5'000}, {}, now)
                      .value();
    for (int i = 0; i < kMostRounds && open_.empty(); ++i) pump();
    require(open_.size() == 1 && connection_->is_ready());
    may_open_ = false;
    for (int i = 0; i < 3; ++i) pump();
  }

  void take(Step step, std::uint8_t how, std::span<const std::uint8_t> bytes) {
    switch (step) {
      case Step::Raw:
        return throw_in(Octets(bytes.begin(), bytes.end()));
      case Step::Initial:
        return initial(how, bytes);
      case Step::Replay:
        if (!seen_.empty()) throw_in(seen_[how % seen_.size()]);
        return;
      case Step::Change:
        return change(how, bytes);
      case Step::Ask:
        return ask(bytes);
      case Step::Wait:
        now += std::uint64_t{how} * 10 * kNsPerMs;
        return pump();
      case Step::Notice:
        if (open_.empty()) return;
        return port_->send(*open_.begin(),
                           wire::make_notice(wire::Notice::Revoked, wire::EndedNotice{.id = how}));
      case Step::Short:
        return short_packet(bytes);
    }
  }

  /// Strangers' time is over, and their graves'.
  void finish() {
    change_at_.reset();
    settle();
    require(port_->connections() == 1 && open_.size() == 1);
    require(connection_ && !connection_->end());
    seen_.clear();
    retry_.reset();
    sent_bytes_ = 0;
    heard_bytes_ = 0;
    is_validated_ = false;
  }

 private:
  static constexpr std::uint64_t kInputsOfOne = 2'000;

  void opened(ConnectionId id, const Identity& who) {
    require(may_open_ && open_.empty() && who.tenant == 7);
    open_.insert(id);
  }
  void received(ConnectionId id, std::span<const std::byte> bytes) {
    require(open_.contains(id) && !bytes.empty() && bytes.size() <= wire::kMostFrameBytes);
    wire::Header header{};
    if (bytes.size() >= wire::kBytes<wire::Header>)
      header = *wire::decode<wire::Header>(bytes.first<wire::kBytes<wire::Header>>());
    port_->send(id, answer_to(header, wire::read_frame(bytes).has_value()));
  }
  static wire::FrameBytes answer_to(const wire::Header& header, bool is_frame) {
    const auto op = static_cast<wire::Op>(header.op);
    if (!is_frame || !wire::is_known_op(header.op))
      return wire::make_frame(wire::kRefused, header.request_id,
                              wire::refusal(wire::Code::UnknownOp, header.op, ""));
    if (op == wire::Op::LeaseList)
      return wire::make_list(header.request_id, 0, std::vector<wire::LeaseRow>(wire::kMostRows));
    return wire::make_frame(wire::answer_to(op), header.request_id, wire::StatusAnswer{});
  }

  void remember(std::span<const std::byte> datagram) {
    if (seen_.size() == kMostSeen) seen_.pop_front();
    Octets copy;
    for (const std::byte each : datagram) copy.push_back(std::to_integer<std::uint8_t>(each));
    seen_.push_back(std::move(copy));
  }

  /// From whoever it is that has no certificate.
  void throw_in(const Octets& bytes) {
    const auto datagram = std::as_bytes(std::span(bytes));
    sent_bytes_ += bytes.size();
    outside_.send({}, {}, datagram);
    remember(datagram);
    port_->serve();
    std::array<std::byte, 2048> buffer;
    for (auto next = outside_.receive(buffer); next && *next; next = outside_.receive(buffer)) {
      const auto heard = (*next)->bytes;
      heard_bytes_ += heard.size();
      remember(heard);
      note_retry(seen_.back());
    }
    require(is_validated_ || heard_bytes_ <= sent_bytes_);
  }
  void note_retry(const Octets& heard) {
    Retry retry = portcullis::fuzz::read_retry(heard);
    if (!retry.token.empty()) retry_ = std::move(retry);
  }

  /// Bit 0: behind a validated address; bit 1: too short to be answered; the rest its number.
  void initial(std::uint8_t how, std::span<const std::uint8_t> frames) {
    constexpr std::size_t kLeast = 1200;
    Initial made{.dcid = Octets(8, 0xd1),
                 .scid = Octets(8, 0x5c),
                 .token = {},
                 .packet_number = static_cast<std::uint16_t>(how >> 2),
                 .frames = Octets(frames.begin(), frames.end()),
                 .least_bytes = (how & 2) != 0 ? 0 : kLeast};
    if ((how & 1) != 0) {
      if (!retry_)
        throw_in(protect({.dcid = made.dcid,
                          .scid = made.scid,
                          .token = {},
                          .packet_number = 0,
                          .frames = {1},
                          .least_bytes = kLeast}));
      require(retry_.has_value());
      is_validated_ = true;
      made.dcid = retry_->scid;
      made.token = retry_->token;
    }
    throw_in(protect(made));
  }

  /// The client's next datagram is met by these bytes on its way.
  void change(std::uint8_t at, std::span<const std::uint8_t> bytes) {
    change_at_ = std::size_t{at} * 5;
    changes_.assign(bytes.begin(), bytes.end());
    ask({});
  }
  void ask(std::span<const std::uint8_t> bytes) {
    if (const auto stream = connection_->open_stream()) {
      const auto from = std::as_bytes(bytes);
      connection_->ask(*stream, wire::FrameBytes(from.begin(), from.end()));
    }
    pump();
  }
  /// What looks like a packet of the client's connection, for it begins as the last one did.
  void short_packet(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kHead = 1 + quic::kIdBytes;
    if (last_.size() < kHead) return;
    Octets packet(kHead + bytes.size());  // at once: gcc 12 warns of insert() behind a copy
    std::copy_n(last_.begin(), kHead, packet.begin());
    std::ranges::copy(bytes, packet.begin() + kHead);
    throw_in(packet);
  }

  /// One round of client, way and port.
  void pump() {
    std::array<std::byte, 2048> buffer;
    if (connection_->expires_ns() <= now) connection_->expire(now);
    connection_->write(socket_, now);
    for (auto next = front_.receive(buffer); next && *next; next = front_.receive(buffer)) {
      client_address_ = (*next)->from;
      Bytes datagram((*next)->bytes.begin(), (*next)->bytes.end());
      if (change_at_)
        for (std::size_t i = 0; i < changes_.size() && *change_at_ + i < datagram.size(); ++i)
          datagram[*change_at_ + i] ^= std::byte{changes_[i]};
      change_at_.reset();
      remember(datagram);
      last_ = seen_.back();
      between_.send({}, {}, datagram);
    }
    port_->serve();
    for (auto next = between_.receive(buffer); next && *next; next = between_.receive(buffer)) {
      remember((*next)->bytes);
      front_.send(front_.local(), client_address_, (*next)->bytes);
    }
    for (auto next = socket_.receive(buffer); next && *next; next = socket_.receive(buffer))
      connection_->read(**next, now);
    now += kNsPerMs;
  }

  /// Until handshakes that began are over, and nobody is left of them.
  void settle() {
    for (int i = 0; i < 3; ++i) {
      now += 3 * kNsPerSecond;
      port_->serve();
      if (connection_) pump();
    }
    std::array<std::byte, 2048> buffer;
    for (auto next = outside_.receive(buffer); next && *next; next = outside_.receive(buffer)) {
    }
  }

  Folder folder_;
  quic::CredentialFiles server_;
  std::shared_ptr<const quic::Credentials> client_;
  std::set<ConnectionId> open_;
  std::unique_ptr<QuicPort> port_;
  UdpSocket outside_;  // of who has no certificate
  UdpSocket between_;  // the client's way to the port, and
  UdpSocket front_;    // where it thinks that the port is
  UdpSocket socket_;
  UdpAddress client_address_;
  std::unique_ptr<quic::Connection> connection_;
  std::deque<Octets> seen_;
  Octets last_;  // of the client
  std::optional<Retry> retry_;
  std::optional<std::size_t> change_at_;
  Octets changes_;
  std::uint64_t inputs_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t heard_bytes_ = 0;
  bool is_validated_ = false;
  bool may_open_ = false;
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static Target target;
  target.begin();
  std::span<const std::uint8_t> left(data, bytes);
  for (std::size_t i = 0; i < kMaxSteps && left.size() >= kStepHeader; ++i) {
    const auto step = static_cast<Step>(left[0] % kSteps);
    const std::uint8_t how = left[1];
    const std::size_t length = std::min<std::size_t>(
        std::size_t{left[2]} | std::size_t{left[3]} << 8, left.size() - kStepHeader);
    target.take(step, how, left.subspan(kStepHeader, length));
    left = left.subspan(kStepHeader + length);
  }
  target.finish();
  return 0;
}
