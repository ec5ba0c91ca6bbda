// SPDX-License-Identifier: BSD-3-Clause
//
// Where clients of other hosts connect: QUIC over one UDP socket. Every address is validated by a
// Retry before anything is kept of it; who connects is known by its certificate, which the
// configuration's authority has issued and not taken back.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/udp_socket.hpp"
#include "base/unique_fd.hpp"
#include "quic/connection.hpp"
#include "quic/credentials.hpp"
#include "service/daemon/port.hpp"
#include "service/daemon/strangers.hpp"

namespace portcullis::service::daemon {

class QuicPort : public Port {
 public:
  struct Options {
    UdpAddress address;
    quic::CredentialFiles files;
    quic::Timeouts timeouts;
    Certificates certificates;
    Limits limits;
    ConnectionId first = 1;  // of the connections' numbers
    LogSink log;
    Clock clock = Clock::wall();  // the timer behind fd() goes by the wall's alone
  };

  /// Busy when the port is taken, and what Credentials::load() says.
  [[nodiscard]] static Result<std::unique_ptr<QuicPort>> listen(const Options& options,
                                                                Listener listener);
  ~QuicPort() override;

  /// With the port that the system chose, where it was to.
  [[nodiscard]] const UdpAddress& address() const noexcept { return socket_.local(); }
  [[nodiscard]] int fd() const noexcept override { return epoll_.get(); }
  void serve() override;
  void flush() override { settle_all(); }
  void send(ConnectionId connection, wire::FrameBytes frame) override;
  void hang_up(ConnectionId connection) override;
  /// The UDP port stays taken until the last connection is gone: they share it.
  void stop_listening() override { is_listening_ = false; }
  void hang_up_on_all() override;
  [[nodiscard]] bool is_drained() const noexcept override;
  void set_limits(const Limits& limits) override { options_.limits = limits; }
  [[nodiscard]] std::size_t connections() const noexcept override {
    return clients_.size() - strangers_.size();
  }
  /// Who may connect from now on. Whose certificate names nobody any more, or somebody else, is
  /// hung up on; and once the files are read, who is no longer believed by them: before it is heard
  /// again. They stay as they were when they cannot be read, which is an error.
  [[nodiscard]] Result<void> set_trust(const quic::CredentialFiles& files,
                                       const Certificates& certificates);

 private:
  /// What an answer is known by: request id and op. Nothing keeps a client from using an id twice.
  using Question = std::pair<std::uint64_t, std::uint16_t>;
  /// Came, and is not heard before the answers to what came before it have been read.
  struct Unheard {
    quic::StreamId stream = -1;
    wire::FrameBytes frame;
  };
  struct Client {
    std::unique_ptr<quic::Connection> connection;
    std::string host;
    std::set<quic::Cid> ids;
    std::multimap<Question, quic::StreamId> asked;  // in the order they came
    std::list<Unheard> unheard;
    std::size_t unheard_bytes = 0;
    std::uint64_t timer_ns = UINT64_MAX;  // its account in timers_
    std::uint64_t ends_by_ns = 0;         // hung up on: when it has read, or then
    quic::Peer peer;
    Account account;
    bool is_open = false;    // the listener knows of it
    bool is_logged = false;  // why it was turned away
    bool is_touched = false;
  };

  QuicPort(const Options& options, Listener listener)
      : options_(options), listener_(std::move(listener)), complaints_(options.log) {}
  /// Of a connection that has ended, so that what was under way to it is told the same again, and
  /// is not taken for another server's (RFC 9000, 10.2).
  struct Grave {
    std::uint64_t until_ns = 0;
    std::uint32_t told_again = 0;
    std::vector<std::byte> goodbye;
    std::set<quic::Cid> ids;
  };

  [[nodiscard]] Result<void> start();
  void read_datagrams();
  void bury(Client& client);
  void clear_graves();
  void take(const UdpSocket::Datagram& datagram);
  void take_unknown(const UdpSocket::Datagram& datagram, bool is_long);
  [[nodiscard]] bool is_new(const ngtcp2_pkt_hd& header, const UdpSocket::Datagram& datagram,
                            ngtcp2_cid& original);
  [[nodiscard]] std::string overload(const std::string& host) const;
  /// Certificates are verified one after the other: each costs some tenths of a millisecond.
  void doubt_all();
  void verify_some();
  void verify(ConnectionId id);
  void turn_out(ConnectionId id, const std::string& why);
  void turn_out_slow(Client& client);
  void say_version(const ngtcp2_version_cid& asked, const UdpSocket::Datagram& datagram);
  void say_retry(const ngtcp2_pkt_hd& header, const UdpSocket::Datagram& datagram);
  void say_reset(const UdpSocket::Datagram& datagram);
  void say_refused(const ngtcp2_pkt_hd& header, const UdpSocket::Datagram& datagram,
                   std::uint64_t code);
  void reply(const UdpSocket::Datagram& datagram, const std::uint8_t* bytes, std::ptrdiff_t count);

  void greet(ConnectionId id);
  void received(ConnectionId id, quic::StreamId stream, std::span<const std::byte> frame);
  void hear(ConnectionId id, quic::StreamId stream, std::span<const std::byte> frame);
  void hear_what_waited(ConnectionId id, Client& client);
  void run_timers();
  void look_at_all();
  /// It is to be settled, behind all that were touched before: who is told first hears first.
  void touch(ConnectionId id);
  void settle_all();
  /// What it has to send goes, its timer is set anew, and it is forgotten when it is gone.
  void settle(ConnectionId id);
  void tell_closed(ConnectionId id, Client& client);
  void forget(ConnectionId id);
  void arm();
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return options_.clock.now_ns(); }

  Options options_;
  Listener listener_;
  Complaints complaints_;
  std::shared_ptr<const quic::Credentials> credentials_;
  std::array<std::byte, 32> reset_secret_{};  // the same after a restart
  std::array<std::byte, 32> retry_secret_{};
  UniqueFd epoll_;
  UniqueFd timer_;
  std::uint64_t armed_ns_ = 0;  // when it goes off; UINT64_MAX: never
  UdpSocket socket_;
  std::map<ConnectionId, Client> clients_;
  std::unordered_map<quic::Cid, ConnectionId> by_cid_;
  UnreadOfAll unread_of_all_;
  std::deque<std::shared_ptr<Grave>> graves_;  // the oldest first
  std::unordered_map<quic::Cid, std::shared_ptr<Grave>> grave_of_;
  std::unordered_map<std::string, std::uint32_t> by_host_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_tenant_;
  std::set<std::pair<std::uint64_t, ConnectionId>> timers_;
  std::deque<ConnectionId> touched_;  // since they were settled, in that order; some may be gone
  std::set<ConnectionId> doubted_;    // their certificates are to be looked at again
  Strangers strangers_;
  ConnectionId next_ = 1;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t believed_ns_ = 0;
  std::uint64_t resets_since_ns_ = 0;
  std::uint32_t resets_ = 0;
  bool is_listening_ = true;
};

}  // namespace portcullis::service::daemon
