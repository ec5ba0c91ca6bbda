// SPDX-License-Identifier: BSD-3-Clause
//
// Many connections to leased, driven by one thread that never waits for one of them. What stands
// between a frame and the kernel is as little as can be, so that what is measured is the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "wire/frame.hpp"

namespace portcullis::bench {

class LeasedProcess;

/// One connection. Nothing here waits.
class Line {
 public:
  using Heard = std::function<void(std::span<const std::byte>)>;

  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  virtual ~Line() = default;

  [[nodiscard]] virtual int fd() const noexcept = 0;
  virtual void send(wire::FrameBytes frame) = 0;
  /// Reads what has come, and sends what may go.
  virtual void serve(const Heard& heard) = 0;
  /// When serve() is to be called though nothing has come.
  [[nodiscard]] virtual std::uint64_t expires_ns() const = 0;
  /// Both sides know each other.
  [[nodiscard]] virtual bool is_ready() const = 0;
  /// Why there will be nothing more.
  [[nodiscard]] virtual std::optional<std::string> end() const = 0;
};

enum class Transport : std::uint8_t { Unix, Quic };
/// "AF_UNIX", "QUIC"
[[nodiscard]] const char* name(Transport transport) noexcept;

/// Over QUIC for one of the server's tenants in turn.
[[nodiscard]] Result<std::unique_ptr<Line>> open_line(const LeasedProcess& leased,
                                                      Transport transport, std::uint64_t nth);

class Fleet {
 public:
  using Heard = std::function<void(std::size_t line, const wire::Frame& frame)>;

  [[nodiscard]] static Result<Fleet> create();
  /// Connected, verified and greeted, each of them: Timeout otherwise, or why one was turned away.
  [[nodiscard]] Result<void> open(const LeasedProcess& leased, Transport transport,
                                  std::size_t count, std::uint64_t most_ns);
  [[nodiscard]] std::size_t size() const noexcept { return lines_.size(); }

  void send(std::size_t line, wire::FrameBytes frame);
  template <class Body>
  void ask(std::size_t line, wire::Op op, std::uint64_t request_id, const Body& body) {
    send(line, wire::make_frame(number(op), request_id, body));
  }
  /// Waits for something to come, until then at most, and hands it over. A connection that ends, or
  /// a frame that is none, is an error.
  [[nodiscard]] Result<void> serve(std::uint64_t until_ns, const Heard& heard);
  /// Lines that the server has ended are let go: it was told to end.
  [[nodiscard]] bool have_all_ended() const;
  void expect_the_end() noexcept { may_end_ = true; }

 private:
  Fleet() = default;
  [[nodiscard]] Result<void> add(std::unique_ptr<Line> line);
  [[nodiscard]] Result<void> serve_one(std::size_t index, const Heard& heard);
  void note_timer(std::size_t index);

  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::uint64_t> timer_of_;
  std::set<std::pair<std::uint64_t, std::size_t>> timers_;
  UniqueFd epoll_;
  bool may_end_ = false;
};

}  // namespace portcullis::bench
