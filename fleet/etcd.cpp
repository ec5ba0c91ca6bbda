// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/etcd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace portcullis::fleet {
namespace {

// gRPC's codes, as the gateway hands them on.
constexpr int kDeadlineExceeded = 4;
constexpr int kNotFound = 5;
constexpr int kUnavailable = 14;
constexpr int kUnauthenticated = 16;
/// What etcd says of a token that is older than the last change of its users (--auth-token jwt).
constexpr std::string_view kOldToken = "revision of auth store is old";

/// As it stands behind the last colon outside of brackets; a URL without one has the scheme's own.
bool has_port_or_none(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.find(']', colon) != std::string_view::npos)
    return true;
  const std::string_view text = host.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port != 0;
}

bool is_url(std::string_view text) {
  const auto rest = [&]() -> std::string_view {
    for (const std::string_view scheme : {"http://", "https://"})
      if (text.starts_with(scheme)) return text.substr(scheme.size());
    return {};
  }();
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char each) {
    return each > ' ' && each < '\x7f' && each != '/' && each != '@' && each != '?' && each != '#';
  });
  return !rest.empty() && is_plain && rest.front() != ':' && has_port_or_none(rest);
}

/// What is wrong with it. Some of it the gateway says in a line of plain text, and not in JSON.
std::string said_of(const Transport::Response& response) {
  constexpr std::size_t kMost = 200;
  std::string text = read_complaint(response.body).text;
  if (!text.empty()) return text;
  std::string line = response.body.substr(0, std::min(response.body.find('\n'), kMost));
  const bool is_words =
      !line.empty() && line.front() != '<' && line.front() != '{' &&
      std::all_of(line.begin(), line.end(), [](char each) { return each >= ' ' && each <= '~'; });
  return fmt::format("HTTP status {}{}{}", response.status, is_words ? ": " : "",
                     is_words ? line : "");
}

bool is_old_token(const Transport::Response& response) {
  return response.status == 401 ||
         (response.status == 400 && said_of(response).find(kOldToken) != std::string::npos);
}

/// Another endpoint may do better. One of another cluster is nobody's to pass over: whoever has
/// listed it has to say which of them is meant.
bool is_worth_another(const Error& error) noexcept {
  return error.code != Errc::CommandFailed && error.code != Errc::NotFound &&
         error.code != Errc::DeviceFailed && error.code != Errc::OutOfResources;
}

}  // namespace

Result<std::vector<std::string>> parse_endpoints(std::string_view list) {
  std::vector<std::string> endpoints;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string_view each = list.substr(begin, end - begin);
    if (each.ends_with('/')) each.remove_suffix(1);
    if (!is_url(each))
      return fail(Errc::InvalidArgument,
                  fmt::format("etcd \"{}\": URLs such as http://192.0.2.1:2379 are accepted, a "
                              "comma between them",
                              list));
    endpoints.emplace_back(each);
    begin = end + 1;
  }
  return endpoints;
}

Result<void> check(const EtcdOptions& options) {
  if (options.tls.certificate.empty() != options.tls.key.empty())
    return fail(Errc::InvalidArgument,
                "etcd: a certificate without its key, or a key without; both or none is accepted");
  if (options.user.empty() != options.password.empty())
    return fail(
        Errc::InvalidArgument,
        "etcd: a user without a password, or a password without a user; both or none is accepted");
  const bool has_tls = !options.tls.authority.empty() || !options.tls.certificate.empty();
  for (const std::string& each : options.endpoints)
    if (has_tls && !each.starts_with("https://"))
      return fail(Errc::InvalidArgument,
                  fmt::format("etcd {}: files of TLS are given; https:// is accepted", each));
  return {};
}

Result<std::unique_ptr<Etcd>> Etcd::create(EtcdOptions options) {
  PORTCULLIS_TRY(check(options));
  PORTCULLIS_TRY_ASSIGN(auto http, Http::create(options.tls));
  return create(std::move(options), std::move(http));
}

Result<std::unique_ptr<Etcd>> Etcd::create(EtcdOptions options,
                                           std::unique_ptr<Transport> transport) {
  if (options.endpoints.empty()) return fail(Errc::InvalidArgument, "etcd: no endpoint is given");
  return std::unique_ptr<Etcd>(new Etcd(std::move(options), std::move(transport)));
}

void Etcd::expect(std::uint64_t cluster, std::uint64_t revision) {
  cluster_ = cluster;
  revision_ = std::max(revision_, revision);
}

tl::unexpected<Error> Etcd::has_lost(const std::string& what) {
  gone_back_ = "its store has gone back: " + what;
  return fail(Errc::DeviceFailed, fmt::format("etcd {}: {}", endpoint(), gone_back_));
}

Result<void> Etcd::check_header(const Header& header, bool is_linearizable) {
  if (cluster_ != 0 && header.cluster != cluster_)
    return fail(Errc::DeviceFailed,
                fmt::format("it is of cluster {:x}; {:x} is accepted", header.cluster, cluster_));
  cluster_ = header.cluster;
  if (!is_linearizable) return {};  // another member may be behind
  if (header.revision < revision_)
    gone_back_ =
        fmt::format("its store has gone back to revision {} from {}", header.revision, revision_);
  if (!gone_back_.empty()) return fail(Errc::DeviceFailed, gone_back_);
  revision_ = header.revision;
  return {};
}

Result<Transport::Response> Etcd::post_here(const char* path, const std::string& body) {
  return transport_->post({.url = endpoint() + path, .token = token_, .body = body},
                          options_.deadline_ms);
}

Result<void> Etcd::authenticate() {
  token_.clear();
  PORTCULLIS_TRY_ASSIGN(
      const auto response,
      post_here("/v3/auth/authenticate", json_of_user(options_.user, options_.password)));
  if (response.status != 200) {
    // A member without a leader, say; a user that is none, or a wrong password, is the same
    // everywhere.
    const int code = read_complaint(response.body).code;
    const bool is_elsewhere =
        code == kUnavailable || code == kDeadlineExceeded || response.status >= 500;
    return fail(is_elsewhere ? Errc::System : Errc::CommandFailed,
                fmt::format("user \"{}\": {}", options_.user, said_of(response)));
  }
  PORTCULLIS_TRY_ASSIGN(token_, read_token(response.body));
  return {};
}

Result<std::string> Etcd::ask_here(const char* path, const std::string& body) {
  if (token_.empty() && !options_.user.empty()) PORTCULLIS_TRY(authenticate());
  auto posted = post_here(path, body);
  has_sent_ = has_sent_ || transport_->has_sent();
  PORTCULLIS_TRY_ASSIGN(auto response, std::move(posted));
  if (is_old_token(response) && !options_.user.empty()) {  // tokens end after a while
    PORTCULLIS_TRY(authenticate());
    PORTCULLIS_TRY_ASSIGN(response, post_here(path, body));
  }
  if (response.status == 200) return std::move(response.body);
  const Complaint why = read_complaint(response.body);
  const std::string text = said_of(response);
  if (why.code == kNotFound) return fail(Errc::NotFound, text);
  if (why.code == kDeadlineExceeded) return fail(Errc::Timeout, text);
  // rpctypes.ErrGRPCTooManyOps, which has no code of its own.
  if (why.text.ends_with("too many operations in txn request"))
    return fail(Errc::OutOfResources, text);
  // Whoever is no etcd 3.4 answers without a code.
  const bool is_elsewhere = why.code == kUnavailable || why.code == kUnauthenticated ||
                            why.code == 0 || response.status >= 500 || is_old_token(response);
  return fail(is_elsewhere ? Errc::System : Errc::CommandFailed, text);
}

template <class Answer>
Result<Answer> Etcd::ask(const char* path, const std::string& body,
                         Result<Answer> (*read)(std::string_view), bool is_linearizable) {
  Error why;
  has_sent_ = false;
  for (std::size_t tried = 0; tried < options_.endpoints.size(); ++tried) {
    Result<Answer> answer = ask_here(path, body).and_then(read);
    if (answer) {
      const auto checked = check_header(answer->header, is_linearizable);
      if (checked) return answer;
      answer = tl::unexpected<Error>(checked.error());
    }
    const std::string said = endpoint() + ": " + answer.error().text;
    if (!is_worth_another(answer.error())) return fail(answer.error().code, "etcd " + said);
    if (why.text.empty()) why.code = answer.error().code;
    why.text += (why.text.empty() ? "etcd " : "; ") + said;
    token_.clear();
    if (watched_ == current_) end_watch();  // who does not answer tells no change
    current_ = (current_ + 1) % options_.endpoints.size();
  }
  return tl::unexpected<Error>(why);
}

Result<RangeAnswer> Etcd::ask_endpoint(std::size_t index, const Range& what) {
  const std::size_t before = std::exchange(current_, index);
  const std::string token = std::exchange(token_, {});
  auto answer = ask_here("/v3/kv/range", json_of(what)).and_then(read_range);
  current_ = before;
  token_ = token;
  return answer;
}

Result<std::vector<std::string>> Etcd::compare_endpoints(std::uint64_t most_ms) {
  const std::uint64_t deadline_ms = std::exchange(options_.deadline_ms, most_ms);
  Result<std::vector<std::string>> silent;
  for (std::size_t i = 0; silent && cluster_ != 0 && i < options_.endpoints.size(); ++i) {
    if (i == current_) continue;
    const auto answer = ask_endpoint(i, {.key = "/portcullis/"});
    if (!answer) silent->push_back(options_.endpoints[i]);
    if (answer && answer->header.cluster != cluster_)
      silent =
          fail(Errc::DeviceFailed,
               fmt::format("etcd {} is of cluster {:x}, and {} of {:x}: endpoints of one cluster "
                           "are accepted",
                           options_.endpoints[i], answer->header.cluster, endpoint(), cluster_));
  }
  options_.deadline_ms = deadline_ms;
  return silent;
}

/// It would be taken for all that there is.
tl::unexpected<Error> Etcd::less_than_asked() const {
  return fail(Errc::Malformed,
              fmt::format("etcd {}: it does not have all that was asked for", endpoint()));
}

Result<RangeAnswer> Etcd::range(const Range& what) {
  auto answer = ask<RangeAnswer>("/v3/kv/range", json_of(what), read_range, true);
  if (answer && answer->has_more && what.limit == 0) return less_than_asked();
  return answer;
}

Result<TxnAnswer> Etcd::txn(const Txn& what) {
  auto answer = ask<TxnAnswer>("/v3/kv/txn", json_of(what), read_txn, true);
  if (!answer) return answer;
  const auto& done = answer->has_succeeded ? what.success : what.failure;
  for (std::size_t i = 0; i < std::min(done.size(), answer->has_more.size()); ++i) {
    const auto* range = std::get_if<Range>(&done[i]);
    const bool has_limit = range != nullptr && range->limit != 0;
    if (answer->has_more[i] && !has_limit) return less_than_asked();
  }
  return answer;
}

Result<LeaseAnswer> Etcd::grant_lease(std::uint64_t ttl_s) {
  return ask<LeaseAnswer>("/v3/lease/grant", json_of_lease_grant(ttl_s), read_lease_grant, false);
}

Result<LeaseAnswer> Etcd::keep_alive(std::uint64_t lease) {
  return ask<LeaseAnswer>("/v3/lease/keepalive", json_of_lease(lease), read_keep_alive, false);
}

Result<void> Etcd::revoke_lease(std::uint64_t lease) {
  const auto done = ask_here("/v3/lease/revoke", json_of_lease(lease));
  if (done || done.error().code == Errc::NotFound) return {};
  return fail(done.error().code, fmt::format("etcd {}: {}", endpoint(), done.error().text));
}

Result<void> Etcd::watch(const std::vector<Range>& what, std::uint64_t from_revision) {
  watched_ = current_;
  return transport_->open_stream({.url = endpoint() + "/v3/watch",
                                  .token = token_,
                                  .body = json_of_watch(what, from_revision)});
}

Result<std::optional<WatchAnswer>> Etcd::next_change() {
  const auto over = [this](const Error& why) {
    end_watch();
    return fail(why.code, fmt::format("the watch at etcd {} is over: {}", endpoint(), why.text));
  };
  auto line = transport_->next_line();
  if (!line) return over(line.error());
  if (!*line) return std::nullopt;
  auto answer = read_watch(**line);
  if (!answer) return over(answer.error());
  if (const auto checked = check_header(answer->header, false); !checked)
    return over(checked.error());
  if (answer->is_canceled)
    return over({.code = Errc::NotFound,
                 .text = fmt::format("etcd has ended it; compacted at revision {}",
                                     answer->compact_revision)});
  return std::optional<WatchAnswer>(*std::move(answer));
}

}  // namespace portcullis::fleet
