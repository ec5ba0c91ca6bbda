// SPDX-License-Identifier: BSD-3-Clause
//
// A node's side of the fleet, in a thread of its own: it joins under a session that it keeps alive,
// reads every tenant's fence epoch before it says that it lives, watches them, and writes down what
// came of each fence. It decides nothing about leases: who runs it is told until when grants are in
// order, and which tenant is to be fenced below which epoch.
//
// What is relied on is read, not watched: with every keepalive the epochs that have changed are
// read again, linearizably, in a transaction that also says whether the session is still this
// node's. The watch makes it fast, and may be lost, late or compacted.
//
// Every transaction holds etcd to what this node has written there: its name, its session, and the
// newest of its shares and outcomes. A name that somebody takes away while the session is there is
// written again; a store that has lost the newest was put back, and is not believed any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "fleet/directory.hpp"
#include "fleet/etcd.hpp"
#include "fleet/node_memory.hpp"
#include "fleet/shares.hpp"

namespace portcullis::fleet {

struct NodeOptions {
  std::string name = {};
  std::uint64_t ttl_s = 10;                 // of the session, without a keepalive
  std::optional<Isolation> isolation = {};  // who runs it does that; said of it in etcd
  Registration about = {};                  // but for the node's number, which is remembered
};

struct NodeListener {
  /// Grants are in order until then (by its clock), as far as etcd goes. Every fence that was
  /// known to etcd when this was asked for, at `asked_ns`, has been told before.
  std::function<void(std::uint64_t asked_ns, std::uint64_t until_ns)> lives;
  /// They are not, from now on.
  std::function<void(const std::string& why)> is_out;
  /// What the tenant has below that epoch is to end; of one tenant only ever higher ones.
  std::function<void(std::uint64_t tenant, std::uint64_t epoch)> fence;
  /// Somebody has set the tenant's quota, or it is heard of for the first time in this session.
  std::function<void(std::uint64_t tenant)> quota_changed;
  /// The answer to want(), once etcd has it.
  std::function<void(const ShareIs& share)> share;
  LogSink log;
};

class Node {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Node>> create(const EtcdOptions& etcd,
                                                            NodeMemory memory, NodeOptions options,
                                                            NodeListener listener);
  /// With a client that there is already, by that clock.
  [[nodiscard]] static Result<std::unique_ptr<Node>> create(std::unique_ptr<Etcd> etcd,
                                                            NodeMemory memory, NodeOptions options,
                                                            NodeListener listener, Clock clock);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() = default;

  /// What is due, then waits for what comes, or for `wake_fd`; never for much longer than the tries
  /// at all endpoints take.
  void work(int wake_fd);
  /// Nothing of the tenant is left that was granted below `epoch`.
  void fenced(std::uint64_t tenant, std::uint64_t epoch, std::uint32_t torn_down,
              std::uint32_t fenced);
  /// What the node may hold of a tenant is to be so much. Without a session it is forgotten.
  void want(const ShareWanted& wanted) { shares_.want(wanted); }
  /// What is left here, for whoever looks for a node. Told once in some seconds.
  void offer(const Amount& left);
  /// It is to end: a try to join is given up, and etcd has some seconds for what is asked of it
  /// from now on. Another thread may say so.
  void end_soon() noexcept;
  /// The session ends now. `holds_nothing`: every lease that there was is TornDown.
  void end(bool holds_nothing);

 private:
  Node(std::unique_ptr<Etcd> etcd, NodeMemory memory, NodeOptions options, NodeListener listener,
       Clock clock)
      : memory_(std::move(memory)),
        options_(std::move(options)),
        listener_(std::move(listener)),
        etcd_(std::move(etcd)),
        clock_(clock),
        shares_(options_.name, memory_.node()),
        outcome_{.key = member_key(options_.name)} {}
  [[nodiscard]] Result<void> join();
  [[nodiscard]] Result<std::uint64_t> free_member_revision();
  [[nodiscard]] Result<void> check_own_name(std::uint64_t revision);
  /// InvalidArgument where etcd has this node under another name.
  [[nodiscard]] Result<void> check_no_other_name();
  [[nodiscard]] Result<void> check_newest(const std::vector<KeyValue>& found);
  [[nodiscard]] Result<void> register_session(std::uint64_t member_revision);
  /// And the quotas that have changed.
  [[nodiscard]] Result<void> read_epochs();
  [[nodiscard]] Result<void> read_epochs_once(std::uint64_t until_ns);
  [[nodiscard]] Result<void> learn_pages(Range what, std::vector<KeyValue> found, bool has_more,
                                         std::uint64_t until_ns);
  [[nodiscard]] Result<void> keep_session();
  /// Keeps the session, and reads what the watch may have missed.
  [[nodiscard]] Result<void> keep();
  /// Where etcd does not have this node as it has written itself. NotFound: its session is gone.
  [[nodiscard]] Result<void> stand_again();
  /// Once in a while, so that whoever puts etcd back has put back the name as well.
  void renew_name();
  void read_changes();
  /// Of the newest fences, as many as one transaction takes.
  void write_outcomes();
  void write_offer();
  void settle_a_share();
  /// An epoch, or a quota.
  void learn(const KeyValue& entry);
  void learn_quota(const KeyValue& quota);
  [[nodiscard]] bool start_watch();
  [[nodiscard]] std::uint64_t wake_ns() const;
  void live();
  void leave(const Error& why);
  void say(const Error& why);
  [[nodiscard]] Compare session_is_own() const;
  /// And its name is.
  [[nodiscard]] std::vector<Compare> standing() const;
  [[nodiscard]] Put own_name() const;
  /// Of what this node has written that stays when its session goes.
  [[nodiscard]] const OwnKey& newest() const noexcept;
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return clock_.now_ns(); }

  NodeMemory memory_;
  NodeOptions options_;
  NodeListener listener_;
  std::unique_ptr<Etcd> etcd_;
  Clock clock_;
  std::atomic<bool> has_joined_{false};
  std::atomic<bool> ends_soon_{false};
  bool is_watching_ = false;
  std::uint64_t lease_ = 0;             // of the session, or of one that may still be there
  std::uint64_t session_revision_ = 0;  // that made the session's key
  std::uint64_t member_revision_ = 0;   // that wrote the name's key last
  std::uint64_t name_ns_ = 0;           // it is not written again before then
  std::uint64_t seen_revision_ = 0;     // epochs have been read up to it
  std::uint64_t kept_ns_ = 0;           // when the last keepalive was asked for that was answered
  std::uint64_t kept_ttl_s_ = 0;        // and what it was answered
  std::uint64_t lives_until_ns_ = 0;
  std::uint64_t due_ns_ = 0;
  std::map<std::uint64_t, std::uint64_t> epochs_;  // by tenant: those that were told
  std::uint64_t strange_keys_ = 0;                 // below those of epochs: the first is told
  std::map<std::uint64_t, Outcome> unwritten_;     // by tenant
  /// Epoch and tenant of each of them: the newest fence is answered first.
  std::set<std::pair<std::uint64_t, std::uint64_t>> unwritten_order_;
  std::uint64_t write_ns_ = 0;                     // not before then
  std::size_t most_outcomes_ = 1;                  // in one transaction, as far as is known
  std::map<std::uint64_t, std::uint64_t> quotas_;  // by tenant: their revisions that were told
  Shares shares_;
  OwnKey outcome_;                   // that was written last; before the first, nothing of the name
  std::optional<Amount> left_;       // as it was told last
  bool has_unwritten_left_ = false;  // in this session
  std::uint64_t offer_ns_ = 0;       // not before then
  std::optional<Errc> said_;         // what the log has, since it last lived
};

}  // namespace portcullis::fleet
