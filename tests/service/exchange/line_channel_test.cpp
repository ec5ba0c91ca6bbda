// SPDX-License-Identifier: BSD-3-Clause
//
// The exchange's two carriers: TCP on the loopback interface, and files.
#include "service/exchange/line_channel.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "service/exchange/exchange.hpp"

namespace portcullis::service::exchange {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kPatienceMs = 120'000;

bool yield(std::uint64_t /*most_ns*/) {
  std::this_thread::yield();
  return true;
}

/// A port that nobody listens on: bound for a moment.
std::uint16_t free_port() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const generic = static_cast<sockaddr*>(static_cast<void*>(&address));
  EXPECT_EQ(bind(fd.get(), generic, bytes), 0);
  EXPECT_EQ(getsockname(fd.get(), generic, &bytes), 0);
  return ntohs(address.sin_port);
}

class TcpChannel : public ::testing::Test {
 protected:
  TcpChannel() : server(listen_tcp(address, kPatienceMs).value()) {}

  /// A raw connection, for what no client of ours would send.
  UniqueFd raw_client(const std::string& text) const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), static_cast<sockaddr*>(static_cast<void*>(&to)), sizeof to), 0);
    EXPECT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
    return fd;
  }

  std::uint16_t port = free_port();
  std::string address = "127.0.0.1:" + std::to_string(port);
  std::unique_ptr<LineChannel> server;
};

TEST_F(TcpChannel, LineEachWay_ArrivesWhole) {
  const auto client = connect_tcp(address, kPatienceMs, yield).value();

  ASSERT_TRUE(client->send_line("a question"));
  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "a question");
  ASSERT_TRUE(server->send_line("an answer"));
  EXPECT_EQ(wait_for_line(*client, kPatienceMs, yield).value(), "an answer");
}

TEST_F(TcpChannel, LinesBehindTheFirst_ComeOneByOneFromTheSamePeer) {
  const UniqueFd client = raw_client("first\nsecond\nthi");
  const auto other = connect_tcp(address, kPatienceMs, yield).value();
  ASSERT_TRUE(other->send_line("another's"));
  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "first");

  EXPECT_EQ(server->poll_further().value(), "second");
  EXPECT_EQ(server->poll_further().value(), std::nullopt);
  EXPECT_EQ(send(client.get(), "rd\n", 3, MSG_NOSIGNAL), 3);
  EXPECT_EQ(server->poll_further().value(), "third");
}

TEST_F(TcpChannel, LineInPieces_IsNoneUntilItsNewline) {
  const UniqueFd client = raw_client("half a");
  EXPECT_FALSE(server->poll_line().value());

  EXPECT_EQ(send(client.get(), " line\n", 6, MSG_NOSIGNAL), 6);

  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "half a line");
}

TEST_F(TcpChannel, HangUpInALine_SaysWhatCame) {
  { const UniqueFd client = raw_client("half a line"); }

  const auto line = wait_for_line(*server, kPatienceMs, yield);

  EXPECT_THAT(line.error().text, HasSubstr("hung up after \"half a line\""));
}

TEST_F(TcpChannel, EndlessLine_IsCutOff) {
  const UniqueFd client = raw_client(std::string(4096, 'x'));

  const auto line = wait_for_line(*server, kPatienceMs, yield);

  EXPECT_THAT(line.error().text, HasSubstr("no newline within 512 bytes"));
}

TEST_F(TcpChannel, SilentPeer_IsTimedOut) {
  server = listen_tcp("127.0.0.1:" + std::to_string(free_port()), 0).value();
  address = server->peer();
  const auto client = connect_tcp(address, kPatienceMs, yield).value();

  const auto line = wait_for_line(*server, kPatienceMs, yield);

  EXPECT_EQ(line.error().code, Errc::Timeout);
}

TEST_F(TcpChannel, SilentPeers_DelayNobody) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(raw_client(""));
  silent.push_back(raw_client("half a"));
  const auto client = connect_tcp(address, kPatienceMs, yield).value();

  ASSERT_TRUE(client->send_line("a question"));

  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value_or("none"), "a question");
}

TEST_F(TcpChannel, MoreSilentPeersThanAreKept_DelayNobody) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(raw_client(""));
    EXPECT_FALSE(server->poll_line().value());  // so that few wait in the backlog
  }
  const auto client = connect_tcp(address, kPatienceMs, yield).value();

  ASSERT_TRUE(client->send_line("a question"));

  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value_or("none"), "a question");
}

TEST_F(TcpChannel, PeersThatWaited_AreServedInTurn) {
  const auto first = connect_tcp(address, kPatienceMs, yield).value();
  const auto second = connect_tcp(address, kPatienceMs, yield).value();
  ASSERT_TRUE(first->send_line("one"));
  ASSERT_TRUE(second->send_line("two"));

  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "one");
  server->drop();
  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "two");
  ASSERT_TRUE(server->send_line("an answer"));

  EXPECT_EQ(wait_for_line(*second, kPatienceMs, yield).value(), "an answer");
}

/// The server's end of the connection of `client`, as this process has it.
int end_of(const UniqueFd& client) {
  sockaddr_in wanted{};
  socklen_t bytes = sizeof wanted;
  EXPECT_EQ(getsockname(client.get(), static_cast<sockaddr*>(static_cast<void*>(&wanted)), &bytes),
            0);
  constexpr int kMostFds = 1024;
  for (int fd = 0; fd < kMostFds; ++fd) {
    sockaddr_in peer{};
    bytes = sizeof peer;
    if (getpeername(fd, static_cast<sockaddr*>(static_cast<void*>(&peer)), &bytes) == 0 &&
        peer.sin_port == wanted.sin_port)
      return fd;
  }
  return -1;
}

int option_of(int fd, int level, int name) {
  int value = 0;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(getsockopt(fd, level, name, &value, &bytes), 0);
  return value;
}

/// What the kernel does from there on is tcp(7)'s; to see it takes a network that can be cut.
TEST_F(TcpChannel, PeerWhoseHostIsDead_IsAskedForSoonAndGivenUp) {
  const UniqueFd client = raw_client("a question\n");
  ASSERT_TRUE(wait_for_line(*server, kPatienceMs, yield));

  const int fd = end_of(client);

  EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_LE(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
                option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL) * option_of(fd, IPPROTO_TCP, TCP_KEEPCNT),
            10);
  EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 10'000);
}

TEST_F(TcpChannel, LoopbackSaysWhoIsNotAuthenticated) {
  EXPECT_EQ(server->who_may_ask(), "whoever on this host reaches " + address +
                                       " is granted a lease for the GID, MAC and QPN that it "
                                       "claims: nobody is authenticated");
}

TEST(TcpAddress, PortAlone_IsOfThisHostOnly) {
  const std::string port = std::to_string(free_port());

  EXPECT_EQ(listen_tcp(port).value()->peer(), "127.0.0.1:" + port);
}

TEST(TcpAddress, EveryAddress_IsAWarning) {
  const std::string address = "0.0.0.0:" + std::to_string(free_port());

  EXPECT_THAT(listen_tcp(address).value()->who_may_ask(),
              StartsWith("WARNING: whoever on any host reaches " + address));
}

TEST_F(TcpChannel, DroppedPeer_MakesRoomForTheNext) {
  const UniqueFd first = raw_client("nonsense\n");
  ASSERT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "nonsense");
  server->drop();

  const auto second = connect_tcp(address, kPatienceMs, yield).value();
  ASSERT_TRUE(second->send_line("sense"));

  EXPECT_EQ(wait_for_line(*server, kPatienceMs, yield).value(), "sense");
}

TEST_F(TcpChannel, PeerThatHangsUpAfterItsLine_IsGone) {
  auto client = connect_tcp(address, kPatienceMs, yield).value();
  ASSERT_TRUE(client->send_line("a question"));
  ASSERT_TRUE(wait_for_line(*server, kPatienceMs, yield));
  EXPECT_FALSE(server->is_peer_gone());

  client.reset();

  const Clock clock = Clock::wall();
  const std::uint64_t until_ns = clock.now_ns() + kPatienceMs * kNsPerMs;
  while (!server->is_peer_gone() && clock.now_ns() < until_ns) std::this_thread::yield();
  EXPECT_TRUE(server->is_peer_gone());
}

TEST_F(TcpChannel, PeerThatSaysMoreThanItsLineAndHangsUp_IsGone) {
  UniqueFd client = raw_client("a question\n" + std::string(20'000, 'x'));
  ASSERT_TRUE(wait_for_line(*server, kPatienceMs, yield));
  EXPECT_FALSE(server->is_peer_gone());

  client = UniqueFd();

  const Clock clock = Clock::wall();
  const std::uint64_t until_ns = clock.now_ns() + kPatienceMs * kNsPerMs;
  while (!server->is_peer_gone() && clock.now_ns() < until_ns) std::this_thread::yield();
  EXPECT_TRUE(server->is_peer_gone());
}

TEST_F(TcpChannel, PortInUse_IsNamed) {
  const auto second = listen_tcp(address);

  EXPECT_THAT(second.error().text, HasSubstr("cannot listen on " + address));
}

TEST(TcpAddress, NobodyListens_IsOneLineAfterTheWait) {
  const std::string address = "127.0.0.1:" + std::to_string(free_port());

  const auto client = connect_tcp(address, 0, yield);

  EXPECT_EQ(client.error().code, Errc::Timeout);
  EXPECT_THAT(client.error().text, HasSubstr(address));
}

TEST(TcpAddress, InterruptedWait_Ends) {
  const std::string address = "127.0.0.1:" + std::to_string(free_port());

  const auto client = connect_tcp(address, kPatienceMs, [](std::uint64_t) { return false; });

  EXPECT_EQ(client.error().code, Errc::Busy);
}

class BadTcpAddress : public ::testing::TestWithParam<const char*> {};

TEST_P(BadTcpAddress, IsRefusedOnBothSides) {
  EXPECT_EQ(connect_tcp(GetParam(), 0, yield).error().code, Errc::InvalidArgument);
  EXPECT_EQ(listen_tcp(GetParam()).error().code, Errc::InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Addresses, BadTcpAddress,
                         ::testing::Values("", ":", "host:", ":7471", "127.0.0.1:0",
                                           "127.0.0.1:65536", "127.0.0.1:http"));

class FileChannelTest : public ::testing::Test {
 public:
  ~FileChannelTest() override { std::filesystem::remove_all(folder); }

 protected:
  FileChannelTest() {
    std::string pattern = ::testing::TempDir() + "exchangeXXXXXX";
    folder = mkdtemp(pattern.data());
  }
  void write(const char* name, const std::string& text) const {
    std::ofstream(folder / name, std::ios::binary) << text;
  }

  std::filesystem::path folder;
};

TEST_F(FileChannelTest, LineEachWay_ArrivesWhole) {
  const auto client = open_files(folder / "grant", folder / "request").value();
  const auto server = open_files(folder / "request", folder / "grant");
  ASSERT_TRUE(server);

  ASSERT_TRUE(client->send_line("a question"));
  EXPECT_EQ((*server)->poll_line().value(), "a question");
  EXPECT_FALSE((*server)->poll_line().value());  // once
  ASSERT_TRUE((*server)->send_line("an answer"));
  EXPECT_EQ(client->poll_line().value(), "an answer");
}

TEST_F(FileChannelTest, AnswerThatIsThereAlready_IsRefused) {
  write("grant", "of the last time\n");

  const auto server = open_files(folder / "request", folder / "grant");

  EXPECT_EQ(server.error().code, Errc::Busy);
  EXPECT_THAT(server.error().text, HasSubstr("remove it"));
}

TEST_F(FileChannelTest, FileWithoutNewline_IsNoLineYetAndAnErrorLater) {
  const auto server = open_files(folder / "request", folder / "grant").value();
  write("request", "half a line");
  EXPECT_FALSE(server->poll_line().value());

  std::filesystem::last_write_time(
      folder / "request", std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));

  EXPECT_THAT(server->poll_line().error().text, HasSubstr("no newline at its end"));
}

TEST_F(FileChannelTest, HugeFile_IsRefusedUnread) {
  const auto server = open_files(folder / "request", folder / "grant").value();
  write("request", std::string(100'000, 'x'));

  EXPECT_THAT(server->poll_line().error().text, HasSubstr("over 512 bytes"));
}

TEST_F(FileChannelTest, Pipe_IsRefusedUnopened) {
  const auto server = open_files(folder / "request", folder / "grant").value();
  ASSERT_EQ(mkfifo((folder / "request").c_str(), 0600), 0);

  EXPECT_THAT(server->poll_line().error().text, HasSubstr("is no plain file"));
}

TEST_F(FileChannelTest, GrantWithItsKey_IsReadByItsOwnerOnly) {
  const auto server = open_files(folder / "request", folder / "grant", program::kOnlyOwner).value();

  ASSERT_TRUE(server->send_line("lease-grant rkey=0x1c02"));

  struct stat written {};
  ASSERT_EQ(stat((folder / "grant").c_str(), &written), 0);
  EXPECT_EQ(written.st_mode & 0777U, 0600U);
}

TEST_F(FileChannelTest, LinkInPlaceOfTheAnswer_IsRefusedAndWhatItNamesStays) {
  write("precious", "of somebody\n");
  const auto server = open_files(folder / "request", folder / "grant").value();
  std::filesystem::create_symlink(folder / "precious", folder / "grant");

  EXPECT_THAT(server->send_line("an answer").error().text, HasSubstr("it is a symbolic link"));

  EXPECT_EQ(std::filesystem::file_size(folder / "precious"), 12U);
}

TEST_F(FileChannelTest, LinkToNothingInPlaceOfTheAnswer_IsThereAlready) {
  std::filesystem::create_symlink(folder / "nothing", folder / "grant");

  EXPECT_EQ(open_files(folder / "request", folder / "grant").error().code, Errc::Busy);
}

TEST_F(FileChannelTest, LinksThatWaitForUnfinishedFiles_AreNotFollowed) {
  write("precious", "of somebody\n");
  std::filesystem::create_symlink(folder / "precious", folder / "grant.unfinished");
  const auto server = open_files(folder / "request", folder / "grant").value();

  ASSERT_TRUE(server->send_line("an answer"));

  EXPECT_EQ(std::filesystem::file_size(folder / "precious"), 12U);
}

TEST_F(FileChannelTest, FolderThatIsNotThere_IsNamed) {
  const auto client = open_files(folder / "grant", folder / "missing/request").value();

  const auto sent = client->send_line("a question");

  EXPECT_THAT(sent.error().text, HasSubstr("missing/request"));
}

}  // namespace
}  // namespace portcullis::service::exchange
