// SPDX-License-Identifier: BSD-3-Clause
//
// The socket against clients that behave and clients that do not.
#include "service/daemon/unix_port.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace portcullis::service::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UnixPortTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "portcullis-socket-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.path = folder_ / "leased.sock";
    options_.users.by_uid[::geteuid()] = {.tenant = 7, .role = wire::Role::Operator};
    options_.log = [this](std::string_view line) { log_.emplace_back(line); };
  }
  void TearDown() override {
    port_.reset();
    std::filesystem::remove_all(folder_);
  }

  Result<std::unique_ptr<UnixPort>> listen() {
    return UnixPort::listen(options_,
                            {.opened =
                                 [this](ConnectionId id, Identity who) {
                                   opened_.push_back(id);
                                   last_identity_ = std::move(who);
                                 },
                             .received =
                                 [this](ConnectionId id, std::span<const std::byte> bytes) {
                                   received_.push_back(bytes.size());
                                   if (on_frame_) on_frame_(id);
                                 },
                             .closed = [this](ConnectionId id) { closed_.push_back(id); },
                             .finished = [this](ConnectionId id) { finished_.push_back(id); }});
  }
  void start() { port_ = listen().value(); }

  bool connects(const UniqueFd& fd) const {
    const sockaddr_un address = unix_address(options_.path.string(), "path").value();
    return ::connect(fd.get(), generic(address), sizeof address) == 0;
  }
  UniqueFd connect() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    EXPECT_TRUE(connects(fd));
    port_->serve();
    return fd;
  }
  static void say(const UniqueFd& fd, std::size_t bytes) {
    const std::vector<std::byte> message(bytes);
    EXPECT_EQ(::send(fd.get(), message.data(), bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
  }
  /// Bytes of the next message; 0 at the end, negative when there is none.
  static ssize_t heard(const UniqueFd& fd) {
    std::array<std::byte, 8192> buffer;
    return ::recv(fd.get(), buffer.data(), buffer.size(), 0);
  }
  void serve(int times = 4) {
    for (int i = 0; i < times; ++i) port_->serve();
  }

  std::filesystem::path folder_;
  UnixPort::Options options_;
  std::vector<std::string> log_;
  std::vector<ConnectionId> opened_;
  std::vector<ConnectionId> closed_;
  std::vector<ConnectionId> finished_;
  std::vector<std::size_t> received_;
  std::function<void(ConnectionId)> on_frame_;
  Identity last_identity_;
  std::unique_ptr<UnixPort> port_;
};

TEST_F(UnixPortTest, Peer_IsWhoTheKernelSays) {
  start();
  const auto client = connect();
  EXPECT_EQ(last_identity_.tenant, 7u);
  EXPECT_EQ(last_identity_.role, wire::Role::Operator);
  EXPECT_EQ(last_identity_.peer,
            "uid " + std::to_string(::geteuid()) + " pid " + std::to_string(::getpid()));
}

TEST_F(UnixPortTest, MessagesAndAnswers_KeepTheirBounds) {
  start();
  const auto client = connect();
  say(client, 40);
  say(client, 16);
  serve();
  EXPECT_THAT(received_, ElementsAre(40, 16));
  port_->send(opened_[0], wire::FrameBytes(24));
  port_->send(opened_[0], wire::FrameBytes(56));
  EXPECT_EQ(heard(client), 24);
  EXPECT_EQ(heard(client), 56);
}

TEST_F(UnixPortTest, MessageLongerThanAnyFrame_IsSeenToBe) {
  start();
  const auto client = connect();
  say(client, 60'000);
  serve();
  EXPECT_THAT(received_, ElementsAre(wire::kMostFrameBytes + 1));
}

TEST_F(UnixPortTest, ClientThatGoes_IsToldOnce) {
  start();
  auto client = connect();
  client.reset();
  serve();
  EXPECT_EQ(closed_, opened_);
}

TEST_F(UnixPortTest, UserWhomNobodyNamed_IsTurnedAway) {
  options_.users = {};
  start();
  const auto client = connect();
  EXPECT_EQ(heard(client), 144);  // REFUSED
  EXPECT_EQ(heard(client), 0);
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_THAT(log_, ElementsAre(HasSubstr("is nobody that the configuration names")));
}

TEST_F(UnixPortTest, WhoHasAskedBeforeItIsTurnedAway_HearsWhyAndOfNoReset) {
  options_.users = {};
  start();
  UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(connects(client));
  say(client, 56);
  say(client, 24);
  port_->serve();
  EXPECT_EQ(heard(client), 144);  // REFUSED
  EXPECT_EQ(heard(client), 0);
}

TEST_F(UnixPortTest, MoreConnectionsThanAreAccepted_AreTurnedAwayAndLoggedOnce) {
  options_.limits.connections = 3;
  start();
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(connect());
  EXPECT_THAT(opened_, SizeIs(3));
  EXPECT_THAT(log_, SizeIs(1));
  clients.erase(clients.begin());
  serve();
  clients.push_back(connect());
  EXPECT_THAT(opened_, SizeIs(4));
}

TEST_F(UnixPortTest, ConnectionsOfOneUser_AreLimited) {
  options_.limits.uid_connections = 2;
  start();
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(connect());
  EXPECT_THAT(opened_, SizeIs(2));
  EXPECT_THAT(log_.at(0), HasSubstr("2 connections of user"));
}

TEST_F(UnixPortTest, ClientThatDoesNotRead_IsHungUpOnAndOthersAreServed) {
  start();
  const auto slow = connect();
  const auto other = connect();
  for (int i = 0; i < 4000; ++i) port_->send(opened_[0], wire::FrameBytes(4096));
  port_->send(opened_[1], wire::FrameBytes(24));
  serve();
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
  EXPECT_EQ(heard(other), 24);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("does not read")));
}

TEST_F(UnixPortTest, ClientsThatDoNotReadTogether_WhoHasMostIsHungUpOn) {
  constexpr std::size_t kClients = 4;
  options_.limits.unread_bytes = kClients * Port::kMostUnreadBytes / 2;
  constexpr std::size_t kFrames = Port::kMostUnreadBytes / 2 / 4096;
  start();
  const auto most = connect();
  std::vector<UniqueFd> others;
  for (std::size_t i = 0; i < kClients; ++i) others.push_back(connect());
  for (std::size_t i = 0; i < kFrames + 100; ++i) port_->send(opened_[0], wire::FrameBytes(4096));
  for (std::size_t i = 1; i < opened_.size(); ++i)
    for (std::size_t n = 0; n < kFrames; ++n) port_->send(opened_[i], wire::FrameBytes(4096));
  serve();
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("does not read")));
}

class UnansweredUnixPort : public UnixPortTest {
 protected:
  static constexpr std::size_t kAnswerBytes = 4096;

  /// A client that asks as long as the kernel takes it, is answered, and reads nothing.
  UniqueFd ask_and_read_nothing() {
    on_frame_ = [this](ConnectionId id) { port_->send(id, wire::FrameBytes(kAnswerBytes)); };
    auto client = connect();
    const std::array<std::byte, 16> request{};
    for (int i = 0; i < 2'000; ++i) {
      asked_ += ::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0 ? 1 : 0;
      port_->serve();
    }
    return client;
  }
  /// How many answers there are until nothing more comes.
  static std::size_t read_all(const UniqueFd& client) {
    std::size_t answers = 0;
    while (heard(client) == static_cast<ssize_t>(kAnswerBytes)) ++answers;
    return answers;
  }

  std::size_t asked_ = 0;
};

TEST_F(UnansweredUnixPort, ClientThatReadsNoAnswers_IsNotHeardUntilItDoes) {
  start();
  const auto client = ask_and_read_nothing();
  const std::size_t answered = received_.size();
  ASSERT_LT(answered, asked_);
  const std::size_t read = read_all(client);
  EXPECT_LE((answered - read) * kAnswerBytes, Port::kMostAnswerBytes);
  std::size_t all = read;
  for (int i = 0; i < 10'000 && all < asked_; ++i) {
    port_->serve();
    all += read_all(client);
  }
  EXPECT_EQ(all, asked_);
  EXPECT_THAT(received_, SizeIs(asked_));
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(UnansweredUnixPort, WhoIsNotHeardAndGoes_IsToldOnce) {
  start();
  ask_and_read_nothing().reset();
  serve(200);
  EXPECT_EQ(closed_, opened_);
}

TEST_F(UnansweredUnixPort, WhoIsNotHeardAndHungUpOn_Ends) {
  start();
  const auto client = ask_and_read_nothing();
  port_->hang_up(opened_[0]);
  for (int i = 0; i < 10'000 && closed_.empty(); ++i) {
    (void)read_all(client);
    port_->serve();
  }
  EXPECT_EQ(closed_, opened_);
}

TEST_F(UnansweredUnixPort, NoticesThatAreNotRead_KeepNobodyFromBeingHeard) {
  start();
  const auto client = connect();
  const auto notice = wire::make_notice(wire::Notice::Revoked, wire::EndedNotice{.id = 1});
  for (int i = 0; i < 10'000; ++i) port_->send(opened_[0], notice);
  say(client, 16);
  serve();
  EXPECT_THAT(received_, SizeIs(1));
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(UnixPortTest, HangUp_ComesBehindWhatWasSent) {
  start();
  const auto client = connect();
  port_->send(opened_[0], wire::FrameBytes(24));
  port_->hang_up(opened_[0]);
  EXPECT_EQ(heard(client), 24);
  EXPECT_EQ(heard(client), 0);
  serve();
  EXPECT_EQ(closed_, opened_);
}

TEST_F(UnixPortTest, ClientThatHasShutItsSide_ReadsWhatIsStillAnswered) {
  start();
  const auto client = connect();
  say(client, 24);
  ASSERT_EQ(::shutdown(client.get(), SHUT_WR), 0);
  serve();
  EXPECT_THAT(received_, ElementsAre(24));
  EXPECT_THAT(finished_, ElementsAre(opened_[0]));
  EXPECT_THAT(closed_, IsEmpty());
  port_->send(opened_[0], wire::FrameBytes(24));
  port_->hang_up(opened_[0]);
  serve();
  EXPECT_EQ(heard(client), 24);
  EXPECT_EQ(heard(client), 0);
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
}

TEST_F(UnixPortTest, ClientThatHasShutItsSide_KeepsNobodyAwakeUntilItIsAnswered) {
  start();
  const auto client = connect();
  ASSERT_EQ(::shutdown(client.get(), SHUT_WR), 0);
  serve();
  pollfd waited{.fd = port_->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waited, 1, 0), 0);
}

TEST_F(UnixPortTest, ClientThatShutsItsSideAndGoes_IsToldOnce) {
  start();
  auto client = connect();
  ASSERT_EQ(::shutdown(client.get(), SHUT_WR), 0);
  serve();
  EXPECT_THAT(closed_, IsEmpty());
  client.reset();
  serve();
  EXPECT_THAT(closed_, ElementsAre(opened_[0]));
}

TEST_F(UnixPortTest, WhatABlockedClientReadsLater_IsAllThere) {
  start();
  const auto client = connect();
  constexpr int kMany = 200;
  for (int i = 0; i < kMany; ++i) port_->send(opened_[0], wire::FrameBytes(4096));
  int got = 0;
  for (int i = 0; i < 10'000 && got < kMany; ++i) {
    got += heard(client) == 4096 ? 1 : 0;
    port_->serve();
  }
  EXPECT_EQ(got, kMany);
  EXPECT_TRUE(port_->is_drained());
}

TEST_F(UnixPortTest, Socket_HasTheModeThatWasAskedFor) {
  options_.mode = 0640;
  start();
  struct stat found {};
  ASSERT_EQ(::stat(options_.path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST_F(UnixPortTest, NoDescriptorIsLeft_WhoComesIsTurnedAwayAndToldWhy) {
  start();
  const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> others;
  do others.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  while (others.back().is_open());
  const bool is_connected = connects(client);
  serve();
  others.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(is_connected);
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_EQ(heard(client), 144);
  EXPECT_EQ(heard(client), 0);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("the server has no descriptor left")));
}

TEST_F(UnixPortTest, ServerThatHasStopped_LeavesItsNameToTheNext) {
  start();
  port_->stop_listening();
  auto next = listen();
  ASSERT_TRUE(next) << next.error().text;
  port_.reset();
  EXPECT_TRUE(std::filesystem::exists(options_.path));
}

TEST_F(UnixPortTest, WhoHasNotReadByTheEnd_KeepsNobodyWaiting) {
  start();
  const auto client = connect();
  for (int i = 0; i < 500; ++i) port_->send(opened_[0], wire::FrameBytes(4096));
  EXPECT_FALSE(port_->is_drained());
  port_->hang_up_on_all();
  EXPECT_TRUE(port_->is_drained());
}

TEST_F(UnixPortTest, ServerThatEnds_TakesItsNameAway) {
  start();
  port_.reset();
  EXPECT_FALSE(std::filesystem::exists(options_.path));
}

TEST_F(UnixPortTest, NameThatADeadServerLeft_IsTakenOver) {
  start();
  const auto kept = folder_ / "kept";
  std::filesystem::create_hard_link(options_.path, kept);
  port_.reset();
  std::filesystem::rename(kept, options_.path);
  EXPECT_TRUE(listen());
}

TEST_F(UnixPortTest, NameOfAServerThatListens_IsBusyAndStays) {
  start();
  const auto second = listen();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::Busy);
  EXPECT_TRUE(std::filesystem::exists(options_.path));
}

TEST_F(UnixPortTest, NameOfAFile_IsRefusedAndTheFileStays) {
  std::ofstream(options_.path) << "mine";
  const auto port = listen();
  ASSERT_FALSE(port);
  EXPECT_THAT(port.error().text, HasSubstr("exists and is not a socket"));
  EXPECT_EQ(std::filesystem::file_size(options_.path), 4u);
}

TEST_F(UnixPortTest, PathThatIsTooLong_IsRefused) {
  options_.path = folder_ / std::string(120, 'x');
  EXPECT_EQ(listen().error().code, Errc::InvalidArgument);
}

}  // namespace
}  // namespace portcullis::service::daemon
