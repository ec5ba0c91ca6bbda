// SPDX-License-Identifier: BSD-3-Clause
//
// An etcd of several members and the network to it. A request is done at one instant between its
// sending and its answer, or later than anybody waits for it, or never; members go, fall behind
// and have no leader; streams of changes come late, end, or say nothing any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fleet/transport.hpp"
#include "tests/fleet/simulation/store.hpp"
#include "tests/fleet/simulation/world.hpp"

namespace portcullis::fleet::simulation {

using HostId = std::size_t;

/// A watch, at one member, of one host.
struct Stream {
  HostId host = 0;
  std::size_t member = 0;
  std::vector<KeyRange> ranges = {};
  std::optional<std::uint64_t> next = {};  // revision that has not been sent; none: from now on
  bool is_open = true;                     // for whoever asked
  bool is_created = false;
  bool has_ended = false;  // at the member, and it will be heard of
  bool is_silent = false;  // nothing comes any more, and nobody hears of it
  bool is_due = false;     // a look at it is on its way
  std::deque<std::string> lines = {};
  std::function<void()> has_news = {};
};

class Cluster {
 public:
  Cluster(World& world, std::size_t members);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  struct Asked {
    HostId host = 0;
    std::size_t member = 0;
    std::string path = {};
    std::string body = {};
  };
  /// `answered` is called once, or never.
  void ask(Asked asked, std::function<void(const Reply&)> answered);
  [[nodiscard]] std::shared_ptr<Stream> watch(const Asked& asked, std::function<void()> has_news);

  [[nodiscard]] Store& store() noexcept { return store_; }
  [[nodiscard]] std::size_t members() const noexcept { return members_.size(); }
  /// When that revision was made.
  [[nodiscard]] std::uint64_t ns_of(std::uint64_t revision) const;

  // What goes wrong, until it is mended.
  void cut(HostId host, std::size_t member) { cuts_.emplace(host, member); }
  void mend(HostId host) {
    std::erase_if(cuts_, [host](const auto& each) { return each.first == host; });
  }
  void kill(std::size_t member);
  void restart(std::size_t member) { members_[member].is_down = false; }
  /// From its peers: it hears nothing new and has nothing done.
  void isolate(std::size_t member);
  void join(std::size_t member) { members_[member].isolated_at = 0; }
  /// No leader for so long; what leases have left begins anew then.
  void lose_leader(std::uint64_t ns);
  void set_full(bool is_full) noexcept { is_full_ = is_full; }
  /// Requests and answers take up to so long.
  void set_slow(std::uint64_t most_ns) noexcept { most_ns_ = most_ns; }
  void compact() { store_.compact(); }
  /// Streams at that member end, or fall silent.
  void break_streams(std::size_t member, bool silently);
  void mend_all();

 private:
  struct Member {
    bool is_down = false;
    std::uint64_t isolated_at = 0;  // revision that it has then; 0: it is not
  };
  struct Lease {
    std::uint64_t ttl_s = 0;
    std::uint64_t ends_ns = 0;
  };

  void arrive(const Asked& asked, const std::function<void(const Reply&)>& answered);
  void answer(const Asked& asked, const std::function<void(const Reply&)>& answered, Reply reply);
  [[nodiscard]] bool is_cut(HostId host, std::size_t member) const {
    return members_[member].is_down || cuts_.contains({host, member});
  }
  [[nodiscard]] bool can_commit(std::size_t member) const;
  [[nodiscard]] Reply done(const Asked& asked);
  [[nodiscard]] Reply txn(const nlohmann::json& request);
  [[nodiscard]] Reply grant(const nlohmann::json& request);
  [[nodiscard]] Reply keep(const nlohmann::json& request);
  [[nodiscard]] Reply revoke(const nlohmann::json& request);
  [[nodiscard]] std::uint64_t ttl_ns(const Lease& lease);
  void expire_later(std::uint64_t id, std::uint64_t ends_ns);
  void expire(std::uint64_t id);
  [[nodiscard]] std::uint64_t delay_ns();
  void publish();
  void look_at(const std::shared_ptr<Stream>& stream, std::uint64_t after_ns);
  void begin(Stream& stream);
  void send_changes(const std::shared_ptr<Stream>& stream);

  World& world_;
  Store store_;
  std::vector<Member> members_;
  std::uint64_t lossy_;  // answers in a thousand that are lost
  std::set<std::pair<HostId, std::size_t>> cuts_;
  std::map<std::uint64_t, Lease> leases_;
  std::uint64_t last_lease_ = 0x1000;
  std::uint64_t leader_from_ns_ = 0;
  std::uint64_t most_ns_ = 2 * kNsPerMs;
  bool is_full_ = false;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::map<std::uint64_t, std::uint64_t> revisions_;  // when each began, by revision
};

/// A host's way to it, for a fiber of that host.
class SimulatedTransport final : public Transport {
 public:
  /// `has_mail`: whoever waits has something else to do.
  SimulatedTransport(World& world, Cluster& cluster, HostId host,
                     const std::unique_ptr<Fiber>& fiber, std::function<bool()> has_mail)
      : world_(world),
        cluster_(cluster),
        host_(host),
        fiber_(fiber),
        has_mail_(std::move(has_mail)) {}

  ~SimulatedTransport() override { close(); }
  SimulatedTransport(const SimulatedTransport&) = delete;
  SimulatedTransport& operator=(const SimulatedTransport&) = delete;

  [[nodiscard]] Result<Response> post(const Request& request, std::uint64_t deadline_ms) override;
  [[nodiscard]] Result<void> open_stream(const Request& request) override;
  void close_stream() noexcept override { close(); }
  [[nodiscard]] Result<std::optional<std::string>> next_line() override;
  void wait(std::uint64_t most_ms, int wake_fd) override;

 private:
  void close() noexcept;
  [[nodiscard]] Cluster::Asked asked_of(const Request& request) const;

  World& world_;
  Cluster& cluster_;
  HostId host_;
  const std::unique_ptr<Fiber>& fiber_;
  std::function<bool()> has_mail_;
  std::shared_ptr<Stream> stream_;
};

/// "http://etcd-0", ..
[[nodiscard]] std::vector<std::string> endpoints_of(const Cluster& cluster);

}  // namespace portcullis::fleet::simulation
