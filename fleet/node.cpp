// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.hpp"

namespace portcullis::fleet {
namespace {

/// In one transaction: etcd takes 128 operations unless it is told otherwise.
constexpr std::size_t kMostOutcomes = 64;
/// Entries that one request reads: each has its own deadline, however many tenants were ever
/// fenced.
constexpr std::uint64_t kPage = 5'000;
/// All of them together; who takes longer begins anew, and grants nothing meanwhile.
constexpr std::uint64_t kMostReadNs = 600 * kNsPerSecond;
constexpr std::uint64_t kTryAgainNs = 500 * kNsPerMs;
/// For whoever does not answer which cluster it is of.
constexpr std::uint64_t kCompareMs = 500;
/// A watch that ends at once, again and again, is not asked for without a pause.
constexpr std::uint64_t kWatchAgainNs = 200 * kNsPerMs;
/// What is left changes with every grant; whoever looks for a node can do with what it was.
constexpr std::uint64_t kOfferNs = 2 * kNsPerSecond;
/// An etcd that is not compacted keeps each of these writes.
constexpr std::uint64_t kNameNs = 600 * kNsPerSecond;

/// etcd counts a session's time from when the request came in, which is later than when it was
/// sent; a tenth less leaves room for clocks that do not run alike.
std::uint64_t until_ns_of(std::uint64_t asked_ns, std::uint64_t ttl_s) noexcept {
  return asked_ns + ttl_s * kNsPerSecond / 10 * 9;
}

}  // namespace

Result<std::unique_ptr<Node>> Node::create(const EtcdOptions& etcd, NodeMemory memory,
                                           NodeOptions options, NodeListener listener) {
  PORTCULLIS_TRY(check_node_name(options.name));
  PORTCULLIS_TRY_ASSIGN(auto client, Etcd::create(etcd));
  return create(std::move(client), std::move(memory), std::move(options), std::move(listener),
                Clock::wall());
}

Result<std::unique_ptr<Node>> Node::create(std::unique_ptr<Etcd> etcd, NodeMemory memory,
                                           NodeOptions options, NodeListener listener,
                                           Clock clock) {
  PORTCULLIS_TRY(check_node_name(options.name));
  std::unique_ptr<Node> node(
      new Node(std::move(etcd), std::move(memory), std::move(options), std::move(listener), clock));
  node->options_.about.node = node->memory_.node();
  if (node->memory_.cluster() != 0)
    node->etcd_->expect(node->memory_.cluster(), node->memory_.revision());
  return node;
}

Compare Node::session_is_own() const {
  return {.key = session_key(options_.name),
          .of = Compare::Of::ModRevision,
          .revision = session_revision_};
}

std::vector<Compare> Node::standing() const {
  return {session_is_own(),
          {.key = member_key(options_.name),
           .of = Compare::Of::ModRevision,
           .revision = member_revision_}};
}

Put Node::own_name() const {
  return {.key = member_key(options_.name),
          .value = json_of(Member{.node = memory_.node(), .isolation = options_.isolation})};
}

const OwnKey& Node::newest() const noexcept {
  return shares_.newest().revision > outcome_.revision ? shares_.newest() : outcome_;
}

void Node::work(int wake_fd) {
  if (now_ns() >= due_ns_) {
    const auto done = has_joined_ ? keep() : join();
    const bool is_over = !has_joined_ || done.has_value() || now_ns() >= lives_until_ns_;
    if (!done && is_over) leave(done.error());
    if (!done) due_ns_ = now_ns() + kTryAgainNs;
  }
  if (has_joined_) read_changes();
  if (has_joined_ && !unwritten_.empty() && now_ns() >= write_ns_) write_outcomes();
  if (has_joined_) settle_a_share();
  if (has_joined_ && has_unwritten_left_ && now_ns() >= offer_ns_) write_offer();
  const std::uint64_t now = now_ns();
  const std::uint64_t wake = wake_ns();
  etcd_->wait(wake > now ? (wake - now + kNsPerMs - 1) / kNsPerMs : 0, wake_fd);
}

std::uint64_t Node::wake_ns() const {
  std::uint64_t wake = due_ns_;
  if (!has_joined_) return wake;
  if (!unwritten_.empty()) wake = std::min(wake, write_ns_);
  if (has_unwritten_left_) wake = std::min(wake, offer_ns_);
  return std::min(wake, shares_.due_ns().value_or(wake));
}

Result<void> Node::join() {
  if (lease_ != 0) {  // of a session that was lost: its name is free at once, if etcd can be asked
    PORTCULLIS_TRY(etcd_->revoke_lease(lease_));
    lease_ = 0;
  }
  PORTCULLIS_TRY_ASSIGN(const auto member_revision, free_member_revision());
  // One that does not answer now is looked at when it does.
  PORTCULLIS_TRY(etcd_->compare_endpoints(kCompareMs));
  kept_ns_ = now_ns();
  PORTCULLIS_TRY_ASSIGN(const auto lease, etcd_->grant_lease(options_.ttl_s));
  lease_ = lease.id;
  kept_ttl_s_ = lease.ttl_s;
  PORTCULLIS_TRY(register_session(member_revision));
  seen_revision_ = 0;
  quotas_.clear();
  shares_.begin();
  has_unwritten_left_ = left_.has_value();
  most_outcomes_ = kMostOutcomes;  // etcd may have been started again, with another limit
  PORTCULLIS_TRY(read_epochs());
  PORTCULLIS_TRY(memory_.remember(etcd_->cluster(), member_revision_));
  has_joined_ = true;
  is_watching_ = start_watch();
  live();
  if (listener_.log)
    listener_.log(
        fmt::format("node {} has joined the fleet of etcd cluster {:x}, with the fence "
                    "epochs of {} tenants",
                    options_.name, etcd_->cluster(), epochs_.size()));
  return {};
}

/// Of the member's key, which is this node's or nobody's (0).
Result<std::uint64_t> Node::free_member_revision() {
  const auto taken = [this](std::uint64_t by) {
    return fail(Errc::Busy,
                fmt::format("node {} is another node's name, of number {:x}, in etcd; a name of "
                            "its own is accepted, this one is number {:x}",
                            options_.name, by, memory_.node()));
  };
  PORTCULLIS_TRY_ASSIGN(const auto there,
                        etcd_->txn({.success = {Range{.key = member_key(options_.name)},
                                                Range{.key = session_key(options_.name)},
                                                Range{.key = newest().key}}}));
  if (there.found.size() != 3) return fail(Errc::Malformed, "etcd answers three reads with others");
  PORTCULLIS_TRY(check_newest(there.found[2]));
  std::uint64_t revision = 0;
  const auto named = [](const KeyValue& each, const Error& why) {
    return fail(why.code, fmt::format("{} in etcd: {}", each.key, why.text));
  };
  for (const KeyValue& each : there.found[0]) {
    const auto read = read_member(each.value);
    if (!read) return named(each, read.error());
    const Member& member = *read;
    if (member.node != memory_.node()) return taken(member.node);
    revision = each.mod_revision;
  }
  PORTCULLIS_TRY(check_own_name(revision));
  for (const KeyValue& each : there.found[1]) {
    const auto session = read_registration(each.value);
    if (!session) return named(each, session.error());
    if (session->node != memory_.node()) return taken(session->node);
    return fail(Errc::Busy,
                fmt::format("the session that node {} had before has not ended yet, or another "
                            "leased runs with a copy of its journal",
                            options_.name));
  }
  return revision;
}

/// A store that was restored from a backup catches up with what it had, and looks as if it had
/// never gone back. But nobody writes a node's name but the node: it is there as it was written
/// last, or as this node has written it since.
Result<void> Node::check_own_name(std::uint64_t revision) {
  const std::uint64_t written = memory_.cluster() != 0 ? memory_.revision() : 0;
  if (revision >= written) return {};
  if (revision == 0) PORTCULLIS_TRY(check_no_other_name());
  return fail(
      Errc::DeviceFailed,
      fmt::format("etcd has the name of node {} {}, and it was written at revision {}: it "
                  "was taken away, or etcd was restored from a backup (docs/fleet.md, "
                  "\"When something goes wrong\")",
                  options_.name,
                  revision == 0 ? "no more" : fmt::format("as of revision {}", revision), written));
}

/// By its number, which is its journal's.
Result<void> Node::check_no_other_name() {
  PORTCULLIS_TRY_ASSIGN(const auto members, etcd_->range(all_of(kMembers)));
  for (const KeyValue& each : members.found)
    if (const auto member = read_member(each.value); member && member->node == memory_.node())
      return fail(Errc::InvalidArgument,
                  fmt::format("node {} was renamed: in etcd its journal is that of node {}; that "
                              "name is accepted, or another journal (docs/fleet.md, \"When "
                              "something goes wrong\")",
                              options_.name, one_line(name_of(each.key, kMembers))));
  return {};
}

/// A store that was put back has lost what was written last before anything else, and may have gone
/// on since, beyond every revision that this node has seen. Nobody else makes that key older.
Result<void> Node::check_newest(const std::vector<KeyValue>& found) {
  const std::uint64_t revision = found.empty() ? 0 : found.front().mod_revision;
  if (revision >= newest().revision) return {};
  return etcd_->has_lost(lost_text(newest(), revision));
}

Result<void> Node::register_session(std::uint64_t member_revision) {
  const Compare member{.key = member_key(options_.name),
                       .of = Compare::Of::ModRevision,
                       .revision = member_revision};
  const Compare session{.key = session_key(options_.name), .revision = 0};
  PORTCULLIS_TRY_ASSIGN(const auto done,
                        etcd_->txn({.compare = {member, session},
                                    .success = {own_name(), Put{.key = session_key(options_.name),
                                                                .value = json_of(options_.about),
                                                                .lease = lease_}}}));
  if (!done.has_succeeded)
    return fail(Errc::Busy,
                fmt::format("node {} was registered by another at the same time", options_.name));
  session_revision_ = member_revision_ = done.header.revision;
  name_ns_ = now_ns() + kNameNs;
  return {};
}

Result<void> Node::read_epochs() {
  const std::uint64_t until_ns = now_ns() + kMostReadNs;
  std::uint64_t kept_ns = 0;
  // That the session lived behind a keepalive is what a read behind that says, not the keepalive.
  do {
    kept_ns = kept_ns_;
    PORTCULLIS_TRY(read_epochs_once(until_ns));
  } while (kept_ns != kept_ns_);
  return {};
}

Result<void> Node::read_epochs_once(std::uint64_t until_ns) {
  Range changed = all_of(kEpochs);
  Range quotas = all_of(kQuotas);
  changed.limit = quotas.limit = kPage;
  if (seen_revision_ != 0) changed.min_mod_revision = quotas.min_mod_revision = seen_revision_ + 1;
  Txn txn{.compare = standing(), .success = {changed, quotas, Range{.key = newest().key}}};
  PORTCULLIS_TRY_ASSIGN(auto epochs, etcd_->txn(txn));
  if (!epochs.has_succeeded) {
    PORTCULLIS_TRY(stand_again());
    txn.compare = standing();
    PORTCULLIS_TRY_ASSIGN(epochs, etcd_->txn(txn));
  }
  if (!epochs.has_succeeded || epochs.found.size() != 3)
    return fail(Errc::NotFound, fmt::format("node {} does not stand in etcd as it has written "
                                            "itself",
                                            options_.name));
  PORTCULLIS_TRY(check_newest(epochs.found[2]));
  PORTCULLIS_TRY(learn_pages(changed, std::move(epochs.found[0]), epochs.has_more[0], until_ns));
  PORTCULLIS_TRY(learn_pages(quotas, std::move(epochs.found[1]), epochs.has_more[1], until_ns));
  seen_revision_ = epochs.header.revision;
  return {};
}

/// What is written while pages are read is found as it is then, or told by the watch and the next
/// read, which begin behind the first page's revision. The session is kept meanwhile.
Result<void> Node::learn_pages(Range what, std::vector<KeyValue> found, bool has_more,
                               std::uint64_t until_ns) {
  for (const KeyValue& each : found) learn(each);
  while (has_more) {
    if (found.empty()) return fail(Errc::Malformed, "etcd has more than it has found");
    if (now_ns() >= until_ns)
      return fail(Errc::Timeout, fmt::format("what etcd has of {} tenants and more was not read "
                                             "within {} s",
                                             epochs_.size(), kMostReadNs / kNsPerSecond));
    what.key = found.back().key + '\0';  // the next that there can be
    if (now_ns() >= kept_ns_ + kept_ttl_s_ * kNsPerSecond / 3) PORTCULLIS_TRY(keep_session());
    PORTCULLIS_TRY_ASSIGN(auto page, etcd_->range(what));
    found = std::move(page.found);
    has_more = page.has_more;
    for (const KeyValue& each : found) learn(each);
  }
  return {};
}

/// While its session is there the name cannot be another node's, and whoever fences, or takes a
/// share, counts the node by its session. So nothing is lost, and the name is written again.
Result<void> Node::stand_again() {
  const Put name = own_name();
  const std::string session = session_key(options_.name);
  PORTCULLIS_TRY_ASSIGN(const auto there,
                        etcd_->txn({.success = {Range{.key = session}, Range{.key = name.key}}}));
  if (there.found.size() != 2) return fail(Errc::Malformed, "etcd answers two reads with others");
  const auto& member = there.found[1];
  if (there.found[0].empty())
    return fail(Errc::NotFound,
                fmt::format("the session of node {} is not there any more", options_.name));
  if (there.found[0].front().mod_revision != session_revision_)
    return fail(Errc::NotFound, fmt::format("somebody else has written {} in etcd", session));
  const Compare same{.key = name.key,
                     .of = Compare::Of::ModRevision,
                     .revision = member.empty() ? 0 : member.front().mod_revision};
  PORTCULLIS_TRY_ASSIGN(const auto done,
                        etcd_->txn({.compare = {session_is_own(), same}, .success = {name}}));
  if (!done.has_succeeded) return {};  // whatever it is now, the next look finds it
  member_revision_ = done.header.revision;
  // One that this node has written, and was not told of, is as it should be.
  const bool is_own = !member.empty() && member.front().value == name.value;
  if (!is_own && listener_.log)
    listener_.log(fmt::format("{} in etcd was {} while this node is there; it has written it again",
                              name.key, member.empty() ? "deleted" : "changed"));
  return memory_.remember(etcd_->cluster(), member_revision_);
}

/// One that is not answered, or finds that something does not stand, is looked at with the next
/// keepalive.
void Node::renew_name() {
  name_ns_ = now_ns() + kNameNs;
  const auto done = etcd_->txn({.compare = standing(), .success = {own_name()}});
  if (!done || !done->has_succeeded) return;
  member_revision_ = done->header.revision;
  const auto kept = memory_.remember(etcd_->cluster(), member_revision_);
  if (!kept && listener_.log) listener_.log(kept.error().text);
}

bool Node::start_watch() {
  return etcd_->watch({all_of(kEpochs), all_of(kQuotas)}, seen_revision_ + 1).has_value();
}

/// What it is now is read when a share is to be taken; whoever runs this gives back what it spares.
void Node::learn_quota(const KeyValue& quota) {
  const auto tenant = tenant_of_quota_key(quota.key);
  if (!tenant) return;
  std::uint64_t& known = quotas_[*tenant];
  if (quota.mod_revision <= known) return;
  known = quota.mod_revision;
  if (listener_.quota_changed) listener_.quota_changed(*tenant);
}

void Node::learn(const KeyValue& epoch) {
  if (epoch.key.starts_with(kQuotas)) return learn_quota(epoch);
  const auto tenant = tenant_of_epoch_key(epoch.key);
  if (!tenant) {
    if (strange_keys_++ == 0 && listener_.log)  // who may write there could fill the log
      listener_.log(
          fmt::format("etcd has a key {} that is no tenant's epoch", one_line(epoch.key)));
    return;
  }
  std::uint64_t& known = epochs_[*tenant];
  if (epoch.mod_revision <= known) return;
  known = epoch.mod_revision;
  listener_.fence(*tenant, known);
}

Result<void> Node::keep_session() {
  const std::uint64_t asked_ns = now_ns();
  PORTCULLIS_TRY_ASSIGN(const auto kept, etcd_->keep_alive(lease_));
  // Over, whatever the node's own clock says.
  if (kept.ttl_s == 0) lives_until_ns_ = 0;
  if (kept.ttl_s == 0) return fail(Errc::NotFound, "etcd has ended the session");
  kept_ns_ = asked_ns;
  kept_ttl_s_ = kept.ttl_s;
  return {};
}

Result<void> Node::keep() {
  PORTCULLIS_TRY(keep_session());
  auto read = read_epochs();
  if (!read && (read.error().code == Errc::NotFound || etcd_->has_gone_back())) lives_until_ns_ = 0;
  if (!read) return read;
  if (!is_watching_) is_watching_ = start_watch();
  live();
  if (now_ns() >= name_ns_) renew_name();
  return {};
}

void Node::live() {
  lives_until_ns_ = until_ns_of(kept_ns_, kept_ttl_s_);
  due_ns_ = kept_ns_ + kept_ttl_s_ * kNsPerSecond / 3;
  said_.reset();
  listener_.lives(kept_ns_, lives_until_ns_);
}

void Node::leave(const Error& why) {
  has_joined_ = false;
  is_watching_ = false;
  due_ns_ = 0;
  etcd_->end_watch();
  listener_.is_out(why.text);
  say(why);
}

void Node::say(const Error& why) {
  // An etcd that goes is refused, silent and without a leader in turn, which is all one.
  const Errc kind = why.code == Errc::Timeout ? Errc::System : why.code;
  if (std::exchange(said_, kind) == kind || !listener_.log || ends_soon_) return;
  listener_.log(fmt::format("no session with etcd, nothing is granted: {}", why.text));
}

void Node::read_changes() {
  while (is_watching_) {
    const auto change = etcd_->next_change();
    if (change && !*change) return;
    if (!change) {  // what it would have told is read with the keepalive
      is_watching_ = false;
      due_ns_ = std::min(due_ns_, now_ns() + kWatchAgainNs);
      return;
    }
    for (const WatchEvent& each : (*change)->events) {
      const bool is_quota = each.entry.key.starts_with(kQuotas);
      if (!each.is_delete || is_quota) learn(each.entry);
      if (each.is_delete && !is_quota && listener_.log)
        listener_.log(fmt::format("etcd's key {} was deleted; what was fenced stays fenced",
                                  one_line(each.entry.key)));
    }
  }
}

void Node::fenced(std::uint64_t tenant, std::uint64_t epoch, std::uint32_t torn_down,
                  std::uint32_t fenced) {
  Outcome& outcome = unwritten_[tenant];
  unwritten_order_.erase({outcome.epoch, tenant});
  unwritten_order_.emplace(epoch, tenant);
  outcome = {.epoch = epoch,
             .node = memory_.node(),
             .incarnation = options_.about.incarnation,
             .torn_down = torn_down,
             .fenced = fenced};
  write_ns_ = 0;
}

/// Under this session alone: after a name has been given to another node, nobody else speaks for
/// it. One transaction a turn: keepalives and fences that come do not wait for what is behind it.
void Node::write_outcomes() {
  Txn txn{.compare = standing()};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> written;
  for (auto at = unwritten_order_.rbegin();
       at != unwritten_order_.rend() && written.size() < most_outcomes_; ++at) {
    written.push_back(*at);
    txn.success.emplace_back(Put{.key = outcome_key(at->second, options_.name),
                                 .value = json_of(unwritten_.at(at->second))});
  }
  const auto done = etcd_->txn(txn);
  if (done && done->has_succeeded) {
    outcome_ = {.key = outcome_key(written.front().second, options_.name),
                .revision = done->header.revision};
    for (const auto& each : written) unwritten_order_.erase(each);
    for (const auto& [epoch, tenant] : written) unwritten_.erase(tenant);
    return;
  }
  if (!done && done.error().code == Errc::OutOfResources && most_outcomes_ > 1) {
    most_outcomes_ /= 2;  // what etcd was started with (--max-txn-ops) nobody can be asked
    return;
  }
  write_ns_ = now_ns() + kTryAgainNs;
  if (done) due_ns_ = now_ns();  // something does not stand: it is looked at now
}

/// One tenant's: a fence that comes meanwhile is heard of between two of them.
void Node::settle_a_share() {
  const auto due_ns = shares_.due_ns();
  if (!due_ns || *due_ns > now_ns()) return;
  const auto settled = shares_.settle(*etcd_, standing(), now_ns());
  if (!settled) due_ns_ = now_ns();  // it is looked at, and then it is asked for again
  if (settled && *settled && listener_.share) listener_.share(**settled);
}

void Node::offer(const Amount& left) {
  left_ = left;
  has_unwritten_left_ = true;
}

/// Nobody relies on it, so one that cannot be written waits for its turn like any other.
void Node::write_offer() {
  const Offer offer{.node = memory_.node(), .left = left_.value_or(Amount{})};
  offer_ns_ = now_ns() + kOfferNs;
  const auto written =
      etcd_->txn({.compare = standing(),
                  .success = {Put{
                      .key = offer_key(options_.name), .value = json_of(offer), .lease = lease_}}});
  has_unwritten_left_ = !written || !written->has_succeeded;
  if (written && !written->has_succeeded) due_ns_ = now_ns();
}

void Node::end_soon() noexcept {
  constexpr std::uint64_t kJoinedMs = 3'000;
  constexpr std::uint64_t kElseMs = 300;  // for a session that it may have got meanwhile
  ends_soon_ = true;
  etcd_->end_by(Clock::wall().now_ns() + (has_joined_ ? kJoinedMs : kElseMs) * kNsPerMs);
}

void Node::end(bool holds_nothing) {
  if (!has_joined_ && lease_ != 0) (void)etcd_->revoke_lease(lease_);
  if (!has_joined_) return;
  const Put member{.key = member_key(options_.name),  // whatever it is now
                   .value = json_of(Member{.node = memory_.node(), .has_ended = true})};
  Result<void> ended;
  if (holds_nothing) {
    const auto told = etcd_->txn({.compare = {session_is_own()}, .success = {member}});
    if (!told) ended = tl::unexpected<Error>(told.error());
  }
  if (ended) ended = etcd_->revoke_lease(lease_);
  if (!ended && listener_.log) listener_.log("etcd was not told of the end: " + ended.error().text);
  has_joined_ = false;
}

}  // namespace portcullis::fleet
