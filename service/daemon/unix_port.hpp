// SPDX-License-Identifier: BSD-3-Clause
//
// Where clients of this host connect: a socket of AF_UNIX that keeps messages apart
// (SOCK_SEQPACKET), so one message is one frame. Who connects is known by SO_PEERCRED. Of answers
// that a client does not read little is kept: then it is not heard until it reads. Notices, which
// it has not asked for, are kept up to a limit, and then it is hung up on.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "base/unix_socket.hpp"
#include "service/daemon/port.hpp"

namespace portcullis::service::daemon {

class UnixPort : public Port {
 public:
  struct Options {
    std::filesystem::path path;
    unsigned mode = 0600;  // of the socket
    Users users;
    Limits limits;
    LogSink log;
  };

  /// Busy when somebody listens there already, InvalidArgument for a path that is too long or names
  /// something else than a socket, System. A socket that nobody listens on is taken over.
  [[nodiscard]] static Result<std::unique_ptr<UnixPort>> listen(const Options& options,
                                                                Listener listener);
  /// Takes the socket's name away.
  ~UnixPort() override;

  /// InvalidArgument for a path that no socket can have.
  [[nodiscard]] static Result<void> check(const std::filesystem::path& path);
  [[nodiscard]] int fd() const noexcept override { return epoll_.get(); }
  void serve() override;
  void flush() override {}  // what is sent goes at once
  void send(ConnectionId connection, wire::FrameBytes frame) override;
  void hang_up(ConnectionId connection) override;
  void stop_listening() override;
  void hang_up_on_all() override;
  [[nodiscard]] bool is_drained() const noexcept override;
  void set_limits(const Limits& limits) override { options_.limits = limits; }
  [[nodiscard]] std::size_t connections() const noexcept override { return connections_.size(); }
  void set_users(const Users& users) { options_.users = users; }

 private:
  struct Connection {
    UniqueFd socket;
    std::uint32_t uid = 0;
    std::deque<wire::FrameBytes> unread;
    std::size_t unread_bytes = 0;
    std::size_t answer_bytes = 0;  // of those
    std::uint32_t waited_for = 0;  // events, as epoll(7) has them
    bool is_blocked = false;       // is waited for until it takes more
    bool ends = false;             // when it has read what is left
    bool has_finished = false;     // it has shut its side, and reads still

    [[nodiscard]] bool is_heard() const noexcept { return ends || answer_bytes < kMostAnswerBytes; }
    void forget_unread() noexcept;
  };

  UnixPort(const Options& options, Listener listener)
      : options_(options), listener_(std::move(listener)), complaints_(options.log) {}
  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> bind_socket();
  void accept_all();
  void admit(UniqueFd socket);
  [[nodiscard]] std::string overload(std::uint32_t uid) const;
  void turn_away(const UniqueFd& socket, wire::Code code, const std::string& why);
  void turn_away_without_descriptors();
  /// `is_gone`: nobody reads there any more, either.
  void read_some(ConnectionId id, bool is_gone);
  void finish(ConnectionId id, Connection& connection);
  void write_some(ConnectionId id);
  void close(ConnectionId id);
  void turn_out_slow(ConnectionId id, Connection& connection);
  [[nodiscard]] Result<void> watch(int fd, ConnectionId id, std::uint32_t events, bool is_new);
  /// Waits for what can be done now.
  void watch_again(ConnectionId id, Connection& connection);

  Options options_;
  Listener listener_;
  UniqueFd epoll_;
  UniqueFd socket_;
  UniqueFd lock_;    // of the name, as long as it is ours
  SocketPath name_;  // the same
  UniqueFd spare_;   // to be given up for a connection that is turned away
  std::map<ConnectionId, Connection> connections_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_uid_;  // connections of a user
  ConnectionId next_ = 1;
  UnreadOfAll unread_of_all_;
  Complaints complaints_;
};

}  // namespace portcullis::service::daemon
