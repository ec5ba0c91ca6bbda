// SPDX-License-Identifier: BSD-3-Clause
//
// The C face of Keeper. No exception leaves it: what the standard library throws for want of memory
// is an error like any other.
#include "client/portcullis_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/advice.hpp"
#include "client/anywhere.hpp"
#include "client/keeper.hpp"

struct portcullis_gate {
  std::shared_ptr<const portcullis::client::Gate> gate;
};

struct portcullis_client {
  pid_t process = getpid();  // a child of it has its memory, and none of its threads
  std::unique_ptr<portcullis::client::Keeper> keeper;
  std::mutex lock;
  std::vector<std::unique_ptr<portcullis_gate>> gates;
};

namespace {

using portcullis::Errc;
using portcullis::Error;
using portcullis::Result;
namespace client = portcullis::client;
namespace wire = portcullis::wire;

int code_of(Errc code) noexcept {
  switch (code) {
    case Errc::InvalidArgument:
      return PORTCULLIS_INVALID;
    case Errc::NotFound:
      return PORTCULLIS_NOT_FOUND;
    case Errc::Unsupported:
      return PORTCULLIS_NOT_ALLOWED;
    case Errc::OutOfResources:
      return PORTCULLIS_LIMIT;
    case Errc::Busy:
      return PORTCULLIS_BUSY;
    case Errc::DeviceFailed:
      return PORTCULLIS_UNAVAILABLE;
    case Errc::Timeout:
      return PORTCULLIS_TIMEOUT;
    case Errc::DeviceGone:
      return PORTCULLIS_GONE;
    default:
      return PORTCULLIS_SYSTEM;
  }
}

/// One line. Of a text that is too long the middle is left out, for a value may be long, and what
/// is accepted stands behind it.
int tell(portcullis_error* to, int code, std::string_view text) noexcept {
  if (to == nullptr) return code;
  constexpr std::string_view kCut = " .. ";
  constexpr std::size_t kMost = sizeof to->text - 1;
  constexpr std::size_t kHead = (kMost - kCut.size()) / 3;
  to->code = code;
  char* end = to->text;
  const auto put = [&end](std::string_view part) { end = std::ranges::copy(part, end).out; };
  if (text.size() <= kMost) {
    put(text);
  } else {
    put(text.substr(0, kHead));
    put(kCut);
    put(text.substr(text.size() - (kMost - kCut.size() - kHead)));
  }
  *end = '\0';
  std::replace_if(
      to->text, end, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return code;
}
int tell(portcullis_error* to, const Error& error) noexcept {
  return tell(to, code_of(error.code), error.text);
}

/// Where a call would wait for a thread that is not there, or for the one that it is made from.
int check_caller(const portcullis_client& of, portcullis_error* error) noexcept {
  if (of.process != getpid())
    return tell(error, PORTCULLIS_INVALID,
                "the client was opened before a fork; a child opens one of its own");
  if (of.keeper->is_own_thread())
    return tell(error, PORTCULLIS_INVALID, "called from on_ended, which must not wait");
  return PORTCULLIS_OK;
}

/// `body` gives a status; what it throws becomes one.
template <class Body>
int guarded(portcullis_error* error, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception& thrown) {
    return tell(error, PORTCULLIS_SYSTEM, thrown.what());
  }
}

wire::AllocRequest request_of(const portcullis_request& from) {
  wire::AllocRequest to{.bytes = from.bytes, .ttl_ms = from.ttl_ms};
  std::copy(std::begin(from.gid), std::end(from.gid), to.gid.begin());
  std::copy(std::begin(from.mac), std::end(from.mac), to.mac.begin());
  to.mtu = from.mtu;
  to.qpn = from.qpn;
  to.psn = from.psn;
  to.access = from.access;
  to.ack_timeout = from.ack_timeout;
  to.retry_count = from.retry_count;
  return to;
}

portcullis_lease lease_of(const wire::AllocAnswer& from, const portcullis_gate* gate) {
  portcullis_lease to{};
  to.id = from.id;
  to.epoch = from.epoch;
  to.address = from.address;
  to.bytes = from.bytes;
  std::copy(from.gid.begin(), from.gid.end(), std::begin(to.gid));
  std::copy(from.mac.begin(), from.mac.end(), std::begin(to.mac));
  to.mtu = from.mtu;
  to.qpn = from.qpn;
  to.psn = from.psn;
  to.rkey = from.rkey;
  to.ack_timeout = from.ack_timeout;
  to.retry_count = from.retry_count;
  to.access = from.access;
  to.gate = gate;
  return to;
}

int ask_challenge(portcullis_client* of, const portcullis_lease* lease,
                  std::optional<std::uint64_t> most_ms, portcullis_challenge* challenge,
                  portcullis_error* error) {
  if (of == nullptr || lease == nullptr || challenge == nullptr)
    return tell(error, PORTCULLIS_INVALID, "client, lease or challenge is NULL");
  if (const int code = check_caller(*of, error); code != PORTCULLIS_OK) return code;
  return guarded(error, [&] {
    const auto answer = of->keeper->challenge(lease->id, lease->epoch, most_ms);
    if (!answer) return tell(error, answer.error());
    challenge->left_ms = answer->left_ms;
    std::copy(answer->nonce.begin(), answer->nonce.end(), std::begin(challenge->nonce));
    challenge->state = static_cast<std::uint8_t>(answer->challenge);
    return static_cast<int>(PORTCULLIS_OK);
  });
}

portcullis_end end_of(const client::KeptEnd& from) {
  portcullis_end to{};
  to.id = from.body.id;
  to.epoch = from.body.epoch;
  to.is_known = from.is_known ? 1 : 0;
  if (!from.is_known) return to;
  to.failed_mask = from.body.failed_mask;
  to.outcome = static_cast<std::uint8_t>(from.body.outcome);
  to.memory = static_cast<std::uint8_t>(from.body.memory);
  to.cause = static_cast<std::uint8_t>(from.body.cause);
  return to;
}

/// Of a lease whose server could not be asked.
portcullis_end unknown_end(const portcullis_lease& lease) {
  portcullis_end to{};
  to.id = lease.id;
  to.epoch = lease.epoch;
  return to;
}

portcullis_end end_of(const wire::RevokeAnswer& from) {
  portcullis_end to{};
  to.id = from.id;
  to.epoch = from.epoch;
  to.failed_mask = from.failed_mask;
  to.is_known = 1;
  to.outcome = static_cast<std::uint8_t>(from.outcome);
  to.memory = static_cast<std::uint8_t>(from.memory);
  to.cause = static_cast<std::uint8_t>(from.cause);
  return to;
}

/// For portcullis_client_text_free(); null when there is no memory.
char* copied(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

struct Listener {
  portcullis_on_ended on_ended;
  void* context;
};

Result<std::unique_ptr<portcullis_client>> connect(client::ServerAddress server, const char* name,
                                                   const Listener& listener) {
  client::Keeper::Options options{.server = std::move(server),
                                  .name = name == nullptr ? "client" : name};
  if (listener.on_ended != nullptr)
    options.on_ended = [listener](const client::KeptEnd& how) {
      const portcullis_end end = end_of(how);
      listener.on_ended(&end, listener.context);
    };
  auto opened = std::make_unique<portcullis_client>();
  PORTCULLIS_TRY_ASSIGN(opened->keeper, client::Keeper::open(std::move(options)));
  return opened;
}

int open(client::ServerAddress server, const char* name, const Listener& listener,
         portcullis_client** made, portcullis_error* error) {
  *made = nullptr;
  return guarded(error, [&] {
    auto opened = connect(std::move(server), name, listener);
    if (!opened) return tell(error, opened.error());
    *made = opened->release();
    return static_cast<int>(PORTCULLIS_OK);
  });
}

Result<portcullis_lease> take(portcullis_client& of, const portcullis_request& request) {
  auto gate = std::make_unique<portcullis_gate>();
  PORTCULLIS_TRY_ASSIGN(auto kept, of.keeper->alloc(request_of(request)));
  gate->gate = kept.gate;
  const portcullis_lease lease = lease_of(kept.grant, gate.get());
  const std::lock_guard<std::mutex> one(of.lock);
  of.gates.push_back(std::move(gate));
  return lease;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

/// "KEY=VALUE,KEY=VALUE"
std::vector<std::string> labels_of(const char* text) {
  std::vector<std::string> labels;
  const std::string all = text_of(text);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find(',', begin), all.size());
    labels.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return labels;
}

client::QuicServer quic_of(const portcullis_quic& from) {
  return {.address = text_of(from.address),
          .files = {.authority = text_of(from.authority),
                    .certificate = text_of(from.certificate),
                    .key = text_of(from.key),
                    .revoked = {}},
          .name = text_of(from.server_name)};
}

bool has_files(const portcullis_quic& quic) noexcept {
  return quic.authority != nullptr && quic.certificate != nullptr && quic.key != nullptr;
}

Result<client::Anywhere> anywhere_of(const portcullis_anywhere& from, std::uint64_t bytes) {
  client::Anywhere where;
  PORTCULLIS_TRY_ASSIGN(where.etcd.endpoints,
                        portcullis::fleet::parse_endpoints(text_of(from.etcd.endpoints)));
  where.etcd.tls = {.authority = text_of(from.etcd.authority),
                    .certificate = text_of(from.etcd.certificate),
                    .key = text_of(from.etcd.key)};
  where.etcd.user = text_of(from.etcd.user);
  where.etcd.password = text_of(from.etcd.password);
  where.wanted = {
      .bytes = bytes, .labels = labels_of(from.labels), .prefers = labels_of(from.prefers)};
  if (from.quic != nullptr) where.quic = quic_of(*from.quic);
  return where;
}

struct Taken {
  std::unique_ptr<portcullis_client> client;
  portcullis_lease lease{};
};

}  // namespace

int portcullis_client_open(const char* socket, const char* name, portcullis_on_ended on_ended,
                           void* context, portcullis_client** made, portcullis_error* error) {
  if (socket == nullptr || made == nullptr)
    return tell(error, PORTCULLIS_INVALID, "socket or client is NULL");
  return open({.socket = socket}, name, {on_ended, context}, made, error);
}

int portcullis_client_open_quic(const portcullis_quic* server, const char* name,
                                portcullis_on_ended on_ended, void* context,
                                portcullis_client** made, portcullis_error* error) {
  if (server == nullptr || made == nullptr || server->address == nullptr || !has_files(*server))
    return tell(error, PORTCULLIS_INVALID,
                "server, client, address, authority, certificate or key is NULL");
  return guarded(error, [&] {
    return open({.quic = quic_of(*server)}, name, {on_ended, context}, made, error);
  });
}

int portcullis_client_alloc_anywhere(const portcullis_anywhere* from,
                                     const portcullis_request* request, portcullis_client** made,
                                     portcullis_lease* lease, portcullis_error* error) {
  if (from == nullptr || from->etcd.endpoints == nullptr || request == nullptr || made == nullptr ||
      lease == nullptr)
    return tell(error, PORTCULLIS_INVALID,
                "anywhere, its endpoints, request, client or lease is NULL");
  if (from->quic != nullptr && !has_files(*from->quic))
    return tell(error, PORTCULLIS_INVALID, "authority, certificate or key is NULL");
  *made = nullptr;
  return guarded(error, [&] {
    const auto where = anywhere_of(*from, request->bytes);
    if (!where) return tell(error, where.error());
    const auto ask = [&](const client::Site& site) -> Result<Taken> {
      Taken taken;
      PORTCULLIS_TRY_ASSIGN(taken.client,
                            connect(site.server, from->name, {from->on_ended, from->context}));
      PORTCULLIS_TRY(client::check_site(site, taken.client->keeper->server().incarnation));
      PORTCULLIS_TRY_ASSIGN(taken.lease, take(*taken.client, *request));
      return taken;
    };
    auto taken = client::at_first_that_takes_it<Taken>(*where, ask);
    if (!taken) return tell(error, taken.error());
    *lease = taken->lease;
    *made = taken->client.release();
    return static_cast<int>(PORTCULLIS_OK);
  });
}

void portcullis_client_close(portcullis_client* closed) {
  if (closed == nullptr || closed->process != getpid()) return;
  if (!closed->keeper->is_own_thread()) {
    delete closed;
    return;
  }
  // From within on_ended: the thread that has called us cannot wait for its own end.
  closed->keeper->stop();
  (void)guarded(nullptr, [closed] {
    std::thread([closed] { delete closed; }).detach();
    return 0;
  });
}

int portcullis_client_alloc(portcullis_client* of, const portcullis_request* request,
                            portcullis_lease* lease, portcullis_error* error) {
  if (of == nullptr || request == nullptr || lease == nullptr)
    return tell(error, PORTCULLIS_INVALID, "client, request or lease is NULL");
  if (const int code = check_caller(*of, error); code != PORTCULLIS_OK) return code;
  return guarded(error, [&] {
    const auto taken = take(*of, *request);
    if (!taken) return tell(error, taken.error());
    *lease = *taken;
    return static_cast<int>(PORTCULLIS_OK);
  });
}

int portcullis_client_challenge(portcullis_client* of, const portcullis_lease* lease,
                                portcullis_challenge* challenge, portcullis_error* error) {
  return ask_challenge(of, lease, std::nullopt, challenge, error);
}

int portcullis_client_challenge_wait(portcullis_client* of, const portcullis_lease* lease,
                                     uint32_t most_ms, portcullis_challenge* challenge,
                                     portcullis_error* error) {
  using std::chrono::milliseconds;
  constexpr milliseconds kBetween{2};  // the server looks about every millisecond
  constexpr milliseconds kLeast{100};  // for an answer that is under way
  const auto until = std::chrono::steady_clock::now() + milliseconds(most_ms);
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    const auto patience_ms = static_cast<std::uint64_t>(std::max(left, kLeast).count());
    const int asked = ask_challenge(of, lease, patience_ms, challenge, error);
    if (asked != PORTCULLIS_OK || challenge->state != PORTCULLIS_CHALLENGE_OPEN) return asked;
    if (std::chrono::steady_clock::now() >= until)
      return tell(error, PORTCULLIS_TIMEOUT, "the server has not seen the challenge's number yet");
    std::this_thread::sleep_for(kBetween);
  }
}

int portcullis_client_release(portcullis_client* of, const portcullis_lease* lease,
                              portcullis_end* end, portcullis_error* error) {
  if (of == nullptr || lease == nullptr)
    return tell(error, PORTCULLIS_INVALID, "client or lease is NULL");
  if (end != nullptr) *end = unknown_end(*lease);
  if (const int code = check_caller(*of, error); code != PORTCULLIS_OK) return code;
  return guarded(error, [&] {
    const auto answer = of->keeper->release(lease->id, lease->epoch);
    if (!answer) return tell(error, answer.error());
    if (end != nullptr) *end = end_of(*answer);
    return static_cast<int>(PORTCULLIS_OK);
  });
}

int portcullis_client_advise(portcullis_client* of, const portcullis_lease* lease,
                             const char* dump_json, uint32_t most_ms, portcullis_end* end,
                             char** advice_json, portcullis_error* error) {
  if (of == nullptr || lease == nullptr || dump_json == nullptr || advice_json == nullptr)
    return tell(error, PORTCULLIS_INVALID, "client, lease, dump_json or advice_json is NULL");
  *advice_json = nullptr;
  if (end != nullptr) *end = unknown_end(*lease);
  if (const int code = check_caller(*of, error); code != PORTCULLIS_OK) return code;
  return guarded(error, [&] {
    // First: a lease that was given back for a dump that nobody can read would be lost for nothing.
    auto dump = client::read_dump_of(dump_json, lease->rkey);
    if (!dump) return tell(error, PORTCULLIS_INVALID, dump.error().text);
    const auto answer = of->keeper->release(lease->id, lease->epoch);
    portcullis_end how = unknown_end(*lease);
    if (answer && answer->outcome != wire::Outcome::NotFound) how = end_of(*answer);
    if (end != nullptr) *end = how;
    const wire::RevokeAnswer nothing{.outcome = wire::Outcome::NotFound};
    const auto advice =
        client::advise(*std::move(dump), lease->rkey, answer ? *answer : nothing, most_ms);
    if (!advice) return tell(error, advice.error());
    *advice_json = copied(*advice);
    return *advice_json != nullptr ? static_cast<int>(PORTCULLIS_OK)
                                   : tell(error, PORTCULLIS_SYSTEM, "no memory is left");
  });
}

void portcullis_client_text_free(char* text) { std::free(text); }

int portcullis_lease_is_open(const portcullis_lease* lease) {
  return lease != nullptr && lease->gate != nullptr && lease->gate->gate->is_open() ? 1 : 0;
}

const char* portcullis_client_version() { return PORTCULLIS_VERSION; }
