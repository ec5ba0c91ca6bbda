// SPDX-License-Identifier: BSD-3-Clause
//
// What carries frames to leased and back: a socket of this host, or QUIC to another one. A frame
// goes in whole and comes out whole; which answer belongs to which request is somebody else's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/udp_socket.hpp"
#include "quic/credentials.hpp"
#include "wire/frame.hpp"

namespace portcullis::client {

/// A server of another host.
struct QuicServer {
  std::string address;          // "HOST:PORT", an IPv6 address in brackets
  quic::CredentialFiles files;  // of this side, and the authority that the server is believed by
  std::string name = {};        // in the server's certificate; empty: HOST
  /// What `address` is, once it has been looked up: asking a name server may take long.
  std::optional<UdpAddress> resolved = {};
};

/// Where a server is: over QUIC if that is said, else on a socket of this host.
struct ServerAddress {
  std::filesystem::path socket = {};
  std::optional<QuicServer> quic = {};

  /// For whoever reads an error.
  [[nodiscard]] std::string text() const { return quic ? quic->address : socket.string(); }
};

/// Looked at some ten times a second while something is waited for; empty: nobody stops it.
using Stop = std::function<bool()>;

class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  virtual ~Link() = default;

  /// Connected, and both sides know each other. NotFound when nobody listens there, Timeout (when
  /// `stop` says so, too), System, DeviceGone when the server turned this side away,
  /// InvalidArgument for files that are no good.
  [[nodiscard]] static Result<std::unique_ptr<Link>> open(const ServerAddress& server,
                                                          std::uint64_t until_ns,
                                                          const Stop& stop = {});

  /// Timeout when the server has not read what went before by then; DeviceGone.
  [[nodiscard]] virtual Result<void> send(const wire::FrameBytes& frame,
                                          std::uint64_t until_ns) = 0;
  /// The next frame; none when `until_ns` has passed. DeviceGone once everything was handed out
  /// that came before the end.
  [[nodiscard]] virtual Result<std::optional<wire::FrameBytes>> receive(std::uint64_t until_ns) = 0;
  /// Readable when receive() has something to say.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// By this side's clock, when it was last looked at and the server had not ended it. None where
  /// the server may end it without a word that arrives: then only an answer says so much.
  [[nodiscard]] virtual std::optional<std::uint64_t> there_ns() const noexcept = 0;
};

}  // namespace portcullis::client
