// SPDX-License-Identifier: BSD-3-Clause
//
// A link over QUIC. A thread of its own keeps the connection alive and hears what comes while
// nobody asks: without it a client that computes for a while would be taken for one that is gone.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/udp_socket.hpp"
#include "base/unique_fd.hpp"
#include "client/link.hpp"
#include "quic/connection.hpp"

namespace portcullis::client {

class QuicLink : public Link {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(const QuicServer& server,
                                                          std::uint64_t until_ns,
                                                          const Stop& stop = {});
  /// Says goodbye.
  ~QuicLink() override;

  [[nodiscard]] Result<void> send(const wire::FrameBytes& frame, std::uint64_t until_ns) override;
  [[nodiscard]] Result<std::optional<wire::FrameBytes>> receive(std::uint64_t until_ns) override;
  [[nodiscard]] int fd() const noexcept override { return news_.get(); }
  [[nodiscard]] std::optional<std::uint64_t> there_ns() const noexcept override { return {}; }

 private:
  QuicLink(UdpSocket socket, UdpAddress server);
  [[nodiscard]] Result<void> start(const QuicServer& server);
  [[nodiscard]] Result<void> wait_until_ready(const std::string& server, std::uint64_t until_ns,
                                              const Stop& stop);
  void run();
  void read_datagrams();
  void ask_what_waits();
  void publish();
  [[nodiscard]] int left_ms() const;

  UdpSocket socket_;
  UdpAddress server_;
  UniqueFd wake_;  // for the thread: something is to be sent, or it is to stop
  UniqueFd news_;  // for whoever asks: incoming_ has something, or it has ended
  std::unique_ptr<quic::Connection> connection_;  // the thread's alone
  std::deque<wire::FrameBytes> heard_;            // the thread's: what came in this round
  bool is_refused_ = false;                       // the thread's: nobody has that port

  mutable std::mutex lock_;
  std::deque<wire::FrameBytes> outgoing_;
  std::deque<wire::FrameBytes> incoming_;
  std::optional<Error> end_;
  bool is_ready_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace portcullis::client
