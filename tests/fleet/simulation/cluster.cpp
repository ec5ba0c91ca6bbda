// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fleet/simulation/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace portcullis::fleet::simulation {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLookAgainNs = 100 * kNsPerMs;

Reply refused(long status, int code, const char* text) {
  return {.status = status, .body = json{{"error", text}, {"code", code}}.dump()};
}
Reply no_lease() { return refused(404, 5, "etcdserver: requested lease not found"); }
Reply no_space() { return refused(429, 8, "etcdserver: mvcc: database space exceeded"); }
/// In the place of an answer that never comes: etcd gives up by itself.
Reply no_leader() { return refused(503, 14, "etcdserver: request timed out"); }

std::uint64_t lease_of(const json& request) {
  return std::stoull(request.at("ID").get_ref<const std::string&>());
}

}  // namespace

std::vector<std::string> endpoints_of(const Cluster& cluster) {
  std::vector<std::string> endpoints;
  for (std::size_t i = 0; i < cluster.members(); ++i)
    endpoints.push_back(fmt::format("http://etcd-{}", i));
  return endpoints;
}

Cluster::Cluster(World& world, std::size_t members)
    : world_(world),
      members_(members),
      lossy_(std::array<std::uint64_t, 3>{6, 60, 150}.at(world.draw(0, 2))) {}

std::uint64_t Cluster::ns_of(std::uint64_t revision) const {
  const auto at = revisions_.find(revision);
  return at == revisions_.end() ? 0 : at->second;
}

std::uint64_t Cluster::delay_ns() { return world_.draw(100 * kNsPerUs, most_ns_); }

/// More than half of all members hear each other, this one among them, and have a leader.
bool Cluster::can_commit(std::size_t member) const {
  const auto is_there = [](const Member& one) { return !one.is_down && one.isolated_at == 0; };
  const auto there = std::count_if(members_.begin(), members_.end(), is_there);
  return is_there(members_[member]) && world_.now_ns() >= leader_from_ns_ &&
         2 * static_cast<std::size_t>(there) > members_.size();
}

void Cluster::ask(Asked asked, std::function<void(const Reply&)> answered) {
  // Now and then one is on its way for longer than anybody waits for it.
  const std::uint64_t more_ns = world_.happens(lossy_ / 2) ? world_.draw(0, 6'000) * kNsPerMs : 0;
  world_.after(delay_ns() + more_ns, [this, asked = std::move(asked),
                                      answered = std::move(answered)] { arrive(asked, answered); });
}

void Cluster::arrive(const Asked& asked, const std::function<void(const Reply&)>& answered) {
  if (is_cut(asked.host, asked.member)) return;
  if (can_commit(asked.member)) return answer(asked, answered, done(asked));
  const Member& member = members_[asked.member];
  if (asked.path == "/v3/kv/txn" && member.isolated_at != 0)
    if (const json request = json::parse(asked.body); is_serializable(request))
      return answer(asked, answered, store_.read_at(request, member.isolated_at));
  // What was proposed before the leader went may be done by the next one, and nobody is told.
  if (member.isolated_at == 0 && world_.happens(300))
    world_.at(leader_from_ns_ + delay_ns(), [this, asked] {
      if (can_commit(asked.member)) (void)done(asked);
    });
  if (world_.happens(500))
    world_.after(world_.draw(0, 3'000) * kNsPerMs,
                 [this, asked, answered] { answer(asked, answered, no_leader()); });
}

void Cluster::answer(const Asked& asked, const std::function<void(const Reply&)>& answered,
                     Reply reply) {
  if (world_.happens(lossy_)) return;  // it is lost on its way
  world_.after(delay_ns(), [this, asked, answered, reply = std::move(reply)] {
    if (!is_cut(asked.host, asked.member)) answered(reply);
  });
}

Reply Cluster::done(const Asked& asked) {
  const std::uint64_t before = store_.revision();
  const json request = json::parse(asked.body);
  const auto reply = [&]() -> Reply {
    if (asked.path == "/v3/kv/txn") return txn(request);
    if (asked.path == "/v3/kv/range") return store_.range(request);
    if (asked.path == "/v3/lease/grant") return grant(request);
    if (asked.path == "/v3/lease/keepalive") return keep(request);
    if (asked.path == "/v3/lease/revoke") return revoke(request);
    return refused(404, 12, "Not Found");
  }();
  if (store_.revision() != before) publish();
  return reply;
}

Reply Cluster::txn(const json& request) {
  if (is_write(request)) {
    if (is_full_) return no_space();
    for (const json& each : request.at("success")) {
      const auto put = each.find("request_put");
      if (put != each.end() && put->contains("lease") &&
          !leases_.contains(std::stoull(put->at("lease").get<std::string>())))
        return no_lease();
    }
  }
  return store_.txn(request);
}

Reply Cluster::grant(const json& request) {
  if (is_full_) return no_space();
  const std::uint64_t id = ++last_lease_;
  Lease& lease = leases_[id];
  lease.ttl_s = std::stoull(request.at("TTL").get<std::string>());
  lease.ends_ns = world_.now_ns() + ttl_ns(lease);
  expire_later(id, lease.ends_ns);
  return {.body = json{{"header", store_.header()},
                       {"ID", std::to_string(id)},
                       {"TTL", std::to_string(lease.ttl_s)}}
                      .dump()};
}

Reply Cluster::keep(const json& request) {
  const auto at = leases_.find(lease_of(request));
  json result{{"header", store_.header()}, {"ID", request.at("ID")}};
  if (at != leases_.end()) {
    at->second.ends_ns = world_.now_ns() + ttl_ns(at->second);
    expire_later(at->first, at->second.ends_ns);
    result["TTL"] = std::to_string(at->second.ttl_s);
  }
  return {.body = json{{"result", result}}.dump()};
}

Reply Cluster::revoke(const json& request) {
  const auto at = leases_.find(lease_of(request));
  if (at == leases_.end()) return no_lease();
  store_.erase_keys_of(at->first);
  leases_.erase(at);
  return {.body = json{{"header", store_.header()}}.dump()};
}

/// The leader's clock runs by its own rate: half a hundredth off at most.
std::uint64_t Cluster::ttl_ns(const Lease& lease) {
  return lease.ttl_s * kNsPerSecond / 1000 * world_.draw(995, 1005);
}

/// etcd looks for leases that are over now and then.
void Cluster::expire_later(std::uint64_t id, std::uint64_t ends_ns) {
  world_.at(ends_ns + world_.draw(0, 500) * kNsPerMs, [this, id] { expire(id); });
}

void Cluster::expire(std::uint64_t id) {
  const auto at = leases_.find(id);
  if (at == leases_.end() || at->second.ends_ns > world_.now_ns()) return;
  if (world_.now_ns() < leader_from_ns_) return;  // the next leader gives it its whole time
  leases_.erase(at);
  const std::uint64_t before = store_.revision();
  store_.erase_keys_of(id);
  if (store_.revision() != before) publish();
}

void Cluster::lose_leader(std::uint64_t ns) {
  leader_from_ns_ = world_.now_ns() + ns;
  for (auto& [id, lease] : leases_) {
    lease.ends_ns = leader_from_ns_ + ttl_ns(lease);
    expire_later(id, lease.ends_ns);
  }
}

void Cluster::kill(std::size_t member) {
  members_[member].is_down = true;
  break_streams(member, false);
}

void Cluster::isolate(std::size_t member) { members_[member].isolated_at = store_.revision(); }

void Cluster::mend_all() {
  for (Member& each : members_) each = Member{};
  cuts_.clear();
  set_full(false);
  set_slow(2 * kNsPerMs);
  lossy_ = 0;
}

// ---- Streams -----------------------------------------------------------------------------------

std::shared_ptr<Stream> Cluster::watch(const Asked& asked, std::function<void()> has_news) {
  auto stream = std::make_shared<Stream>();
  stream->host = asked.host;
  stream->member = asked.member;
  stream->has_news = std::move(has_news);
  std::size_t begin = 0;
  while (begin < asked.body.size()) {  // one object a line
    const std::size_t end = std::min(asked.body.find('\n', begin), asked.body.size());
    const json request = json::parse(asked.body.substr(begin, end - begin));
    const json& create = request.at("create_request");
    stream->ranges.push_back(range_of(create));
    const auto first = std::stoull(create.at("start_revision").get<std::string>());
    if (first != 0) stream->next = first;
    begin = end + 1;
  }
  std::erase_if(streams_, [](const auto& each) { return !each->is_open; });
  streams_.push_back(stream);
  look_at(stream, delay_ns());
  return stream;
}

void Cluster::publish() {
  for (std::uint64_t revision = store_.revision(); !revisions_.contains(revision) && revision > 1;
       --revision)
    revisions_[revision] = world_.now_ns();
  for (const auto& each : streams_)
    if (each->is_open) look_at(each, delay_ns());
}

void Cluster::look_at(const std::shared_ptr<Stream>& stream, std::uint64_t after_ns) {
  if (std::exchange(stream->is_due, true)) return;
  world_.after(after_ns, [this, stream] {
    stream->is_due = false;
    if (stream->is_open) send_changes(stream);
  });
}

void Cluster::begin(Stream& stream) {
  if (!stream.next) stream.next = store_.revision() + 1;
  stream.lines.push_back(json{{"result", {{"header", store_.header()}, {"created", true}}}}.dump());
  stream.has_news();
}

void Cluster::send_changes(const std::shared_ptr<Stream>& stream) {
  if (stream->is_silent) return;
  if (cuts_.contains({stream->host, stream->member}) || members_[stream->member].isolated_at != 0)
    return look_at(stream, kLookAgainNs);  // it comes when it can
  if (stream->has_ended) return stream->has_news();
  if (!std::exchange(stream->is_created, true)) begin(*stream);
  json result{{"header", store_.header()}};
  if (stream->next <= store_.compacted() && stream->next <= store_.revision()) {
    result["canceled"] = true;
    result["compact_revision"] = std::to_string(store_.compacted());
  } else {
    json events = json::array();
    const auto& changes = store_.changes();
    auto at = std::lower_bound(
        changes.begin(), changes.end(), *stream->next,
        [](const Store::Change& one, std::uint64_t revision) { return one.revision < revision; });
    for (; at != changes.end(); ++at)
      if (std::any_of(stream->ranges.begin(), stream->ranges.end(),
                      [&](const KeyRange& each) { return each.contains(at->key); }))
        events.push_back(Store::event_of(*at));
    stream->next = store_.revision() + 1;
    if (events.empty()) return;
    result["events"] = std::move(events);
  }
  stream->lines.push_back(json{{"result", std::move(result)}}.dump());
  stream->has_news();
}

void Cluster::break_streams(std::size_t member, bool silently) {
  for (const auto& each : streams_) {
    if (each->member != member || !each->is_open) continue;
    (silently ? each->is_silent : each->has_ended) = true;
    if (!silently) look_at(each, delay_ns());
  }
}

// ---- A host's way to it ------------------------------------------------------------------------

Cluster::Asked SimulatedTransport::asked_of(const Request& request) const {
  constexpr std::string_view kBefore = "http://etcd-";
  const std::size_t slash = request.url.find('/', kBefore.size());
  return {.host = host_,
          .member = std::stoul(request.url.substr(kBefore.size(), slash - kBefore.size())),
          .path = request.url.substr(slash),
          .body = request.body};
}

Result<Transport::Response> SimulatedTransport::post(const Request& request,
                                                     std::uint64_t deadline_ms) {
  const auto reply = std::make_shared<std::optional<Reply>>();
  Fiber& fiber = *fiber_;
  const auto waiting = std::make_shared<bool>(true);
  cluster_.ask(asked_of(request), [reply, &fiber, waiting](const Reply& answer) {
    if (!*waiting) return;
    *reply = answer;
    fiber.wake();
  });
  struct Over {
    bool& waiting;
    ~Over() { waiting = false; }
  } over{*waiting};
  const std::uint64_t until_ns = world_.now_ns() + deadline_ms * kNsPerMs;
  while (!*reply && world_.now_ns() < until_ns) fiber.wait_until(until_ns);
  if (!*reply) return fail(Errc::Timeout, "Timeout was reached");
  return Response{.status = (*reply)->status, .body = (*reply)->body};
}

Result<void> SimulatedTransport::open_stream(const Request& request) {
  close();
  Fiber& fiber = *fiber_;
  stream_ = cluster_.watch(asked_of(request), [&fiber] { fiber.wake(); });
  return {};
}

void SimulatedTransport::close() noexcept {
  if (!stream_) return;
  stream_->is_open = false;
  stream_->has_news = nullptr;
  stream_.reset();
}

Result<std::optional<std::string>> SimulatedTransport::next_line() {
  if (!stream_) return fail(Errc::NotFound, "no stream is open");
  if (!stream_->lines.empty()) {
    std::optional<std::string> line(std::move(stream_->lines.front()));
    stream_->lines.pop_front();
    return line;
  }
  if (!stream_->has_ended) return std::nullopt;
  close();
  return fail(Errc::System, "the stream has ended");
}

void SimulatedTransport::wait(std::uint64_t most_ms, int /*wake_fd*/) {
  const auto has_news = [this] {
    return has_mail_() || (stream_ && (!stream_->lines.empty() || stream_->has_ended));
  };
  const std::uint64_t until_ns = world_.now_ns() + most_ms * kNsPerMs;
  Fiber& fiber = *fiber_;
  if (!has_news() && most_ms != 0) fiber.wait_until(until_ns);
}

}  // namespace portcullis::fleet::simulation
