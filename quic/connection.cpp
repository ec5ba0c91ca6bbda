// SPDX-License-Identifier: BSD-3-Clause
//
// Written from ngtcp2.h and ngtcp2_crypto.h of 0.12.1, and from what its own example server does.
#include "quic/connection.hpp"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "quic/lazy_pages.hpp"

namespace portcullis::quic {
namespace {

// The algorithms of TLS 1.3 that QUIC has (RFC 9001, 5.3), without compatibility with middleboxes
// of TCP, which QUIC forbids (RFC 9001, 8.4).
constexpr const char* kPriorities =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:"
    "-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%DISABLE_TLS13_COMPAT_MODE";

// What the other side may send before it is told that it was read.
constexpr std::uint64_t kStreamWindowBytes = 4 * wire::kMostFrameBytes;
constexpr std::uint64_t kWindowBytes = 32 * kStreamWindowBytes;
constexpr std::uint64_t kMostRequestStreams = 128;
constexpr std::size_t kMostHalfBytes = 16 * wire::kMostFrameBytes;
constexpr std::uint64_t kMostNoticeStreams = 1024;

const std::uint8_t* octets(std::span<const std::byte> bytes) noexcept {
  return static_cast<const std::uint8_t*>(static_cast<const void*>(bytes.data()));
}

/// Read once: every session would keep 8 KiB of its own. None when there is no memory.
gnutls_priority_t priorities() noexcept {
  static const gnutls_priority_t all = [] {
    gnutls_priority_t made = nullptr;
    return gnutls_priority_init(&made, kPriorities, nullptr) == 0 ? made : nullptr;
  }();
  return all;
}

ngtcp2_cid random_cid() noexcept {
  ngtcp2_cid cid{};
  cid.datalen = kIdBytes;
  (void)gnutls_rnd(GNUTLS_RND_RANDOM, cid.data, cid.datalen);
  return cid;
}

Cid cid_of(const ngtcp2_cid& cid) { return {cid.data, cid.data + cid.datalen}; }

/// ngtcp2 takes addresses through pointers that are not const, and changes nothing behind them.
ngtcp2_path path_between(const UdpAddress& local, const UdpAddress& remote) noexcept {
  return {.local = {.addr = const_cast<sockaddr*>(local.generic()), .addrlen = local.bytes()},
          .remote = {.addr = const_cast<sockaddr*>(remote.generic()), .addrlen = remote.bytes()},
          .user_data = nullptr};
}

void fill_random(std::uint8_t* to, std::size_t bytes, const ngtcp2_rand_ctx* /*context*/) {
  (void)gnutls_rnd(GNUTLS_RND_NONCE, to, bytes);
}

ngtcp2_settings settings_of(const Timeouts& timeouts, std::uint64_t now_ns) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = now_ns;
  settings.handshake_timeout = timeouts.handshake_ms * kNsPerMs;
  settings.max_tx_udp_payload_size = kDatagramBytes;
  settings.no_pmtud = 1;  // frames are small, and every path carries a datagram of that size
  return settings;
}

ngtcp2_transport_params parameters_of(const Timeouts& timeouts) {
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_data = kWindowBytes;
  parameters.max_idle_timeout = timeouts.idle_ms * kNsPerMs;
  parameters.active_connection_id_limit = 4;
  return parameters;
}

}  // namespace

/// ngtcp2 calls C functions with the connection as their context.
struct Connection::Callbacks {
  static Connection& of(void* user) noexcept { return *static_cast<Connection*>(user); }

  // NOLINTNEXTLINE(readability-function-size): its form is ngtcp2_recv_stream_data's
  static int stream_data(ngtcp2_conn* conn, std::uint32_t flags, std::int64_t id,
                         std::uint64_t /*offset*/, const std::uint8_t* data, std::size_t bytes,
                         void* user, void* /*stream*/) {
    const auto* from = static_cast<const std::byte*>(static_cast<const void*>(data));
    ngtcp2_conn_extend_max_offset(conn, bytes);
    (void)ngtcp2_conn_extend_max_stream_offset(conn, id, bytes);
    const bool is_last = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
    of(user).take(id, {from, bytes}, is_last);
    if (is_last) end_notice(conn, id, user);
    return 0;
  }
  /// ngtcp2 0.12 closes no unidirectional stream of the other side's: conn_recv_stream() takes its
  /// sending half for shut, and ngtcp2_conn_close_stream_if_shut_rdwr() waits for a FIN of that
  /// half to be acknowledged. So its end is what makes room for another; a newer one closes it
  /// besides.
  static void end_notice(ngtcp2_conn* conn, std::int64_t id, void* user) {
    if (ngtcp2_is_bidi_stream(id) != 0 || ngtcp2_conn_is_local_stream(conn, id) != 0) return;
    if (!of(user).streams_.contains(id)) return;
    of(user).forget(id);
    if (const std::size_t more = of(user).room_.more(kMostNoticeStreams); more != 0)
      ngtcp2_conn_extend_max_streams_uni(conn, more);
  }
  static int acknowledged(ngtcp2_conn* /*conn*/, std::int64_t id, std::uint64_t offset,
                          std::uint64_t bytes, void* user, void* /*stream*/) {
    of(user).acknowledge(id, offset + bytes);
    return 0;
  }
  static int stream_closed(ngtcp2_conn* conn, std::uint32_t /*flags*/, std::int64_t id,
                           std::uint64_t /*code*/, void* user, void* /*stream*/) {
    end_notice(conn, id, user);
    of(user).forget(id);
    if (ngtcp2_conn_is_local_stream(conn, id) != 0 || ngtcp2_is_bidi_stream(id) == 0) return 0;
    if (const std::size_t more = of(user).room_.more(kMostRequestStreams); more != 0)
      ngtcp2_conn_extend_max_streams_bidi(conn, more);
    return 0;
  }
  /// A request that is taken back has been made: what is to be answered stays, but on no stream.
  static int stream_reset(ngtcp2_conn* conn, std::int64_t id, std::uint64_t /*size*/,
                          std::uint64_t /*code*/, void* /*user*/, void* /*stream*/) {
    (void)shut_stream(conn, id);
    return 0;
  }
  static int window_opened(ngtcp2_conn* /*conn*/, std::int64_t id, std::uint64_t /*most*/,
                           void* user, void* /*stream*/) {
    const auto at = of(user).streams_.find(id);
    if (at == of(user).streams_.end()) return 0;
    at->second.is_blocked = false;
    of(user).queue(id, at->second);
    return 0;
  }
  static int streams_allowed(ngtcp2_conn* /*conn*/, std::uint64_t /*most*/, void* user) {
    of(user).send_waiting_notices();
    return 0;
  }
  /// A client has nothing to say by TLS once its handshake is done: QUIC has no KeyUpdate (RFC
  /// 9001, 6) and no authentication after a handshake (4.4), and this server's session is gone.
  template <class Level>
  static int heard_tls(ngtcp2_conn* conn, Level level, std::uint64_t offset,
                       const std::uint8_t* data, std::size_t bytes, void* user) {
    if (of(user).session_ != nullptr)
      return ngtcp2_crypto_recv_crypto_data_cb(conn, level, offset, data, bytes, user);
    ngtcp2_conn_set_tls_alert(conn, GNUTLS_A_UNEXPECTED_MESSAGE);
    return NGTCP2_ERR_CRYPTO;
  }
  static int verified(ngtcp2_conn* /*conn*/, void* user) {
    of(user).be_verified();
    return 0;
  }
  static int new_id(ngtcp2_conn* /*conn*/, ngtcp2_cid* cid, std::uint8_t* token, std::size_t bytes,
                    void* user) {
    *cid = random_cid();
    cid->datalen = bytes;
    const auto& secret = of(user).reset_secret_;
    if (ngtcp2_crypto_generate_stateless_reset_token(token, octets(secret), secret.size(), cid) !=
        0)
      return NGTCP2_ERR_CALLBACK_FAILURE;
    if (of(user).events_.id_added) of(user).events_.id_added(cid_of(*cid));
    return 0;
  }
  static int old_id(ngtcp2_conn* /*conn*/, const ngtcp2_cid* cid, void* user) {
    if (of(user).events_.id_removed) of(user).events_.id_removed(cid_of(*cid));
    return 0;
  }
  static ngtcp2_conn* conn_of(ngtcp2_crypto_conn_ref* reference) {
    return of(reference->user_data).conn_.get();
  }
  /// Who sends no transport parameters has no QUIC (RFC 9001, 8.2). ngtcp2 0.12 hears of that
  /// extension where it is there, and without it ends the process with the first packet of 1-RTT
  /// (conn_write_pkt(), negotiated_version): no certificate has been asked for by then.
  static int want_parameters(gnutls_session_t session, unsigned /*type*/, unsigned /*when*/,
                             unsigned is_incoming, const gnutls_datum_t* /*message*/) {
    auto* reference = static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session));
    if (is_incoming == 0 || ngtcp2_conn_get_remote_transport_params(conn_of(reference)) != nullptr)
      return 0;
    return GNUTLS_E_MISSING_EXTENSION;
  }

  static ngtcp2_callbacks both() {
    ngtcp2_callbacks calls{};
    calls.recv_crypto_data = [](auto... what) { return heard_tls(what...); };
    calls.handshake_completed = verified;
    calls.encrypt = ngtcp2_crypto_encrypt_cb;
    calls.decrypt = ngtcp2_crypto_decrypt_cb;
    calls.hp_mask = ngtcp2_crypto_hp_mask_cb;
    calls.recv_stream_data = stream_data;
    calls.acked_stream_data_offset = acknowledged;
    calls.stream_close = stream_closed;
    calls.stream_reset = stream_reset;
    calls.extend_max_stream_data = window_opened;
    calls.rand = fill_random;
    calls.get_new_connection_id = new_id;
    calls.remove_connection_id = old_id;
    calls.update_key = ngtcp2_crypto_update_key_cb;
    calls.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
    calls.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
    calls.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
    calls.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
    return calls;
  }
};

Result<std::unique_ptr<Connection>> Connection::accept(
    const Arrival& arrival, std::shared_ptr<const Credentials> credentials,
    const Timeouts& timeouts, Events events, std::uint64_t now_ns) {
  std::unique_ptr<Connection> made(new Connection(std::move(credentials), std::move(events)));
  PORTCULLIS_TRY(
      made->start_session(GNUTLS_SERVER | GNUTLS_NO_TICKETS, GNUTLS_KP_TLS_WWW_CLIENT, {}));
  PORTCULLIS_TRY(made->start_server(arrival, timeouts, now_ns));
  return made;
}

Result<std::unique_ptr<Connection>> Connection::connect(
    const UdpAddress& local, const UdpAddress& server, const std::string& name,
    std::shared_ptr<const Credentials> credentials, const Timeouts& timeouts, Events events,
    std::uint64_t now_ns) {
  std::unique_ptr<Connection> made(new Connection(std::move(credentials), std::move(events)));
  PORTCULLIS_TRY(
      made->start_session(GNUTLS_CLIENT | GNUTLS_NO_TICKETS, GNUTLS_KP_TLS_WWW_SERVER, name));
  PORTCULLIS_TRY(made->start_client(local, server, timeouts, now_ns));
  return made;
}

Connection::~Connection() = default;

Result<void> Connection::start_session(unsigned flags, const char* purpose,
                                       const std::string& name) {
  gnutls_session_t session = nullptr;
  if (gnutls_init(&session, flags) != 0) return fail(Errc::OutOfResources, "no memory is left");
  session_.reset(session);
  name_ = address_text(name).value_or(name);
  reference_ = {.get_conn = Callbacks::conn_of, .user_data = this};
  gnutls_session_set_ptr(session, &reference_);
  std::string alpn(kAlpn);
  const gnutls_datum_t protocol{
      .data = static_cast<unsigned char*>(static_cast<void*>(alpn.data())),
      .size = static_cast<unsigned>(alpn.size())};
  wanted_[0].type = GNUTLS_DT_KEY_PURPOSE_OID;
  wanted_[0].data = static_cast<unsigned char*>(static_cast<void*>(const_cast<char*>(purpose)));
  wanted_[1].type = GNUTLS_DT_DNS_HOSTNAME;  // an address is looked for among those
  wanted_[1].data = static_cast<unsigned char*>(static_cast<void*>(name_.data()));
  const bool is_server = (flags & GNUTLS_SERVER) != 0;
  if (priorities() == nullptr) return fail(Errc::OutOfResources, "no memory is left");
  int error = gnutls_priority_set(session, priorities());
  if (error == 0)
    error = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_->native());
  if (error == 0) error = gnutls_alpn_set_protocols(session, &protocol, 1, GNUTLS_ALPN_MANDATORY);
  if (error == 0 && !is_server && !address_text(name_))
    error = gnutls_server_name_set(session, GNUTLS_NAME_DNS, name_.data(), name_.size());
  const int configured = is_server ? ngtcp2_crypto_gnutls_configure_server_session(session)
                                   : ngtcp2_crypto_gnutls_configure_client_session(session);
  if (error != 0 || configured != 0)
    return fail(Errc::System, std::string("TLS: ") + gnutls_strerror(error));
  // A client's extensions are read with its hello; a server's by when it is done.
  gnutls_handshake_set_hook_function(
      session, is_server ? GNUTLS_HANDSHAKE_CLIENT_HELLO : GNUTLS_HANDSHAKE_FINISHED,
      GNUTLS_HOOK_POST, Callbacks::want_parameters);
  if (is_server) gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
  gnutls_session_set_verify_cert2(session, wanted_.data(), is_server ? 1 : 2, 0);
  return {};
}

Result<void> Connection::start_server(const Arrival& arrival, const Timeouts& timeouts,
                                      std::uint64_t now_ns) {
  reset_secret_ = arrival.reset_secret;
  auto calls = Callbacks::both();
  calls.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  calls.extend_max_local_streams_uni = Callbacks::streams_allowed;
  auto settings = settings_of(timeouts, now_ns);
  take_retry_token(settings, arrival.header);
  auto parameters = parameters_of(timeouts);
  parameters.initial_max_streams_bidi = kMostRequestStreams;
  parameters.initial_max_stream_data_bidi_remote = kStreamWindowBytes;
  set_original_id(parameters, arrival.original_dcid);
  parameters.retry_scid = arrival.header.dcid;
  parameters.retry_scid_present = 1;
  const ngtcp2_cid own = random_cid();
  parameters.stateless_reset_token_present = 1;
  if (ngtcp2_crypto_generate_stateless_reset_token(
          parameters.stateless_reset_token, octets(reset_secret_), reset_secret_.size(), &own) != 0)
    return fail(Errc::System, "a token for a stateless reset cannot be made");
  const auto path = path_between(arrival.to, arrival.from);
  ngtcp2_conn* conn = nullptr;
  const int error =
      ngtcp2_conn_server_new(&conn, &arrival.header.scid, &own, &path, arrival.header.version,
                             &calls, &settings, &parameters, connection_memory(), this);
  if (error != 0) return fail(Errc::System, std::string("QUIC: ") + ngtcp2_strerror(error));
  conn_.reset(conn);
  ngtcp2_conn_set_tls_native_handle(conn, session_.get());
  if (events_.id_added) {
    events_.id_added(cid_of(own));
    events_.id_added(cid_of(arrival.header.dcid));  // until the client has learnt our own
  }
  return {};
}

Result<void> Connection::start_client(const UdpAddress& local, const UdpAddress& server,
                                      const Timeouts& timeouts, std::uint64_t now_ns) {
  (void)gnutls_rnd(GNUTLS_RND_RANDOM, reset_secret_.data(), reset_secret_.size());
  auto calls = Callbacks::both();
  calls.client_initial = ngtcp2_crypto_client_initial_cb;
  calls.recv_retry = ngtcp2_crypto_recv_retry_cb;
  const auto settings = settings_of(timeouts, now_ns);
  auto parameters = parameters_of(timeouts);
  parameters.initial_max_streams_uni = kMostNoticeStreams;
  parameters.initial_max_stream_data_uni = kStreamWindowBytes;
  parameters.initial_max_stream_data_bidi_local = kStreamWindowBytes;
  const ngtcp2_cid own = random_cid();
  const ngtcp2_cid other = random_cid();
  const auto path = path_between(local, server);
  ngtcp2_conn* conn = nullptr;
  const int error = ngtcp2_conn_client_new(&conn, &other, &own, &path, NGTCP2_PROTO_VER_V1, &calls,
                                           &settings, &parameters, connection_memory(), this);
  if (error != 0) return fail(Errc::System, std::string("QUIC: ") + ngtcp2_strerror(error));
  conn_.reset(conn);
  ngtcp2_conn_set_tls_native_handle(conn, session_.get());
  return {};
}

/// The server is to know that this side lives, and this side that the server does: whichever of the
/// two waits less (RFC 9000, 10.1).
void Connection::be_verified() {
  // GnuTLS asks for the protocol of who offers any, and lets pass who offers none.
  gnutls_datum_t protocol{};
  if (gnutls_alpn_get_selected_protocol(session_.get(), &protocol) != 0) {
    end_ = "the other side offers no protocol of the application";
    says_goodbye_ = true;
    clear(goodbye_);
    set_tls_alert(goodbye_, GNUTLS_A_NO_APPLICATION_PROTOCOL);
    return;
  }
  if (ngtcp2_conn_is_server(conn_.get()) == 0) {
    if (const auto why = objection_to_server(); !why.empty()) return close(CloseCode::Refused, why);
    ngtcp2_duration idle_ns = ngtcp2_conn_get_local_transport_params(conn_.get())->max_idle_timeout;
    const auto* other = ngtcp2_conn_get_remote_transport_params(conn_.get());
    if (other != nullptr && other->max_idle_timeout != 0)
      idle_ns = std::min(idle_ns, other->max_idle_timeout);
    ngtcp2_conn_set_keep_alive_timeout(conn_.get(), idle_ns / 3);
  }
  is_ready_ = true;
  if (events_.ready) events_.ready();
}

/// GnuTLS takes a certificate without purposes for one of every purpose, and looks at the common
/// name where there is no name of the kind that is asked for.
std::string Connection::objection_to_server() const {
  const auto peer = peer_of(session_.get());
  if (!peer) return peer.error().text;
  if (!peer->is_for(GNUTLS_KP_TLS_WWW_SERVER)) return "the server's certificate is not a server's";
  const auto has = [&](auto&& is_it) {
    return std::any_of(peer->names.begin(), peer->names.end(), is_it);
  };
  // An address stands there as such. That a host's name is the right one GnuTLS has seen.
  const bool is_named =
      address_text(name_)
          ? has([&](const std::string& each) { return each == "IP:" + name_; })
          : has([](const std::string& each) { return each.substr(0, 4) == "DNS:"; });
  return is_named ? "" : "the server's certificate is not for " + name_;
}

void Connection::read(const UdpSocket::Datagram& datagram, std::uint64_t now_ns) {
  if (end_ || datagram.bytes.empty()) return;
  const auto path = path_between(datagram.to, datagram.from);
  const ngtcp2_pkt_info info{};
  const int error = ngtcp2_conn_read_pkt(conn_.get(), &path, &info, octets(datagram.bytes),
                                         datagram.bytes.size(), now_ns);
  if (error == NGTCP2_ERR_DRAINING)
    end_by_peer();
  else if (error != 0)
    fail_with(error);
  else if (is_ready_ && ngtcp2_conn_is_server(conn_.get()) != 0)
    end_session();
}

/// A server's is of no use once its handshake is done: what it keeps is some 10 KB.
void Connection::end_session() noexcept {
  ngtcp2_conn_set_tls_native_handle(conn_.get(), nullptr);
  session_.reset();
}

void Connection::expire(std::uint64_t now_ns) {
  if (end_) return;
  const int error = ngtcp2_conn_handle_expiry(conn_.get(), now_ns);
  if (error != 0) fail_with(error);
}

std::uint64_t Connection::expires_ns() const {
  if (end_) return says_goodbye_ ? 0 : UINT64_MAX;
  return ngtcp2_conn_get_expiry(conn_.get());
}

/// What went wrong on this side; the other one is told where it can be.
void Connection::fail_with(int error) {
  if (end_) return;
  says_goodbye_ = false;
  clear(goodbye_);
  switch (error) {
    case NGTCP2_ERR_IDLE_CLOSE:
      end_ = "the other side has been silent for too long";
      return;
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
      end_ = "no handshake in time";
      return;
    case NGTCP2_ERR_DROP_CONN:
    case NGTCP2_ERR_RETRY:
      end_ = "it was no beginning of a connection";
      return;
    case NGTCP2_ERR_CRYPTO:
      end_ = tls_failure();
      set_tls_alert(goodbye_, ngtcp2_conn_get_tls_alert(conn_.get()));
      break;
    default:
      end_ = std::string("QUIC: ") + ngtcp2_strerror(error);
      set_library_error(goodbye_, error);
      break;
  }
  says_goodbye_ = true;
}

std::string Connection::tls_failure() const {
  const unsigned status =
      session_ == nullptr ? 0 : gnutls_session_get_verify_cert_status(session_.get());
  // All ones: nothing was verified (gnutls_session_get_verify_cert_status).
  if (status != 0 && status != ~0U)
    return "the other side's certificate: " + verification_text(status);
  const auto alert =
      static_cast<gnutls_alert_description_t>(ngtcp2_conn_get_tls_alert(conn_.get()));
  const char* name = gnutls_alert_get_name(alert);
  return std::string("TLS: ") + (name == nullptr ? "it failed" : name);
}

/// The other side has closed, or has forgotten this connection.
void Connection::end_by_peer() {
  const CloseError said = said_by_peer(conn_.get());
  const std::string_view reason(static_cast<const char*>(static_cast<const void*>(said.reason)),
                                said.reason == nullptr ? 0 : said.reasonlen);
  std::string printable;
  for (const char each : reason.substr(0, 120))
    printable += each >= ' ' && each <= '~' ? each : '?';
  const bool is_tls = is_of_transport(said) && (said.error_code & ~0xffULL) == NGTCP2_CRYPTO_ERROR;
  if (is_tls) {
    const char* name =
        gnutls_alert_get_name(static_cast<gnutls_alert_description_t>(said.error_code & 0xff));
    end_ = std::string("the other side refused: ") +
           (name == nullptr ? "TLS alert " + std::to_string(said.error_code & 0xff) : name);
  } else {
    end_ = "the other side has hung up" + (printable.empty() ? "" : ": " + printable);
  }
}

void Connection::close(CloseCode code, std::string why) {
  if (end_) return;
  goodbye_text_ = why;
  end_ = std::move(why);
  says_goodbye_ = true;
  clear(goodbye_);
  set_application_error(
      goodbye_, static_cast<std::uint64_t>(code),
      {static_cast<const std::uint8_t*>(static_cast<const void*>(goodbye_text_.data())),
       std::min<std::size_t>(goodbye_text_.size(), 120)});
}

// ---- Streams ---------------------------------------------------------------------------------

void Connection::deliver(StreamId id, Stream& stream, std::span<const std::byte> frame) {
  if (end_ || !events_.frame) return;
  ++stream.unanswered;
  events_.frame(id, frame);
}

void Connection::take(StreamId id, std::span<const std::byte> bytes, bool is_last) {
  Stream& stream = streams_[id];
  half_bytes_ -= stream.in.rest().size();
  stream.in.push(bytes);
  while (const auto frame = stream.in.next()) deliver(id, stream, *frame);
  const auto rest = stream.in.rest();
  half_bytes_ += rest.size();
  if (half_bytes_ > kMostHalfBytes) return close(CloseCode::TooMuch, "too many half frames");
  if (!is_last) return;
  stream.has_peer_ended = true;
  if (!rest.empty()) deliver(id, stream, rest);  // whoever reads it refuses it
  if (stream.unanswered == 0 && ngtcp2_is_bidi_stream(id) != 0 &&
      ngtcp2_conn_is_local_stream(conn_.get(), id) == 0)
    send(id, {}, true);
}

void Connection::add_unread(StreamId id, std::size_t bytes) noexcept {
  unread_bytes_ += bytes;
  if (ngtcp2_is_bidi_stream(id) != 0) answer_bytes_ += bytes;
}

void Connection::take_unread(StreamId id, std::size_t bytes) noexcept {
  unread_bytes_ -= bytes;
  if (ngtcp2_is_bidi_stream(id) != 0) answer_bytes_ -= bytes;
}

void Connection::acknowledge(StreamId id, std::uint64_t upto) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return;
  Stream& stream = at->second;
  while (!stream.out.empty() && stream.out_begin + stream.out.front().size() <= upto) {
    stream.out_begin += stream.out.front().size();
    take_unread(id, stream.out.front().size());
    stream.out.pop_front();
  }
}

void Connection::forget(StreamId id) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return;
  for (const auto& frame : at->second.out) take_unread(id, frame.size());
  half_bytes_ -= at->second.in.rest().size();
  streams_.erase(at);
}

std::optional<StreamId> Connection::open_stream() {
  StreamId id = -1;
  if (end_ || ngtcp2_conn_open_bidi_stream(conn_.get(), &id, nullptr) != 0) return std::nullopt;
  streams_[id];
  return id;
}

void Connection::ask(StreamId id, wire::FrameBytes frame) { send(id, std::move(frame), true); }

void Connection::answer(StreamId id, wire::FrameBytes frame) {
  const auto at = streams_.find(id);
  if (at == streams_.end()) return;  // it was taken back
  if (at->second.unanswered > 0) --at->second.unanswered;
  send(id, std::move(frame), at->second.has_peer_ended && at->second.unanswered == 0);
}

void Connection::send(StreamId id, wire::FrameBytes frame, bool is_last) {
  const auto at = streams_.find(id);
  if (end_ || at == streams_.end() || at->second.is_last) return;
  add_unread(id, frame.size());
  at->second.out_end += frame.size();
  if (!frame.empty()) at->second.out.push_back(std::move(frame));
  at->second.is_last = is_last;
  queue(id, at->second);
}

void Connection::give_up(StreamId id) {
  if (!end_) (void)shut_stream(conn_.get(), id);
}

void Connection::queue(StreamId id, Stream& stream) {
  if (std::exchange(stream.is_pending, true)) return;
  pending_.push_back(id);
}

void Connection::send_notice(wire::FrameBytes frame) {
  if (end_) return;
  unread_bytes_ += frame.size();
  notices_.push_back(std::move(frame));
  send_waiting_notices();
}

void Connection::send_waiting_notices() {
  while (!notices_.empty()) {
    StreamId id = -1;
    if (ngtcp2_conn_open_uni_stream(conn_.get(), &id, nullptr) != 0) return;
    unread_bytes_ -= notices_.front().size();  // send() counts it
    streams_[id];
    send(id, std::move(notices_.front()), true);
    notices_.pop_front();
  }
}

// ---- Packets ---------------------------------------------------------------------------------

std::vector<ngtcp2_vec> Connection::unsent(Stream& stream) {
  std::vector<ngtcp2_vec> parts;
  std::uint64_t begin = stream.out_begin;
  std::size_t bytes = 0;
  for (auto& frame : stream.out) {
    const std::uint64_t skipped = stream.sent > begin ? stream.sent - begin : 0;
    begin += frame.size();
    if (skipped >= frame.size()) continue;
    auto* from = static_cast<std::uint8_t*>(static_cast<void*>(frame.data()));
    parts.push_back({.base = from + skipped, .len = frame.size() - skipped});
    bytes += parts.back().len;
    if (bytes >= kDatagramBytes) break;
  }
  return parts;
}

/// The other side does not want the rest. What ngtcp2 was given it may still look at.
void Connection::drop_unsent(StreamId id, Stream& stream) {
  while (!stream.out.empty() && stream.out_end - stream.out.back().size() >= stream.sent) {
    stream.out_end -= stream.out.back().size();
    take_unread(id, stream.out.back().size());
    stream.out.pop_back();
  }
  stream.is_last = true;
  stream.has_sent_fin = true;
  stream.sent = stream.out_end;
}

std::map<StreamId, Connection::Stream>::iterator Connection::next_to_send() {
  while (!pending_.empty()) {
    const auto at = streams_.find(pending_.front());
    if (at != streams_.end()) {
      Stream& stream = at->second;
      const bool has_more =
          stream.sent < stream.out_end || (stream.is_last && !stream.has_sent_fin);
      if (has_more && !stream.is_blocked) return at;
      stream.is_pending = false;
    }
    pending_.pop_front();
  }
  return streams_.end();
}

std::size_t Connection::write_packet(ngtcp2_path_storage& path, std::span<std::uint8_t> packet,
                                     std::uint64_t now_ns) {
  for (;;) {
    const auto at = next_to_send();
    const bool has_stream = at != streams_.end();
    std::vector<ngtcp2_vec> parts;
    std::uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    if (has_stream) {
      parts = unsent(at->second);
      flags |= NGTCP2_WRITE_STREAM_FLAG_MORE;
    }
    std::uint64_t offered = 0;
    for (const auto& part : parts) offered += part.len;
    const bool ends =
        has_stream && at->second.is_last && at->second.sent + offered == at->second.out_end;
    if (ends) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
    ngtcp2_ssize taken = -1;
    const ngtcp2_ssize written = ngtcp2_conn_writev_stream(
        conn_.get(), &path.path, nullptr, packet.data(), packet.size(), &taken, flags,
        has_stream ? at->first : -1, parts.data(), parts.size(), now_ns);
    if (has_stream && taken >= 0) {
      const auto bytes = static_cast<std::uint64_t>(taken);
      at->second.sent += bytes;
      at->second.has_sent_fin = ends && bytes == offered;
      // The others have their turn: a long list keeps no revoke waiting.
      pending_.splice(pending_.end(), pending_, pending_.begin());
    }
    if (written >= 0) return static_cast<std::size_t>(written);
    if (written == NGTCP2_ERR_WRITE_MORE) continue;
    if (written == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      at->second.is_blocked = true;
    } else if (written == NGTCP2_ERR_STREAM_SHUT_WR) {
      drop_unsent(at->first, at->second);
    } else if (written == NGTCP2_ERR_STREAM_NOT_FOUND) {
      forget(at->first);
    } else {
      fail_with(static_cast<int>(written));
      return 0;
    }
  }
}

std::size_t Connection::write_goodbye(ngtcp2_path_storage& path, std::span<std::uint8_t> packet,
                                      std::uint64_t now_ns) {
  says_goodbye_ = false;
  const ngtcp2_ssize written = ngtcp2_conn_write_connection_close(
      conn_.get(), &path.path, nullptr, packet.data(), packet.size(), &goodbye_, now_ns);
  if (written <= 0) return 0;
  const auto bytes = std::as_bytes(packet.first(static_cast<std::size_t>(written)));
  goodbye_packet_.assign(bytes.begin(), bytes.end());
  return bytes.size();
}

void Connection::write(UdpSocket& socket, std::uint64_t now_ns) {
  constexpr int kMostPackets = 32;  // before others have their turn
  // RFC 9002, 7.7: an initial window may go at once. A packet now and then is not paced: each would
  // have the timer set, and go off soon, for nothing; and ngtcp2 holds back for 1 ms at least
  // (NGTCP2_PKT_PACING_OVERHEAD of ngtcp2_conn.c), so what went before that is no burst. The header
  // wants ngtcp2 told after each write; of 0.12.1 that sets the time of the next packet and nothing
  // else, and the bytes that it was not told of are in the next one's
  // (ngtcp2_conn_update_pkt_tx_time of the same file).
  constexpr std::uint32_t kMostUnpaced = 10;
  constexpr std::uint64_t kBurstNs = kNsPerMs;
  if (now_ns - burst_since_ns_ >= kBurstNs) {
    burst_since_ns_ = now_ns;
    unpaced_ = 0;
  }
  std::array<std::uint8_t, kDatagramBytes> packet{};
  for (int i = 0; i < kMostPackets && !is_gone(); ++i) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    std::size_t bytes = end_ ? 0 : write_packet(path, packet, now_ns);
    if (bytes == 0 && says_goodbye_) bytes = write_goodbye(path, packet, now_ns);
    if (bytes == 0) break;
    socket.send(UdpAddress(path.path.local.addr, path.path.local.addrlen),
                UdpAddress(path.path.remote.addr, path.path.remote.addrlen),
                std::as_bytes(std::span(packet).first(bytes)));
    if (end_ || ++unpaced_ <= kMostUnpaced) continue;
    ngtcp2_conn_update_pkt_tx_time(conn_.get(), now_ns);
    unpaced_ = 0;
  }
}

}  // namespace portcullis::quic
