// SPDX-License-Identifier: BSD-3-Clause
//
// What etcd 3.4 is asked and answers through its HTTP/JSON gateway, without HTTP: the messages of
// its rpc.proto and kv.proto that are used here. Keys and values are base64, 64-bit numbers are
// texts, and a field that is 0, false or empty is left out (tried on etcd 3.4.23).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace portcullis::fleet {

/// Of every answer: who said it, and which revision of the store it had then.
struct Header {
  std::uint64_t cluster = 0;
  std::uint64_t revision = 0;
};

struct KeyValue {
  std::string key = {};
  std::string value = {};
  std::uint64_t create_revision = 0;
  std::uint64_t mod_revision = 0;
};

/// Linearizable: what it finds is at least as new as whatever was answered before it was asked.
struct Range {
  std::string key = {};
  std::string end = {};                // empty: that key alone
  std::uint64_t min_mod_revision = 0;  // keys that have changed since, if it is not 0
  std::uint64_t limit = 0;             // at most so many, in the order of keys; 0: all
};
struct Put {
  std::string key = {};
  std::string value = {};
  std::uint64_t lease = 0;  // 0: for good
};
using Operation = std::variant<Range, Put>;

/// The key's revision is exactly this; 0: there is no such key. With `end` no key from `key` up to
/// there has changed since: each one's revision is below this, and a key that is gone has none
/// (range_end and LESS of rpc.proto's Compare; tried on etcd 3.4.23).
struct Compare {
  enum class Of : std::uint8_t { CreateRevision, ModRevision };
  std::string key = {};
  Of of = Of::CreateRevision;
  std::uint64_t revision = 0;
  std::string end = {};
};
/// Nothing there has been written behind `revision`.
[[nodiscard]] Compare unchanged_since(const Range& what, std::uint64_t revision);
/// All of `compare` hold: `success`, otherwise `failure`, at one revision.
struct Txn {
  std::vector<Compare> compare = {};
  std::vector<Operation> success = {};
  std::vector<Operation> failure = {};
};

struct RangeAnswer {
  Header header;
  std::vector<KeyValue> found = {};
  bool has_more = false;  // beyond the limit
};
struct TxnAnswer {
  Header header;
  bool has_succeeded = false;
  std::vector<std::vector<KeyValue>> found = {};  // of each operation that was done; none of a put
  std::vector<bool> has_more = {};                // of each of these
};
struct LeaseAnswer {
  Header header;
  std::uint64_t id = 0;
  std::uint64_t ttl_s = 0;  // 0, of a keepalive: there is no such lease
};
struct WatchEvent {
  bool is_delete = false;
  KeyValue entry = {};
};
struct WatchAnswer {
  Header header;
  std::vector<WatchEvent> events = {};
  /// It tells what is written behind the header's revision, where it was asked for from now on
  /// (recvLoop in etcdserver/api/v3rpc/watch.go).
  bool is_created = false;
  bool is_canceled = false;
  std::uint64_t compact_revision = 0;  // not 0: what was asked for is not there any more
};
/// What etcd says instead of an answer, with gRPC's code.
struct Complaint {
  int code = 0;
  std::string text = {};
};

/// The first key behind all that begin so.
[[nodiscard]] std::string prefix_end(std::string prefix);

[[nodiscard]] std::string json_of(const Range& range);
[[nodiscard]] std::string json_of(const Txn& txn);
[[nodiscard]] std::string json_of_lease_grant(std::uint64_t ttl_s);
[[nodiscard]] std::string json_of_lease(std::uint64_t id);
/// As `from_revision`.
inline constexpr std::uint64_t kFromNow = 0;
[[nodiscard]] std::string json_of_watch(const std::vector<Range>& what,
                                        std::uint64_t from_revision);
[[nodiscard]] std::string json_of_user(const std::string& user, const std::string& password);

// Malformed for what is no such answer; the text says what was missing.
[[nodiscard]] Result<RangeAnswer> read_range(std::string_view json);
[[nodiscard]] Result<TxnAnswer> read_txn(std::string_view json);
[[nodiscard]] Result<LeaseAnswer> read_lease_grant(std::string_view json);
/// The gateway wraps it, as an item of a stream.
[[nodiscard]] Result<LeaseAnswer> read_keep_alive(std::string_view json);
[[nodiscard]] Result<WatchAnswer> read_watch(std::string_view line);
[[nodiscard]] Result<std::string> read_token(std::string_view json);
[[nodiscard]] Complaint read_complaint(std::string_view json);

}  // namespace portcullis::fleet
