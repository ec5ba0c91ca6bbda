// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/quic_port.hpp"

#include <gnutls/crypto.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <iterator>

namespace portcullis::service::daemon {
namespace {

constexpr int kDatagramsAtOnce = 64;
constexpr std::uint64_t kTokenNs = 10 * kNsPerSecond;  // a Retry is answered at once, or not
constexpr std::uint64_t kLookNs = kNsPerSecond;
constexpr std::uint64_t kGoodbyeNs = kNsPerSecond;
constexpr std::uint64_t kBelieveNs = 60 * kNsPerSecond;  // a certificate is looked at so often
constexpr std::size_t kMostGraves = 4096;
constexpr std::uint32_t kMostGoodbyes = 8;  // of one connection
constexpr std::size_t kMostUnheardBytes = Port::kMostAnswerBytes;
constexpr std::uint32_t kMostResets = 100;  // a second: it is a packet for a packet
// A stateless reset looks like a packet with a payload of some length, of 21 bytes at least (RFC
// 9000, 10.3).
constexpr std::size_t kLeastResetBytes = 5 + NGTCP2_STATELESS_RESET_TOKENLEN;
constexpr std::size_t kMostResetBytes = 43;

const std::uint8_t* octets(std::span<const std::byte> bytes) noexcept {
  return static_cast<const std::uint8_t*>(static_cast<const void*>(bytes.data()));
}

quic::Cid cid_of(const std::uint8_t* bytes, std::size_t count) { return {bytes, bytes + count}; }

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size()) == 0 ? name.data() : "";
}

/// Who has many addresses of IPv6 has them in one network of 64 bits, as a rule.
std::string host_of(const UdpAddress& address) {
  if (address.family() != AF_INET6) return address.host();
  sockaddr_in6 own{};
  std::memcpy(&own, address.generic(), sizeof own);
  std::fill(std::begin(own.sin6_addr.s6_addr) + 8, std::end(own.sin6_addr.s6_addr),
            std::uint8_t{0});
  const auto* network = static_cast<const sockaddr*>(static_cast<const void*>(&own));
  return UdpAddress(network, sizeof own).host() + "/64";
}

/// What a frame is answered under: zeros where it has no header.
std::pair<std::uint64_t, std::uint16_t> question_of(std::span<const std::byte> frame) {
  if (frame.size() < wire::kBytes<wire::Header>) return {};
  const auto header = wire::decode<wire::Header>(frame.first<wire::kBytes<wire::Header>>());
  return {header->request_id, header->op};
}

/// And what an answer of the server's own answers.
std::pair<std::uint64_t, std::uint16_t> answered_by(const wire::FrameBytes& frame) {
  const auto read = *wire::read_frame(frame);
  std::uint16_t op = read.header.op & ~wire::kAnswerBit;
  if (read.header.op == wire::kRefused) op = wire::read_body<wire::Refusal>(read)->op;
  return {read.header.request_id, op};
}

}  // namespace

Result<std::unique_ptr<QuicPort>> QuicPort::listen(const Options& options, Listener listener) {
  std::unique_ptr<QuicPort> port(new QuicPort(options, std::move(listener)));
  PORTCULLIS_TRY(port->start());
  return port;
}

QuicPort::~QuicPort() {
  hang_up_on_all();
  for (auto& [id, client] : clients_) client.connection->write(socket_, now_ns());
}

Result<void> QuicPort::start() {
  next_ = options_.first;
  PORTCULLIS_TRY_ASSIGN(credentials_, quic::Credentials::load(options_.files));
  if (gnutls_rnd(GNUTLS_RND_KEY, retry_secret_.data(), retry_secret_.size()) != 0)
    return fail(Errc::System, "the system has no random numbers");
  PORTCULLIS_TRY_ASSIGN(socket_, UdpSocket::bind(options_.address));
  // The same after a restart, and another's on every other address: whoever could have a second
  // server with the same key make the token of a first one's connection could end that.
  PORTCULLIS_TRY_ASSIGN(reset_secret_,
                        credentials_->secret("portcullis stateless reset " + host_name() + " " +
                                             socket_.local().text()));
  epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  for (const int fd : {socket_.fd(), timer_.get()})
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return fail(Errc::System, std::string("epoll_ctl: ") + std::strerror(errno));
  return {};
}

void QuicPort::serve() {
  if (armed_ns_ <= Clock::wall().now_ns()) {
    std::uint64_t count = 0;
    (void)!::read(timer_.get(), &count, sizeof count);
  }
  read_datagrams();
  run_timers();
  verify_some();
  if (now_ns() - looked_ns_ >= kLookNs) look_at_all();
  settle_all();
}

void QuicPort::settle_all() {
  // Settling one may end it, and its end may touch others: a notice to who watches.
  while (!touched_.empty()) {
    const ConnectionId next = touched_.front();
    touched_.pop_front();
    settle(next);
  }
  arm();
}

void QuicPort::read_datagrams() {
  std::array<std::byte, 2048> buffer;  // longer ones than we allow are cut, and then are no packets
  for (int i = 0; i < kDatagramsAtOnce; ++i) {
    const auto datagram = socket_.receive(buffer);
    if (!datagram || !*datagram) return;
    take(**datagram);
  }
}

void QuicPort::take(const UdpSocket::Datagram& datagram) {
  if (datagram.bytes.empty()) return;  // ngtcp2 0.12 ends the process of who asks it of none
  ngtcp2_version_cid named{};
  const int error = ngtcp2_pkt_decode_version_cid(&named, octets(datagram.bytes),
                                                  datagram.bytes.size(), quic::kIdBytes);
  if (error == NGTCP2_ERR_VERSION_NEGOTIATION) return say_version(named, datagram);
  if (error != 0) return;
  const quic::Cid cid = cid_of(named.dcid, named.dcidlen);
  if (const auto dead = grave_of_.find(cid); dead != grave_of_.end()) {
    Grave& grave = *dead->second;
    if (grave.goodbye.empty() || ++grave.told_again > kMostGoodbyes) return;
    return socket_.send(datagram.to, datagram.from, grave.goodbye);
  }
  const auto known = by_cid_.find(cid);
  if (known == by_cid_.end())  // the form bit says which it is (RFC 8999, 5)
    return take_unknown(datagram, (datagram.bytes[0] & std::byte{0x80}) != std::byte{0});
  const ConnectionId id = known->second;
  touch(id);
  (void)clients_.at(id).connection->read(datagram, now_ns());
}

void QuicPort::take_unknown(const UdpSocket::Datagram& datagram, bool is_long) {
  if (!is_long) return say_reset(datagram);
  // A client's first datagram is of that size, so that no answer is longer (RFC 9000, 14.1); one of
  // 0-RTT, for which ngtcp2 would have a Retry sent whatever its size, is none of ours.
  if (datagram.bytes.size() < quic::kDatagramBytes) return;
  ngtcp2_pkt_hd header{};
  const int error = ngtcp2_accept(&header, octets(datagram.bytes), datagram.bytes.size());
  if (error != 0 || header.type != NGTCP2_PKT_INITIAL) return;
  if (!is_listening_) return say_refused(header, datagram, NGTCP2_CONNECTION_REFUSED);
  ngtcp2_cid original{};
  if (!is_new(header, datagram, original)) return;
  const std::string host = host_of(datagram.from);
  if (const auto why = overload(host); !why.empty()) {
    complaints_.add("turned away: " + why);
    return say_refused(header, datagram, NGTCP2_CONNECTION_REFUSED);
  }
  const auto place = strangers_.place_for(host, now_ns());
  if (!place.is_there || !strangers_.may_begin(host, now_ns())) return;  // it asks again
  if (place.instead_of) forget(*place.instead_of);
  const ConnectionId id = next_++;
  strangers_.add(host, id, now_ns());
  Client& client = clients_[id];
  client.host = host;
  ++by_host_[client.host];
  auto made = quic::Connection::accept(
      {.header = header,
       .original_dcid = original,
       .to = datagram.to,
       .from = datagram.from,
       .reset_secret = reset_secret_},
      credentials_, options_.timeouts,
      {.ready = [this, id] { greet(id); },
       .frame = [this, id](quic::StreamId stream,
                           std::span<const std::byte> frame) { received(id, stream, frame); },
       .id_added =
           [this, id](const quic::Cid& cid) {
             by_cid_[cid] = id;
             clients_.at(id).ids.insert(cid);
           },
       .id_removed =
           [this, id](const quic::Cid& cid) {
             by_cid_.erase(cid);
             clients_.at(id).ids.erase(cid);
           }},
      now_ns());
  if (!made) {
    complaints_.add("a connection of " + datagram.from.text() + ": " + made.error().text);
    return forget(id);
  }
  client.connection = *std::move(made);
  touch(id);
  (void)client.connection->read(datagram, now_ns());
}

/// Whether it has been asked by a Retry whether it is there, and has answered.
bool QuicPort::is_new(const ngtcp2_pkt_hd& header, const UdpSocket::Datagram& datagram,
                      ngtcp2_cid& original) {
  const auto token = quic::token_of(header);
  if (token.empty()) {
    say_retry(header, datagram);
    return false;
  }
  const int error = ngtcp2_crypto_verify_retry_token(
      &original, token.data(), token.size(), octets(retry_secret_), retry_secret_.size(),
      header.version, datagram.from.generic(), datagram.from.bytes(), &header.dcid, kTokenNs,
      now_ns());
  if (error != 0) say_refused(header, datagram, NGTCP2_INVALID_TOKEN);
  return error == 0;
}

std::string QuicPort::overload(const std::string& host) const {
  if (connections() >= options_.limits.connections)
    return fmt::format("{} connections over QUIC, the most that are accepted", connections());
  const auto own = by_host_.find(host);
  if (own != by_host_.end() && own->second >= options_.limits.host_connections)
    return fmt::format("{} connections of {}, the most that are accepted", own->second, host);
  return {};
}

// ---- Answers that keep nothing ---------------------------------------------------------------

void QuicPort::reply(const UdpSocket::Datagram& datagram, const std::uint8_t* bytes,
                     std::ptrdiff_t count) {
  if (count <= 0) return;
  socket_.send(datagram.to, datagram.from,
               std::as_bytes(std::span(bytes, static_cast<std::size_t>(count))));
}

void QuicPort::say_version(const ngtcp2_version_cid& asked, const UdpSocket::Datagram& datagram) {
  // No answer is longer than what it answers, for the address may be another's.
  if (datagram.bytes.size() < quic::kDatagramBytes) return;
  std::array<std::uint8_t, quic::kDatagramBytes> packet{};
  std::uint8_t random = 0;
  (void)gnutls_rnd(GNUTLS_RND_NONCE, &random, sizeof random);
  const std::array<std::uint32_t, 1> versions{NGTCP2_PROTO_VER_V1};
  reply(datagram, packet.data(),
        ngtcp2_pkt_write_version_negotiation(packet.data(), packet.size(), random, asked.scid,
                                             asked.scidlen, asked.dcid, asked.dcidlen,
                                             versions.data(), versions.size()));
}

void QuicPort::say_retry(const ngtcp2_pkt_hd& header, const UdpSocket::Datagram& datagram) {
  ngtcp2_cid own{};
  own.datalen = quic::kIdBytes;
  std::array<std::uint8_t, NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN> token{};
  if (gnutls_rnd(GNUTLS_RND_NONCE, own.data, own.datalen) != 0) return;
  const ngtcp2_ssize bytes = ngtcp2_crypto_generate_retry_token(
      token.data(), octets(retry_secret_), retry_secret_.size(), header.version,
      datagram.from.generic(), datagram.from.bytes(), &own, &header.dcid, now_ns());
  if (bytes < 0) return;
  std::array<std::uint8_t, quic::kDatagramBytes> packet{};
  reply(datagram, packet.data(),
        ngtcp2_crypto_write_retry(packet.data(), packet.size(), header.version, &header.scid, &own,
                                  &header.dcid, token.data(), static_cast<std::size_t>(bytes)));
}

void QuicPort::say_refused(const ngtcp2_pkt_hd& header, const UdpSocket::Datagram& datagram,
                           std::uint64_t code) {
  std::array<std::uint8_t, quic::kDatagramBytes> packet{};
  reply(datagram, packet.data(),
        ngtcp2_crypto_write_connection_close(packet.data(), packet.size(), header.version,
                                             &header.scid, &header.dcid, code, nullptr, 0));
}

/// To somebody whose connection nobody here knows: the server was restarted, most likely. Shorter
/// than what came, so that two servers cannot keep each other at it (RFC 9000, 10.3.3).
void QuicPort::say_reset(const UdpSocket::Datagram& datagram) {
  if (datagram.bytes.size() <= kLeastResetBytes) return;
  const std::size_t bytes = std::min(kMostResetBytes, datagram.bytes.size() - 1);
  const std::uint64_t now = now_ns();
  if (now - resets_since_ns_ >= kNsPerSecond) {
    resets_since_ns_ = now;
    resets_ = 0;
  }
  if (++resets_ > kMostResets) return;
  ngtcp2_cid named{};
  ngtcp2_cid_init(&named, octets(datagram.bytes) + 1, quic::kIdBytes);
  std::array<std::uint8_t, NGTCP2_STATELESS_RESET_TOKENLEN> token{};
  std::array<std::uint8_t, kMostResetBytes - NGTCP2_STATELESS_RESET_TOKENLEN> random{};
  if (ngtcp2_crypto_generate_stateless_reset_token(token.data(), octets(reset_secret_),
                                                   reset_secret_.size(), &named) != 0 ||
      gnutls_rnd(GNUTLS_RND_NONCE, random.data(), random.size()) != 0)
    return;
  std::array<std::uint8_t, kMostResetBytes> packet{};
  reply(datagram, packet.data(),
        ngtcp2_pkt_write_stateless_reset(packet.data(), packet.size(), token.data(), random.data(),
                                         bytes - NGTCP2_STATELESS_RESET_TOKENLEN));
}

// ---- Connections -----------------------------------------------------------------------------

/// Both sides are verified: who it is decides what it may.
void QuicPort::greet(ConnectionId id) {
  Client& client = clients_.at(id);
  const auto turn_away = [&](const std::string& why) {
    complaints_.add("turned away: " + why);
    client.is_logged = true;
    client.connection->close(quic::CloseCode::Refused, why);
  };
  strangers_.remove(id);
  if (connections() > options_.limits.connections)
    return turn_away(fmt::format("{} connections over QUIC, the most that are accepted",
                                 options_.limits.connections));
  auto peer = client.connection->peer();
  if (!peer) return turn_away(peer.error().text);
  // The files may have been read again since its handshake began.
  if (const auto why = credentials_->objection_to_client(*peer); !why.empty())
    return turn_away(fmt::format("certificate {} of {}: {}", peer->serial, client.host, why));
  const auto account = options_.certificates.of(peer->names);
  if (!account)
    return turn_away(fmt::format("certificate {} of {} {}", peer->serial, client.host,
                                 options_.certificates.is_torn(peer->names)
                                     ? "names two tenants, or two roles; one is accepted"
                                     : "names nobody that the configuration has"));
  const auto known = by_tenant_.find(account->tenant);
  const std::uint32_t own = known == by_tenant_.end() ? 0 : known->second;
  if (own >= options_.limits.tenant_connections)
    return turn_away(fmt::format("{} connections of tenant {}, the most that are accepted", own,
                                 account->tenant));
  ++by_tenant_[account->tenant];
  client.peer = *std::move(peer);
  client.account = *account;
  client.is_open = true;
  client.is_logged = true;
  listener_.opened(id,
                   {.tenant = account->tenant,
                    .role = account->role,
                    .peer = fmt::format("certificate {} at {}", client.peer.serial, client.host)});
}

/// Its window at the sender's is open until the bytes came here, so what cannot be heard yet is
/// kept; who goes on sending all the same is hung up on.
void QuicPort::received(ConnectionId id, quic::StreamId stream, std::span<const std::byte> frame) {
  Client& client = clients_.at(id);
  if (client.unheard.empty() && client.connection->unread_answer_bytes() < kMostAnswerBytes)
    return hear(id, stream, frame);
  client.unheard_bytes += sizeof(Unheard) + frame.size();
  client.unheard.push_back({.stream = stream, .frame = {frame.begin(), frame.end()}});
  if (client.unheard_bytes > kMostUnheardBytes) turn_out_slow(client);
}

void QuicPort::hear_what_waited(ConnectionId id, Client& client) {
  while (!client.unheard.empty() && client.connection->unread_answer_bytes() < kMostAnswerBytes) {
    const Unheard next = std::move(client.unheard.front());
    client.unheard.pop_front();
    client.unheard_bytes -= sizeof(Unheard) + next.frame.size();
    hear(id, next.stream, next.frame);
  }
}

void QuicPort::hear(ConnectionId id, quic::StreamId stream, std::span<const std::byte> frame) {
  verify(id);
  Client& client = clients_.at(id);
  if (!client.is_open || client.ends_by_ns != 0 || client.connection->end()) return;
  client.asked.emplace(question_of(frame), stream);
  listener_.received(id, frame);
}

void QuicPort::send(ConnectionId id, wire::FrameBytes frame) {
  const auto at = clients_.find(id);
  if (at == clients_.end() || !at->second.is_open || at->second.ends_by_ns != 0) return;
  Client& client = at->second;
  touch(id);
  const std::size_t bytes = frame.size();
  if (is_notice(frame)) {
    client.connection->send_notice(std::move(frame));
  } else if (const auto asked = client.asked.find(answered_by(frame));
             asked != client.asked.end()) {
    client.connection->answer(asked->second, std::move(frame));
    client.asked.erase(asked);
  }
  if (client.connection->unread_bytes() > kMostUnreadBytes) turn_out_slow(client);
  const auto unread = [](const auto& each) {
    return each.second.connection->end() ? 0 : each.second.connection->unread_bytes();
  };
  unread_of_all_.bound(bytes, options_.limits.unread_bytes, clients_, unread, [this](auto& each) {
    turn_out_slow(each.second);
    touch(each.first);
  });
}

void QuicPort::turn_out_slow(Client& client) {
  if (client.connection->end()) return;
  complaints_.add(fmt::format("a client of tenant {} at {} does not read; it is hung up on",
                              client.account.tenant, client.host));
  client.connection->close(quic::CloseCode::SlowReader, "what it was told was not read");
}

void QuicPort::hang_up(ConnectionId id) {
  const auto at = clients_.find(id);
  if (at == clients_.end() || at->second.ends_by_ns != 0) return;
  at->second.ends_by_ns = now_ns() + kGoodbyeNs;
  touch(id);
}

void QuicPort::hang_up_on_all() {
  for (auto& [id, client] : clients_) {
    client.connection->close(quic::CloseCode::Done, "the server is ending");
    touch(id);
  }
}

bool QuicPort::is_drained() const noexcept {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& each) { return each.second.connection->unread_bytes() == 0; });
}

Result<void> QuicPort::set_trust(const quic::CredentialFiles& files,
                                 const Certificates& certificates) {
  options_.certificates = certificates;
  for (const auto& [id, client] : clients_)
    if (client.is_open && certificates.of(client.peer.names) != client.account)
      turn_out(id, "it names nobody any more, or somebody else");
  PORTCULLIS_TRY_ASSIGN(credentials_, quic::Credentials::load(files));
  options_.files = files;
  doubt_all();
  arm();
  return {};
}

void QuicPort::run_timers() {
  const std::uint64_t now = now_ns();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const ConnectionId id = timers_.begin()->second;
    timers_.erase(timers_.begin());
    Client& client = clients_.at(id);
    client.timer_ns = UINT64_MAX;
    client.connection->expire(now);
    touch(id);
  }
}

void QuicPort::look_at_all() {
  looked_ns_ = now_ns();
  clear_graves();
  for (auto& [id, client] : clients_)
    if (client.ends_by_ns != 0) touch(id);
  if (looked_ns_ - believed_ns_ < kBelieveNs) return;
  believed_ns_ = looked_ns_;
  doubt_all();  // a certificate may run out while its connection is there
}

void QuicPort::doubt_all() {
  for (const auto& [id, client] : clients_)
    if (client.is_open) doubted_.insert(id);
}

void QuicPort::verify_some() {
  constexpr int kAtOnce = 16;
  for (int i = 0; i < kAtOnce && !doubted_.empty(); ++i) verify(*doubted_.begin());
}

void QuicPort::verify(ConnectionId id) {
  if (doubted_.erase(id) == 0) return;
  const auto why = credentials_->objection_to_client(clients_.at(id).peer);
  if (!why.empty()) turn_out(id, why);
}

void QuicPort::turn_out(ConnectionId id, const std::string& why) {
  clients_.at(id).connection->close(quic::CloseCode::Refused,
                                    "the certificate may no longer: " + why);
  touch(id);
}

void QuicPort::touch(ConnectionId id) {
  const auto at = clients_.find(id);
  if (at == clients_.end() || std::exchange(at->second.is_touched, true)) return;
  touched_.push_back(id);
}

void QuicPort::settle(ConnectionId id) {
  const auto at = clients_.find(id);
  if (at == clients_.end()) return;
  Client& client = at->second;
  client.is_touched = false;
  quic::Connection& connection = *client.connection;
  hear_what_waited(id, client);
  const bool is_over =
      client.ends_by_ns != 0 && (connection.unread_bytes() == 0 || now_ns() >= client.ends_by_ns);
  if (is_over) connection.close(quic::CloseCode::Done, "the server has hung up");
  connection.write(socket_, now_ns());
  if (connection.end()) tell_closed(id, client);
  if (connection.is_gone()) return forget(id);
  const std::uint64_t next_ns = connection.expires_ns();
  if (next_ns == client.timer_ns) return;
  timers_.erase({client.timer_ns, id});
  client.timer_ns = next_ns;
  timers_.emplace(next_ns, id);
}

void QuicPort::tell_closed(ConnectionId id, Client& client) {
  if (!client.is_open) return;
  client.is_open = false;
  const auto own = by_tenant_.find(client.account.tenant);
  if (--own->second == 0) by_tenant_.erase(own);
  listener_.closed(id);
}

void QuicPort::bury(Client& client) {
  // Of a stranger that goes without a word nothing is kept.
  if (!client.connection || graves_.size() >= kMostGraves) return;
  if (!client.is_logged && client.connection->goodbye().empty()) return;
  auto grave = std::make_shared<Grave>(Grave{.until_ns = now_ns() + kGoodbyeNs,
                                             .goodbye = client.connection->goodbye(),
                                             .ids = client.ids});
  for (const quic::Cid& cid : grave->ids) grave_of_[cid] = grave;
  graves_.push_back(std::move(grave));
}

void QuicPort::clear_graves() {
  const std::uint64_t now = now_ns();
  for (; !graves_.empty() && graves_.front()->until_ns <= now; graves_.pop_front())
    for (const quic::Cid& cid : graves_.front()->ids) grave_of_.erase(cid);
}

void QuicPort::forget(ConnectionId id) {
  const auto at = clients_.find(id);
  Client& client = at->second;
  bury(client);
  if (client.connection && !client.is_logged)
    complaints_.add(fmt::format("no connection came of {}: {}", client.host,
                                client.connection->end().value_or("it was turned away")));
  for (const quic::Cid& cid : client.ids) by_cid_.erase(cid);
  strangers_.remove(id);
  doubted_.erase(id);
  timers_.erase({client.timer_ns, id});
  const auto own = by_host_.find(client.host);
  if (--own->second == 0) by_host_.erase(own);
  clients_.erase(at);
}

void QuicPort::arm() {
  std::uint64_t next_ns = clients_.empty() && graves_.empty() ? UINT64_MAX : looked_ns_ + kLookNs;
  if (!timers_.empty()) next_ns = std::min(next_ns, timers_.begin()->first);
  if (!doubted_.empty()) next_ns = 0;
  // One that goes off earlier is left: each datagram moves an idle time on, and one waking for
  // nothing costs less than a system call for each of them.
  if (next_ns >= armed_ns_ && armed_ns_ > now_ns()) return;
  armed_ns_ = next_ns;
  itimerspec wanted{};
  if (next_ns != UINT64_MAX) {
    next_ns = std::max<std::uint64_t>(next_ns, 1);
    wanted.it_value.tv_sec = static_cast<time_t>(next_ns / kNsPerSecond);
    wanted.it_value.tv_nsec = static_cast<long>(next_ns % kNsPerSecond);
  }
  (void)::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &wanted, nullptr);
}

}  // namespace portcullis::service::daemon
