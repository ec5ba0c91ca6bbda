// SPDX-License-Identifier: BSD-3-Clause
//
// The port for other hosts against clients that behave and clients that do not, in one thread over
// the loopback.
#include "service/daemon/quic_port.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/quic/authority_folder.hpp"
#include "wire/messages.hpp"

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::uint64_t now_ns() { return Clock::wall().now_ns(); }

wire::FrameBytes request(std::uint64_t id) {
  return wire::make_frame(number(wire::Op::Status), id, wire::StatusRequest{});
}
wire::FrameBytes answer(std::uint64_t id) {
  return wire::make_frame(wire::answer_to(wire::Op::Status), id, wire::StatusAnswer{});
}
std::uint64_t request_id(const wire::FrameBytes& frame) {
  return wire::read_frame(frame).value().header.request_id;
}
wire::FrameBytes notice(std::uint64_t lease) {
  return wire::make_notice(wire::Notice::Revoked, wire::EndedNotice{.id = lease});
}

/// The other end, as quic::Connection has it.
struct Client {
  Client(const UdpAddress& to, const quic::CredentialFiles& files, const std::string& name)
      : server(to), own_socket(UdpSocket::connect(server).value()), socket(own_socket) {
    connect(files, name);
  }
  /// From the port of `other`: what the two are told comes in one queue.
  Client(Client& other, const quic::CredentialFiles& files)
      : server(other.server), socket(other.socket) {
    connect(files, "localhost");
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() = default;

  void connect(const quic::CredentialFiles& files, const std::string& name) {
    connection = quic::Connection::connect(
                     socket.local(), server, name, quic::Credentials::load(files).value(), {},
                     {.frame =
                          [this](quic::StreamId stream, std::span<const std::byte> frame) {
                            streams.push_back(stream);
                            heard.emplace_back(frame.begin(), frame.end());
                          }},
                     now_ns())
                     .value();
  }
  /// Of another's packet it makes nothing.
  void read_one() {
    std::array<std::byte, 2048> buffer;
    const auto next = socket.receive(buffer);
    if (next && *next) connection->read(**next, now_ns());
  }
  void serve() {
    std::array<std::byte, 2048> buffer;
    for (auto next = socket.receive(buffer); next && *next; next = socket.receive(buffer))
      connection->read(**next, now_ns());
    if (connection->expires_ns() <= now_ns()) connection->expire(now_ns());
    connection->write(socket, now_ns());
  }
  void lose_datagrams() {
    std::array<std::byte, 2048> buffer;
    for (auto next = socket.receive(buffer); next && *next; next = socket.receive(buffer)) {
    }
  }
  void ask(wire::FrameBytes frame) {
    connection->ask(connection->open_stream().value(), std::move(frame));
  }
  std::string end() const { return connection->end().value_or(""); }

  std::vector<wire::FrameBytes> heard;
  std::vector<quic::StreamId> streams;  // on which, each
  UdpAddress server;
  UdpSocket own_socket;
  UdpSocket& socket;
  std::unique_ptr<quic::Connection> connection;
};

class QuicPortTest : public testing::Test {
 protected:
  QuicPortTest() {
    options_.address = UdpAddress::parse("127.0.0.1:0", "listen").value();
    options_.files = authority_.server();
    options_.log = [this](std::string_view line) { log_.emplace_back(line); };
  }

  void start() {
    auto port =
        QuicPort::listen(options_, {.opened =
                                        [this](ConnectionId id, Identity who) {
                                          opened_.push_back(id);
                                          who_ = std::move(who);
                                        },
                                    .received =
                                        [this](ConnectionId id, std::span<const std::byte> bytes) {
                                          received_.emplace_back(bytes.begin(), bytes.end());
                                          if (on_frame_) on_frame_(id);
                                        },
                                    .closed = [this](ConnectionId id) { closed_.push_back(id); }});
    ASSERT_TRUE(port) << port.error().text;
    port_ = *std::move(port);
  }
  std::unique_ptr<Client> client(const quic::CredentialFiles& files,
                                 const std::string& name = "localhost") {
    return std::make_unique<Client>(port_->address(), files, name);
  }
  std::unique_ptr<Client> tenant(const std::string& stem, const std::string& account) {
    return client(authority_.client(stem, {"URI:portcullis:" + account}));
  }
  /// Lets everybody work until it is so; false after a time that no machine needs.
  bool until(const std::vector<Client*>& clients, const std::function<bool()>& so) {
    const std::uint64_t until_ns = now_ns() + 60 * kNsPerSecond;
    while (!so() && now_ns() < until_ns) {
      for (Client* each : clients) each->serve();
      pollfd waited{.fd = port_->fd(), .events = POLLIN, .revents = 0};
      (void)::poll(&waited, 1, 1);
      port_->serve();
    }
    return so();
  }
  /// A client that the port has greeted.
  std::unique_ptr<Client> connected(const std::string& stem, const std::string& account) {
    auto made = tenant(stem, account);
    const std::size_t before = opened_.size();
    EXPECT_TRUE(until({made.get()}, [&] { return opened_.size() > before; }));
    return made;
  }

  quic::AuthorityFolder authority_;
  QuicPort::Options options_;
  std::vector<std::string> log_;
  std::vector<ConnectionId> opened_;
  std::vector<ConnectionId> closed_;
  std::vector<wire::FrameBytes> received_;
  std::function<void(ConnectionId)> on_frame_;
  Identity who_;
  std::unique_ptr<QuicPort> port_;
};

TEST_F(QuicPortTest, Client_IsWhoItsCertificateSays) {
  start();
  const auto one = connected("one", "7:operator");
  EXPECT_EQ(who_.tenant, 7u);
  EXPECT_EQ(who_.role, wire::Role::Operator);
  EXPECT_THAT(who_.peer, HasSubstr("at 127.0.0.1"));
}

TEST_F(QuicPortTest, CertificateThatTheConfigurationNames_IsWhoItSays) {
  options_.certificates.by_name["DNS:db1.example"] = {.tenant = 12, .role = wire::Role::Observer};
  start();
  const auto one = client(authority_.client("one", {"DNS:db1.example", "URI:spiffe://x"}));
  ASSERT_TRUE(until({one.get()}, [&] { return !opened_.empty(); }));
  EXPECT_EQ(who_.tenant, 12u);
  EXPECT_EQ(who_.role, wire::Role::Observer);
}

TEST_F(QuicPortTest, RequestsAndAnswersAndNotices_KeepTheirBounds) {
  start();
  const auto one = connected("one", "7:client");
  on_frame_ = [this](ConnectionId id) {
    port_->send(id, notice(received_.size()));
    port_->send(id, answer(received_.size()));
  };
  one->ask(request(1));
  one->ask(request(2));
  ASSERT_TRUE(until({one.get()}, [&] { return one->heard.size() == 4; }));
  EXPECT_THAT(received_, ElementsAre(request(1), request(2)));
  EXPECT_THAT(one->heard,
              testing::UnorderedElementsAre(notice(1), answer(1), notice(2), answer(2)));
}

TEST_F(QuicPortTest, ThousandsOfRequests_EachIsAnsweredOnce) {
  start();
  const auto one = connected("one", "7:client");
  on_frame_ = [this](ConnectionId id) { port_->send(id, answer(request_id(received_.back()))); };
  constexpr std::size_t kRequests = 3000;
  std::size_t asked = 0;
  ASSERT_TRUE(until({one.get()}, [&] {
    while (asked < kRequests) {
      const auto stream = one->connection->open_stream();
      if (!stream) break;
      one->connection->ask(*stream, request(++asked));
    }
    return one->heard.size() == kRequests;
  }));
  // The last of them are acknowledged a little later.
  EXPECT_TRUE(until({one.get()}, [&] { return one->connection->unread_bytes() == 0; }));
}

TEST_F(QuicPortTest, MoreNoticesThanAClientAllowsStreams_EachIsHeard) {
  start();
  const auto one = connected("one", "7:client");
  constexpr std::uint64_t kNotices = 3'000;
  for (std::uint64_t lease = 1; lease <= kNotices; ++lease) {
    port_->send(opened_.front(), notice(lease));
    ASSERT_TRUE(until({one.get()}, [&] { return one->heard.size() == lease; })) << lease;
  }
}

/// Whoever is to hear first of an end does, whichever of the two connected first.
TEST_F(QuicPortTest, TwoThatAreTold_TheFirstIsSentFirst) {
  start();
  const auto older = connected("older", "7:client");
  Client newer(*older, authority_.client("newer", {"URI:portcullis:7:client"}));
  ASSERT_TRUE(until({&newer}, [&] { return opened_.size() == 2; }));
  older->lose_datagrams();
  port_->send(opened_.back(), notice(1));
  port_->send(opened_.front(), notice(1));
  port_->serve();
  newer.read_one();
  EXPECT_THAT(newer.heard, ElementsAre(notice(1)));
}

/// Each would have a timer set, and go off soon for nothing.
TEST_F(QuicPortTest, PacketsNowAndThen_AreNotPaced) {
  start();
  const auto one = connected("one", "7:client");
  constexpr std::size_t kPackets = 20;
  std::size_t soon = 0;
  for (std::size_t i = 1; i <= kPackets; ++i) {
    const std::uint64_t at_ns = now_ns();
    one->ask(request(i));
    one->connection->write(one->socket, at_ns);
    soon += one->connection->expires_ns() < at_ns + kNsPerMs ? 1 : 0;
    ASSERT_TRUE(until({one.get()}, [&] { return received_.size() == i; }));
  }
  EXPECT_LT(soon, kPackets);  // one behind ten others may be, and so may what else is due
}

TEST_F(QuicPortTest, SeveralFramesOnOneStream_EachIsAnswered) {
  start();
  const auto one = connected("one", "7:client");
  on_frame_ = [this](ConnectionId id) { port_->send(id, answer(received_.size())); };
  auto both = request(1);
  const auto second = request(2);
  both.insert(both.end(), second.begin(), second.end());
  one->ask(both);
  ASSERT_TRUE(until({one.get()}, [&] { return one->heard.size() == 2; }));
  EXPECT_THAT(one->heard, ElementsAre(answer(1), answer(2)));
}

TEST_F(QuicPortTest, FrameThatIsCut_ComesAsItIs) {
  start();
  const auto one = connected("one", "7:client");
  auto half = request(1);
  half.resize(20);
  one->ask(half);
  ASSERT_TRUE(until({one.get()}, [&] { return !received_.empty(); }));
  EXPECT_THAT(received_, ElementsAre(half));
}

TEST_F(QuicPortTest, LengthThatNoFrameHas_ComesOnce) {
  start();
  const auto one = connected("one", "7:client");
  auto lie = request(1);
  lie[3] = std::byte{0xff};
  lie.resize(200);
  one->ask(lie);
  one->ask(request(2));
  ASSERT_TRUE(until({one.get()}, [&] { return received_.size() >= 2; }));
  EXPECT_THAT(received_, SizeIs(2));
}

TEST_F(QuicPortTest, CertificateThatNamesNobody_IsTurnedAway) {
  start();
  for (const auto& [stem, names] : std::map<std::string, std::vector<std::string>>{
           {"none", {}},
           {"dns", {"DNS:db1.example"}},
           {"role", {"URI:portcullis:7:admin"}},
           {"zero", {"URI:portcullis:07:client"}},
           {"every", {"URI:portcullis:18446744073709551615:client"}}}) {
    const auto one = client(authority_.client(stem, names));
    ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); })) << stem;
    EXPECT_THAT(one->end(), HasSubstr("names nobody")) << stem;
  }
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(QuicPortTest, CertificateOfTwoTenants_IsTurnedAwayAndToldSo) {
  start();
  const auto one =
      client(authority_.client("two", {"URI:portcullis:7:client", "URI:portcullis:8:client"}));
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(one->end(), HasSubstr("names two tenants"));
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(QuicPortTest, CertificateOfAnotherAuthority_IsTurnedAway) {
  start();
  const quic::AuthorityFolder other;
  auto files = other.client("stranger", {"URI:portcullis:7:operator"});
  files.authority = options_.files.authority;  // it believes the server
  files.revoked.reset();
  const auto one = client(files);
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(one->end(), HasSubstr("refused"));
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_THAT(log_, Contains(HasSubstr("certificate")));
}

TEST_F(QuicPortTest, CertificateOfAServer_IsNoClients) {
  start();
  const auto one = client(authority_.issued("one", {.purpose = quic::Purpose::Server,
                                                    .common_name = "one",
                                                    .names = {"URI:portcullis:7:operator"}}));
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(QuicPortTest, ServerOfAnotherName_IsNotBelieved) {
  start();
  const auto one = client(authority_.client("one", {"URI:portcullis:7:client"}), "other.example");
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(one->end(), HasSubstr("certificate"));
  EXPECT_FALSE(one->connection->is_ready());
}

TEST_F(QuicPortTest, ServerByItsAddress_IsBelieved) {
  start();
  const auto one = client(authority_.client("one", {"URI:portcullis:7:client"}), "127.0.0.1");
  EXPECT_TRUE(until({one.get()}, [&] { return !opened_.empty(); }));
}

TEST_F(QuicPortTest, CertificateTakenBack_IsHungUpOnAndTurnedAway) {
  start();
  const auto one = connected("one", "7:client");
  const auto two = connected("two", "7:client");
  ASSERT_TRUE(quic::revoke(authority_.path(), authority_.path() / "one.pem"));
  ASSERT_TRUE(port_->set_trust(options_.files, {}));
  ASSERT_TRUE(until({one.get(), two.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
  EXPECT_THAT(two->end(), IsEmpty());
  const auto again = client({.authority = authority_.path() / "ca.pem",
                             .certificate = authority_.path() / "one.pem",
                             .key = authority_.path() / "one.key",
                             .revoked = {}});
  ASSERT_TRUE(until({again.get()}, [&] { return !again->end().empty(); }));
  EXPECT_THAT(again->end(), HasSubstr("refused"));
}

TEST_F(QuicPortTest, CertificateTakenBackWhileItsHandshakeIsUnderWay_IsTurnedAway) {
  start();
  const auto one = tenant("one", "7:client");
  one->serve();  // its first packet
  port_->serve();
  ASSERT_TRUE(quic::revoke(authority_.path(), authority_.path() / "one.pem"));
  ASSERT_TRUE(port_->set_trust(options_.files, {}));
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(QuicPortTest, AuthorityThatIsBelievedNoMore_ItsClientsAreHungUpOn) {
  start();
  const auto one = connected("one", "7:client");
  const quic::AuthorityFolder other;
  auto files = options_.files;
  files.authority = other.path() / "ca.pem";
  files.revoked.reset();
  ASSERT_TRUE(port_->set_trust(files, {}));
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(closed_, SizeIs(1));
}

TEST_F(QuicPortTest, AccountTakenOutWhileFilesCannotBeRead_IsHungUpOn) {
  options_.certificates.by_name["DNS:db1.example"] = {.tenant = 12};
  start();
  const auto one = client(authority_.client("one", {"DNS:db1.example"}));
  ASSERT_TRUE(until({one.get()}, [&] { return !opened_.empty(); }));
  auto files = options_.files;
  files.revoked = "/nonexistent";
  EXPECT_FALSE(port_->set_trust(files, {}));
  EXPECT_TRUE(until({one.get()}, [&] { return !closed_.empty(); }));
}

TEST_F(QuicPortTest, AnswersThatAreNotWanted_AreDroppedAndTheRestGoesOn) {
  start();
  const auto one = connected("one", "7:client");
  const quic::StreamId stream = one->connection->open_stream().value();
  one->connection->ask(stream, request(1));
  ASSERT_TRUE(until({one.get()}, [&] { return received_.size() == 1; }));
  one->connection->give_up(stream);
  ASSERT_TRUE(until({one.get()}, [&] { return !one->connection->has_unsent(); }));
  port_->send(opened_[0], answer(1));
  one->ask(request(2));
  on_frame_ = [this](ConnectionId id) { port_->send(id, answer(request_id(received_.back()))); };
  ASSERT_TRUE(until({one.get()}, [&] { return !one->heard.empty(); }));
  EXPECT_THAT(one->heard, ElementsAre(answer(2)));
  EXPECT_TRUE(until({one.get()}, [&] { return port_->is_drained(); }));
}

TEST_F(QuicPortTest, PacketsThatWereUnderWayToTheEnd_AreToldTheSameAgain) {
  start();
  const auto one = connected("one", "7:client");
  port_->hang_up(opened_[0]);
  port_->serve();
  one->lose_datagrams();  // the goodbye is lost
  one->ask(request(1));
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(one->end(), HasSubstr("the server has hung up"));
}

TEST_F(QuicPortTest, StrangersThatNeverFinish_KeepNobodyOut) {
  options_.limits.connections = 4;
  options_.limits.host_connections = 100'000;
  start();
  const auto files = authority_.client("stranger", {"URI:portcullis:7:client"});
  std::vector<std::unique_ptr<Client>> strangers;
  for (int i = 0; i < 200; ++i) {
    strangers.push_back(client(files));
    for (int turn = 0; turn < 2; ++turn) {  // the Retry, and the answer to it; then silence
      strangers.back()->serve();
      port_->serve();
    }
  }
  EXPECT_THAT(connected("one", "7:client")->end(), IsEmpty());
}

TEST_F(QuicPortTest, LongHeaderInAShortDatagram_IsNotAnswered) {
  start();
  auto socket = UdpSocket::connect(port_->address()).value();
  // 0-RTT of version 1, without connection ids; and version negotiation.
  for (const std::uint8_t version : {std::uint8_t{1}, std::uint8_t{0}}) {
    std::vector<std::byte> bytes(40);
    bytes[0] = std::byte{0xd0};
    bytes[4] = std::byte{version};
    socket.send(socket.local(), port_->address(), bytes);
  }
  port_->serve();
  std::array<std::byte, 2048> buffer;
  EXPECT_FALSE(socket.receive(buffer).value());
}

TEST_F(QuicPortTest, TrustThatCannotBeRead_StaysAsItWas) {
  start();
  auto files = options_.files;
  files.authority = "/nonexistent";
  EXPECT_FALSE(port_->set_trust(files, {}));
  const auto one = connected("one", "7:client");
  EXPECT_THAT(one->end(), IsEmpty());
}

TEST_F(QuicPortTest, ClientThatGoes_IsToldOnce) {
  start();
  const auto one = connected("one", "7:client");
  one->connection->close(quic::CloseCode::Done, "enough");
  ASSERT_TRUE(until({one.get()}, [&] { return !closed_.empty(); }));
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
}

TEST_F(QuicPortTest, ClientThatFallsSilent_IsGoneAfterTheIdleTime) {
  options_.timeouts.idle_ms = 200;
  start();
  const auto one = connected("one", "7:client");
  EXPECT_TRUE(until({}, [&] { return !closed_.empty(); }));
}

TEST_F(QuicPortTest, ClientThatSaysNothing_IsKeptAlive) {
  options_.timeouts.idle_ms = 2'000;
  start();
  const auto one = connected("one", "7:client");
  const std::uint64_t since_ns = now_ns();
  EXPECT_TRUE(until({one.get()}, [&] { return now_ns() - since_ns > 3 * kNsPerSecond; }));
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(QuicPortTest, WhoIsHungUpOn_ReadsFirstWhatItWasTold) {
  start();
  const auto one = connected("one", "7:client");
  on_frame_ = [this](ConnectionId id) {
    port_->send(id, answer(1));
    port_->hang_up(id);
  };
  one->ask(request(1));
  ASSERT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
  EXPECT_THAT(one->heard, ElementsAre(answer(1)));
  EXPECT_THAT(closed_, SizeIs(1));
}

TEST_F(QuicPortTest, ClientThatDoesNotRead_IsHungUpOn) {
  start();
  const auto one = connected("one", "7:client");
  const std::size_t frames = Port::kMostUnreadBytes / notice(1).size() + 1;
  for (std::size_t i = 0; i < frames; ++i) port_->send(opened_[0], notice(i));
  port_->serve();
  EXPECT_THAT(closed_, SizeIs(1));
  EXPECT_THAT(log_, Contains(HasSubstr("does not read")));
}

TEST_F(QuicPortTest, ClientsThatDoNotReadTogether_WhoHasMostIsHungUpOn) {
  constexpr std::size_t kClients = 4;
  options_.limits.unread_bytes = kClients * Port::kMostUnreadBytes / 2;
  const std::size_t frames = Port::kMostUnreadBytes / 2 / notice(1).size();
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i <= kClients; ++i)
    clients.push_back(connected("c" + std::to_string(i), "7:client"));
  for (std::size_t i = 0; i < frames + 10'000; ++i) port_->send(opened_[0], notice(i));
  for (std::size_t c = 1; c < opened_.size(); ++c)
    for (std::size_t i = 0; i < frames; ++i) port_->send(opened_[c], notice(i));
  port_->serve();
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
  EXPECT_THAT(log_, Contains(HasSubstr("does not read")));
}

/// As long as any: a page of LEASE_LIST.
wire::FrameBytes long_answer(std::uint64_t id) {
  const std::vector<wire::LeaseRow> rows(wire::kMostRows);
  return wire::make_list(id, 0, rows);
}
wire::FrameBytes list_requests(std::uint64_t first, std::uint64_t count) {
  wire::FrameBytes all;
  for (std::uint64_t id = first; id < first + count; ++id) {
    const auto one = wire::make_frame(number(wire::Op::LeaseList), id, wire::ListRequest{});
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST_F(QuicPortTest, ClientThatReadsNoAnswers_IsNotHeardUntilItDoes) {
  start();
  const auto one = connected("one", "7:client");
  on_frame_ = [this](ConnectionId id) {
    port_->send(id, long_answer(request_id(received_.back())));
  };
  constexpr std::uint64_t kRequests = 200;
  one->ask(list_requests(1, kRequests));
  for (int i = 0; i < 100; ++i) {
    one->connection->write(one->socket, now_ns());
    port_->serve();  // and the client reads nothing
  }
  const std::size_t most = Port::kMostAnswerBytes / long_answer(1).size() + 1;
  EXPECT_THAT(received_, SizeIs(most));
  ASSERT_TRUE(until({one.get()}, [&] { return one->heard.size() == kRequests; }));
  EXPECT_THAT(received_, SizeIs(kRequests));
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(QuicPortTest, ClientThatAsksOnAndOnBeforeItReads_IsHungUpOn) {
  start();
  const auto one = connected("one", "7:client");
  on_frame_ = [this](ConnectionId id) {
    port_->send(id, long_answer(request_id(received_.back())));
  };
  constexpr std::uint64_t kOnEach = 500;
  for (std::uint64_t stream = 0; stream < 30; ++stream)
    one->ask(list_requests(1 + stream * kOnEach, kOnEach));
  ASSERT_TRUE(until({one.get()}, [&] { return !closed_.empty(); }));
  EXPECT_THAT(log_, Contains(HasSubstr("does not read")));
}

TEST_F(QuicPortTest, OneIdOnTwoStreams_EachHasTheAnswerToItsOwnRequest) {
  start();
  const auto one = connected("one", "7:client");
  const auto revoke = wire::make_frame(number(wire::Op::LeaseRevoke), 5, wire::RevokeRequest{});
  one->ask(revoke);
  one->ask(request(5));
  ASSERT_TRUE(until({one.get()}, [&] { return received_.size() == 2; }));
  port_->send(opened_[0], answer(5));  // the revoke takes its time
  ASSERT_TRUE(until({one.get()}, [&] { return one->heard.size() == 1; }));
  const auto refused = wire::refusal(wire::Code::Busy, number(wire::Op::LeaseRevoke), "later");
  port_->send(opened_[0], wire::make_frame(wire::kRefused, 5, refused));
  ASSERT_TRUE(until({one.get()}, [&] { return one->heard.size() == 2; }));
  EXPECT_GT(one->streams[0], one->streams[1]);  // the second stream's came first
}

TEST_F(QuicPortTest, MoreConnectionsThanAHostMay_AreTurnedAway) {
  options_.limits.host_connections = 2;
  start();
  const auto one = connected("one", "7:client");
  const auto two = connected("two", "8:client");
  const auto three = tenant("three", "9:client");
  ASSERT_TRUE(until({three.get()}, [&] { return !three->end().empty(); }));
  EXPECT_THAT(log_, Contains(HasSubstr("2 connections of 127.0.0.1")));
  EXPECT_THAT(opened_, SizeIs(2));
}

TEST_F(QuicPortTest, MoreConnectionsThanATenantMay_AreTurnedAwayUntilOneGoes) {
  options_.limits.tenant_connections = 1;
  start();
  const auto one = connected("one", "7:client");
  const auto two = tenant("two", "7:client");
  ASSERT_TRUE(until({two.get()}, [&] { return !two->end().empty(); }));
  EXPECT_THAT(two->end(), HasSubstr("1 connections of tenant 7"));
  one->connection->close(quic::CloseCode::Done, "");
  ASSERT_TRUE(until({one.get()}, [&] { return !closed_.empty(); }));
  EXPECT_THAT(connected("three", "7:client")->end(), IsEmpty());
}

TEST_F(QuicPortTest, ServerThatWasRestarted_TellsClientsOfTheFirst) {
  start();
  const auto one = connected("one", "7:client");
  options_.address = port_->address();
  port_.reset();
  one->lose_datagrams();  // a server that is killed says no goodbye
  start();
  one->ask(request(1));
  EXPECT_TRUE(until({one.get()}, [&] { return !one->end().empty(); }));
}

TEST_F(QuicPortTest, Nonsense_IsPassedOver) {
  start();
  auto socket = UdpSocket::connect(port_->address()).value();
  std::vector<std::byte> bytes;
  for (int length = 0; length < 1500; length += 7) {
    bytes.resize(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>((i * 37 + static_cast<std::size_t>(length)) & 0xff);
    socket.send(socket.local(), port_->address(), bytes);
    port_->serve();
  }
  const auto one = connected("one", "7:client");
  EXPECT_THAT(opened_, SizeIs(1));
}

TEST_F(QuicPortTest, PortThatIsTaken_Refused) {
  start();
  options_.address = port_->address();
  const auto second = QuicPort::listen(options_, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
}

TEST_F(QuicPortTest, PortThatListensNoMore_KeepsWhoIsThere) {
  start();
  const auto one = connected("one", "7:client");
  port_->stop_listening();
  const auto two = tenant("two", "7:client");
  ASSERT_TRUE(until({one.get(), two.get()}, [&] { return !two->end().empty(); }));
  EXPECT_THAT(one->end(), IsEmpty());
  EXPECT_THAT(opened_, SizeIs(1));
}

}  // namespace
}  // namespace portcullis::service::daemon
