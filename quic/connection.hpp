// SPDX-License-Identifier: BSD-3-Clause
//
// One connection of QUIC, either side's, over ngtcp2 and GnuTLS: frames go in and out on streams,
// datagrams come and leave through whoever owns the socket. TLS 1.3 with a certificate of each
// side, ALPN "portcullis/1", no 0-RTT and no tickets. No socket, no thread, no clock in here.
//
// A request goes on a bidirectional stream of the client's and its answer on the same; a notice on
// a unidirectional one of its own, so that none waits for another one's lost packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include "base/result.hpp"
#include "base/udp_socket.hpp"
#include "quic/credentials.hpp"
#include "quic/ngtcp2_names.hpp"
#include "wire/frame.hpp"

namespace portcullis::quic {

inline constexpr std::string_view kAlpn = "portcullis/1";
/// Of the names that this side gives its connections.
inline constexpr std::size_t kIdBytes = 16;
/// The most that is sent in one datagram, and the least that every path carries (RFC 9000, 14).
inline constexpr std::size_t kDatagramBytes = 1200;

using StreamId = std::int64_t;
/// A connection's name in its packets (RFC 9000, 5.1): any bytes.
using Cid = std::string;

/// The reason that is given when this side closes (RFC 9000, 19.19).
enum class CloseCode : std::uint64_t {
  Done = 0,
  Refused = 1,     // who it is may not, or too many are there
  SlowReader = 2,  // it does not read what it is told
  TooMuch = 3,     // too many frames that are never made whole
};

struct Timeouts {
  std::uint64_t idle_ms = 10'000;      // without a packet, then the other side is gone
  std::uint64_t handshake_ms = 5'000;  // until both know each other
};

class Connection {
 public:
  /// What is told from within read() and expire(); none of them may destroy the connection.
  struct Events {
    std::function<void()> ready = {};  // the other side is verified
    std::function<void(StreamId, std::span<const std::byte>)> frame = {};
    std::function<void(const Cid&)> id_added = {};    // it may be asked for by this name, too
    std::function<void(const Cid&)> id_removed = {};  // no longer
  };

  /// What a server knows of a client whose address was validated by a Retry.
  struct Arrival {
    ngtcp2_pkt_hd header{};      // of the client's second Initial, with the token
    ngtcp2_cid original_dcid{};  // of its first one
    UdpAddress to;
    UdpAddress from;
    std::array<std::byte, 32> reset_secret{};
  };

  [[nodiscard]] static Result<std::unique_ptr<Connection>> accept(
      const Arrival& arrival, std::shared_ptr<const Credentials> credentials,
      const Timeouts& timeouts, Events events, std::uint64_t now_ns);
  /// `name` is what the server's certificate must be for: a DNS name or an address.
  [[nodiscard]] static Result<std::unique_ptr<Connection>> connect(
      const UdpAddress& local, const UdpAddress& server, const std::string& name,
      std::shared_ptr<const Credentials> credentials, const Timeouts& timeouts, Events events,
      std::uint64_t now_ns);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// A datagram that names this connection; whoever sent it.
  void read(const UdpSocket::Datagram& datagram, std::uint64_t now_ns);
  /// Sends what may go now.
  void write(UdpSocket& socket, std::uint64_t now_ns);
  /// To be called when the time of expires_ns() has come.
  void expire(std::uint64_t now_ns);
  [[nodiscard]] std::uint64_t expires_ns() const;

  /// A stream for requests; none while the server allows no more.
  [[nodiscard]] std::optional<StreamId> open_stream();
  /// A request on a stream of one's own, and nothing after it.
  void ask(StreamId stream, wire::FrameBytes frame);
  /// The answer to a frame that came on that stream. When each has its own and the other side has
  /// ended the stream, so does this one.
  void answer(StreamId stream, wire::FrameBytes frame);
  void send_notice(wire::FrameBytes frame);
  /// Wants no more of the stream, and sends no more on it.
  void give_up(StreamId stream);
  /// Says goodbye with the next write(), and is gone then.
  void close(CloseCode code, std::string why);

  [[nodiscard]] bool is_ready() const noexcept { return is_ready_ && !end_; }
  /// Nothing will be read or sent any more.
  [[nodiscard]] bool is_gone() const noexcept { return end_.has_value() && !says_goodbye_; }
  /// Ended, whichever side did it; one line.
  [[nodiscard]] const std::optional<std::string>& end() const noexcept { return end_; }
  /// The packet that said goodbye; empty where none did.
  [[nodiscard]] const std::vector<std::byte>& goodbye() const noexcept { return goodbye_packet_; }
  /// Bytes that the other side has not acknowledged.
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return unread_bytes_; }
  /// Of those, what is no notice.
  [[nodiscard]] std::size_t unread_answer_bytes() const noexcept { return answer_bytes_; }
  /// Something waits to be sent, for a stream's turn or the other side's leave.
  [[nodiscard]] bool has_unsent() const noexcept { return !pending_.empty(); }
  /// Of the verified other side, for who is told by Events::ready that it is.
  [[nodiscard]] Result<Peer> peer() const { return peer_of(session_.get()); }

 private:
  struct Stream {
    wire::FrameReader in;
    std::list<wire::FrameBytes> out;  // kept until it is acknowledged: ngtcp2 copies nothing
    std::uint64_t out_begin = 0;      // the offset of out's first byte
    std::uint64_t out_end = 0;        // behind its last one
    std::uint64_t sent = 0;           // up to here it was handed to ngtcp2
    bool is_last = false;             // a FIN follows what is in out
    bool has_sent_fin = false;
    bool is_blocked = false;  // by the other side's window
    bool is_pending = false;
    std::uint32_t unanswered = 0;  // frames that came
    bool has_peer_ended = false;
  };
  /// How many streams the other side may open again. It is told of a quarter of them at a time:
  /// each telling is a packet by itself, and is acknowledged by another.
  class Room {
   public:
    /// One more is over, of `most` at once; how many it is to be told of now.
    std::size_t more(std::size_t most) noexcept {
      return ++untold_ < most / 4 ? 0 : std::exchange(untold_, 0);
    }

   private:
    std::size_t untold_ = 0;
  };
  struct FreeSession {
    void operator()(gnutls_session_t session) const noexcept { gnutls_deinit(session); }
  };
  struct FreeConn {
    void operator()(ngtcp2_conn* conn) const noexcept { ngtcp2_conn_del(conn); }
  };
  struct Callbacks;

  Connection(std::shared_ptr<const Credentials> credentials, Events events)
      : credentials_(std::move(credentials)), events_(std::move(events)) {}
  [[nodiscard]] Result<void> start_session(unsigned flags, const char* purpose,
                                           const std::string& name);
  [[nodiscard]] Result<void> start_server(const Arrival& arrival, const Timeouts& timeouts,
                                          std::uint64_t now_ns);
  [[nodiscard]] Result<void> start_client(const UdpAddress& local, const UdpAddress& server,
                                          const Timeouts& timeouts, std::uint64_t now_ns);
  void take(StreamId id, std::span<const std::byte> bytes, bool is_last);
  void deliver(StreamId id, Stream& stream, std::span<const std::byte> frame);
  void send(StreamId id, wire::FrameBytes frame, bool is_last);
  void acknowledge(StreamId id, std::uint64_t upto);
  void forget(StreamId id);
  void queue(StreamId id, Stream& stream);
  void send_waiting_notices();
  void be_verified();
  void end_session() noexcept;
  [[nodiscard]] std::string objection_to_server() const;
  void drop_unsent(StreamId id, Stream& stream);
  /// Bytes of that stream's came to what is not acknowledged, or left it.
  void add_unread(StreamId id, std::size_t bytes) noexcept;
  void take_unread(StreamId id, std::size_t bytes) noexcept;
  void fail_with(int error);
  void end_by_peer();
  [[nodiscard]] std::string tls_failure() const;
  /// The next stream that has something to send and may.
  [[nodiscard]] std::map<StreamId, Stream>::iterator next_to_send();
  /// As much as one packet takes.
  [[nodiscard]] static std::vector<ngtcp2_vec> unsent(Stream& stream);
  /// One packet into `packet`; 0 when there is none.
  [[nodiscard]] std::size_t write_packet(ngtcp2_path_storage& path, std::span<std::uint8_t> packet,
                                         std::uint64_t now_ns);
  [[nodiscard]] std::size_t write_goodbye(ngtcp2_path_storage& path, std::span<std::uint8_t> packet,
                                          std::uint64_t now_ns);

  std::shared_ptr<const Credentials> credentials_;
  Events events_;
  std::string name_;                               // of the server, for a client
  std::array<gnutls_typed_vdata_st, 2> wanted_{};  // of the other side's certificate
  std::array<std::byte, 32> reset_secret_{};
  ngtcp2_crypto_conn_ref reference_{};
  std::unique_ptr<std::remove_pointer_t<gnutls_session_t>, FreeSession> session_;
  std::unique_ptr<ngtcp2_conn, FreeConn> conn_;

  std::map<StreamId, Stream> streams_;
  std::list<StreamId> pending_;          // of those, who may have something to send, in turns
  std::list<wire::FrameBytes> notices_;  // that no stream is free for
  Room room_;                            // for requests at a server, for notices at a client
  std::size_t unread_bytes_ = 0;
  std::size_t answer_bytes_ = 0;  // of those, on streams that have requests
  std::size_t half_bytes_ = 0;    // of frames that are not whole
  bool is_ready_ = false;
  std::optional<std::string> end_;
  bool says_goodbye_ = false;
  std::uint64_t burst_since_ns_ = 0;
  std::uint32_t unpaced_ = 0;  // packets of the burst since ngtcp2 was told when one went
  CloseError goodbye_{};
  std::string goodbye_text_;
  std::vector<std::byte> goodbye_packet_;
};

}  // namespace portcullis::quic
