// SPDX-License-Identifier: BSD-3-Clause
//
// Frames over a socket, as QEMU's network backends speak: `-netdev dgram` puts one frame into one
// datagram (net_dgram_receive of net/dgram.c), `-netdev stream` puts its length before it, four
// bytes big-endian (net_stream_data_receive of net/stream_data.c, in net/stream.c before QEMU 10.1;
// read back by net_fill_rstate of net/net.c, which hangs up on more than NET_BUFSIZE). So two
// hca-servers may be joined to each other, or one to a guest's NIC.
//
// Nothing here waits: a datagram that the socket does not take now is lost. On a stream it stays,
// up to a bound, and goes when the peer has read; long before, is_full() says that it is time to
// stop.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace portcullis::model {

/// `dgram,local=ADDRESS,remote=ADDRESS`, `stream,listen=ADDRESS` or `stream,connect=ADDRESS`. An
/// address with a '/' is the path of a UNIX socket, any other HOST:PORT with an IPv4 host.
struct WireSpec {
  enum class Kind : std::uint8_t { Datagram, Listen, Connect };
  Kind kind = Kind::Datagram;
  std::string local;   // bound or listened on
  std::string remote;  // sent or connected to

  /// InvalidArgument, with what is accepted.
  [[nodiscard]] static Result<WireSpec> parse(std::string_view text);
};

class FrameChannel {
 public:
  /// InvalidArgument for an address, Busy or System when a socket cannot be had. A stream whose
  /// other end is not there yet is no error: it is tried again.
  [[nodiscard]] static Result<std::unique_ptr<FrameChannel>> open(const WireSpec& spec);
  virtual ~FrameChannel() = default;

  /// -1: look again later.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// What poll() should wait for there before receive() is called again, which sends too what
  /// waits.
  [[nodiscard]] virtual short events() const noexcept { return POLLIN; }
  /// Much waits for a peer that reads: it goes sooner than more of it would be of use.
  [[nodiscard]] virtual bool is_full() const noexcept { return false; }
  /// The next frame's length, its bytes in `frame`; nothing when there is none now. Frames longer
  /// than `frame` are dropped.
  [[nodiscard]] virtual std::optional<std::size_t> receive(std::span<std::byte> frame) = 0;
  /// False: the frame is lost.
  [[nodiscard]] virtual bool send(std::span<const std::byte> frame) = 0;
};

}  // namespace portcullis::model
