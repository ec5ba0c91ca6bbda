// SPDX-License-Identifier: BSD-3-Clause
//
// A client of etcd 3.4 over its HTTP/JSON gateway: one thread's, requests one after the other with
// one watch beside them. An endpoint that does not answer in time, or answers for another cluster,
// gives way to the next. A request that was sent twice because of it must do no harm: every Txn
// here is made so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "fleet/gateway.hpp"
#include "fleet/http.hpp"

namespace portcullis::fleet {

struct EtcdOptions {
  std::vector<std::string> endpoints = {};  // "http://192.0.2.1:2379"
  TlsFiles tls = {};
  std::string user = {};  // empty: etcd asks for none
  std::string password = {};
  std::uint64_t deadline_ms = 2'000;  // of each try at an endpoint

  bool operator==(const EtcdOptions&) const = default;
};

/// "URL,URL": InvalidArgument, naming what is no URL of etcd.
[[nodiscard]] Result<std::vector<std::string>> parse_endpoints(std::string_view list);
/// Whether they belong together: a certificate has a key, a user a password. InvalidArgument.
[[nodiscard]] Result<void> check(const EtcdOptions& options);

class Etcd {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Etcd>> create(EtcdOptions options);
  /// Through another transport than one of its own.
  [[nodiscard]] static Result<std::unique_ptr<Etcd>> create(EtcdOptions options,
                                                            std::unique_ptr<Transport> transport);
  Etcd(const Etcd&) = delete;
  Etcd& operator=(const Etcd&) = delete;
  ~Etcd() = default;

  /// Answers of another cluster are refused from now on, and of one whose store has gone back
  /// behind `revision`. Without it the first answer says which cluster it is. One that has gone
  /// back once is refused for good, whatever is written to it since: what it has lost stays lost.
  void expect(std::uint64_t cluster, std::uint64_t revision);
  [[nodiscard]] std::uint64_t cluster() const noexcept { return cluster_; }
  [[nodiscard]] bool has_gone_back() const noexcept { return !gone_back_.empty(); }
  /// Whoever has written to it has seen that it has lost something: the error that every answer is
  /// from now on.
  tl::unexpected<Error> has_lost(const std::string& what);
  /// The newest that a linearizable answer has told of.
  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_; }

  /// Nothing is asked for beyond that time of Clock::wall(). Any thread may say so.
  void end_by(std::uint64_t until_ns) noexcept { transport_->end_by(until_ns); }

  /// The last request has reached an endpoint, for all that is known: it may have been done,
  /// whatever came of it.
  [[nodiscard]] bool may_have_happened() const noexcept { return has_sent_; }

  // Each names the endpoints and what is the matter with them. Timeout and System: none has
  // answered, and what was asked for may still happen; CommandFailed: etcd has refused it;
  // OutOfResources: a transaction has more operations than etcd takes; Malformed: it has found less
  // than was asked for;
  // DeviceFailed: it is another cluster, or its store has gone back.
  [[nodiscard]] Result<RangeAnswer> range(const Range& what);
  [[nodiscard]] Result<TxnAnswer> txn(const Txn& what);
  [[nodiscard]] Result<LeaseAnswer> grant_lease(std::uint64_t ttl_s);
  /// ttl_s 0: there is no such lease.
  [[nodiscard]] Result<LeaseAnswer> keep_alive(std::uint64_t lease);
  [[nodiscard]] Result<void> revoke_lease(std::uint64_t lease);
  /// Asks each of the other endpoints which cluster it is of, `most_ms` at most for each request.
  /// DeviceFailed names one that is of another than what has answered so far. Those that have not
  /// answered, and may be of any.
  [[nodiscard]] Result<std::vector<std::string>> compare_endpoints(std::uint64_t most_ms);

  /// What changes in any of them from `from_revision` on; kFromNow: behind the revision that the
  /// answer `is_created` names. At the endpoint that has answered last. Where something was written
  /// between `from_revision` and now, etcd 3.4 tells that, and what follows soon, up to 100 ms late
  /// (syncWatchersLoop in mvcc/watchable_store.go).
  [[nodiscard]] Result<void> watch(const std::vector<Range>& what, std::uint64_t from_revision);
  void end_watch() noexcept { transport_->close_stream(); }
  /// The next that has come; an error when the watch is over, for whatever reason.
  [[nodiscard]] Result<std::optional<WatchAnswer>> next_change();
  /// Until something comes, or `wake_fd` is readable.
  void wait(std::uint64_t most_ms, int wake_fd = -1) { transport_->wait(most_ms, wake_fd); }

 private:
  Etcd(EtcdOptions options, std::unique_ptr<Transport> transport)
      : options_(std::move(options)), transport_(std::move(transport)) {}
  template <class Answer>
  [[nodiscard]] Result<Answer> ask(const char* path, const std::string& body,
                                   Result<Answer> (*read)(std::string_view), bool is_linearizable);
  /// At the current endpoint, with a token where one is needed.
  [[nodiscard]] Result<std::string> ask_here(const char* path, const std::string& body);
  [[nodiscard]] Result<Transport::Response> post_here(const char* path, const std::string& body);
  [[nodiscard]] Result<RangeAnswer> ask_endpoint(std::size_t index, const Range& what);
  [[nodiscard]] Result<void> authenticate();
  [[nodiscard]] tl::unexpected<Error> less_than_asked() const;
  [[nodiscard]] Result<void> check_header(const Header& header, bool is_linearizable);
  [[nodiscard]] const std::string& endpoint() const { return options_.endpoints[current_]; }

  EtcdOptions options_;
  std::unique_ptr<Transport> transport_;
  std::size_t current_ = 0;  // of the endpoints
  std::size_t watched_ = 0;
  std::string token_;
  std::uint64_t cluster_ = 0;
  std::uint64_t revision_ = 0;
  std::string gone_back_;  // how far, once it has
  bool has_sent_ = false;
};

}  // namespace portcullis::fleet
