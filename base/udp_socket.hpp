// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams over UDP, IPv4 and IPv6. A socket that listens on every address of a host answers from
// the one that was asked. Nothing here waits.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace portcullis {

/// An address of IPv4 or IPv6 and a port.
class UdpAddress {
 public:
  UdpAddress() = default;
  UdpAddress(const sockaddr* address, socklen_t bytes);
  /// "192.0.2.1:7810" or "[2001:db8::1]:7810"; `what` names it in an error. InvalidArgument.
  [[nodiscard]] static Result<UdpAddress> parse(const std::string& text, std::string_view what);
  /// The first address that the system has for "HOST:PORT", where HOST may be a name, too.
  /// InvalidArgument for what is neither, NotFound for a name that nobody knows. May take as long
  /// as the system's resolver does.
  [[nodiscard]] static Result<UdpAddress> resolve(const std::string& text, std::string_view what);
  /// Every address of a family, and any port that is free.
  [[nodiscard]] static UdpAddress any(int family);

  [[nodiscard]] const sockaddr* generic() const noexcept {
    return static_cast<const sockaddr*>(static_cast<const void*>(&storage_));
  }
  [[nodiscard]] socklen_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// Of the host alone, without the port: what sends datagrams from many ports is one host.
  [[nodiscard]] std::string host() const;
  /// As parse() takes it.
  [[nodiscard]] std::string text() const;

 private:
  sockaddr_storage storage_{};
  socklen_t bytes_ = 0;
};

/// An address of IPv4 or IPv6 in its shortest form, without its link; none for a host's name.
[[nodiscard]] std::optional<std::string> address_text(const std::string& host);

/// "HOST:PORT" or "[HOST]:PORT" apart; none when it is neither.
struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};
[[nodiscard]] std::optional<HostAndPort> split_host_and_port(const std::string& text);

class UdpSocket {
 public:
  struct Datagram {
    UdpAddress to;  // this side's
    UdpAddress from;
    std::span<const std::byte> bytes;
  };

  UdpSocket() = default;
  /// Busy when somebody has that port, System; each names the address.
  [[nodiscard]] static Result<UdpSocket> bind(const UdpAddress& address);
  /// For one peer alone. System.
  [[nodiscard]] static Result<UdpSocket> connect(const UdpAddress& peer);

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// With the port that the system chose, where it was to.
  [[nodiscard]] const UdpAddress& local() const noexcept { return local_; }
  /// The next one, into `buffer`; none when there is none. DeviceGone when the peer of a connected
  /// socket has nobody on that port.
  [[nodiscard]] Result<std::optional<Datagram>> receive(std::span<std::byte> buffer);
  /// From `from`, which may be empty for a connected socket. What does not fit now is lost, as a
  /// datagram may be.
  void send(const UdpAddress& from, const UdpAddress& to, std::span<const std::byte> bytes);

 private:
  [[nodiscard]] Result<void> open(int family);
  [[nodiscard]] Result<void> learn_local();

  UniqueFd fd_;
  UdpAddress local_;
  bool is_connected_ = false;
};

}  // namespace portcullis
