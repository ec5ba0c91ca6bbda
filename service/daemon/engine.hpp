// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that owns the device, without the thread: takes requests, revokes before anything
// else, grants one at a time between them, and tells what came of each. Every outcome is told once,
// whoever asked for it, at the end of the call in which it stood. Knows nothing of connections, of
// the journal, or of who may ask.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "lease/fence_plan.hpp"
#include "lease/lease_manager.hpp"
#include "lease/umr_freer.hpp"
#include "pmd/function.hpp"
#include "pmd/umr_queue.hpp"
#include "service/daemon/points.hpp"
#include "service/daemon/requests.hpp"
#include "service/daemon/timed_channel.hpp"

namespace portcullis::service::daemon {

struct EngineOptions {
  std::uint32_t slots = 1024;
  lease::Plan plan = lease::seed_plan();
  std::uint64_t grace_ms = 5'000;
  std::uint64_t residence_ms = 0;
  prm::QpcMtu mtu = prm::QpcMtu::MTU_1024;
  std::uint8_t source_address_index = 0;
  std::uint64_t first_epoch = 0;  // 0: drawn
  LogSink log = {};
  /// Each command of a grant, a fence and a sweep, from the thread that works; may be empty.
  TellCommand on_command = {};
  AtPoint at = {};
  /// Called on the idle path, from the thread that works, while the function is not broken; may be
  /// empty.
  std::function<void()> idle = {};
  /// An error once whoever has the function in another process went, or was given up; called as
  /// idle is. May be empty.
  std::function<Result<void>()> connection = {};
};

class Engine {
 public:
  using Tell = std::function<void(Event)>;
  /// Milliseconds since 1970, for records.
  using UnixMs = std::function<std::uint64_t()>;

  /// `function` must outlive it. InvalidArgument, Unsupported or DeviceFailed as the manager has
  /// it.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(pmd::Function& function,
                                                              const EngineOptions& options,
                                                              Tell tell, UnixMs unix_ms);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() = default;

  /// Takes it over; what is to be done at once is done in work().
  void ask(Request request);
  /// The revokes that were asked for, up to kTogether of single leases, tenants in turn; once there
  /// are none, one grant; then the idle path. True while there is more to do at once, a slot in the
  /// sweep's hands included.
  bool work();
  /// Revoked in one batch: some tens of milliseconds of a card's, so that neither a tenant nor
  /// whoever asks meanwhile waits for long.
  static constexpr std::size_t kTogether = 64;
  /// Revokes what is held, as the server's own end, and destroys what is left. The error says what
  /// stays fenced.
  [[nodiscard]] Result<void> tear_down();
  [[nodiscard]] Counts counts() const;

 private:
  struct Held {
    std::uint64_t epoch = 0;
    std::uint64_t tenant = 0;
    std::uint32_t slot = 0;
    std::optional<wire::Cause> asked;  // who wanted it back
  };

  Engine(pmd::Function& function, Tell tell, UnixMs unix_ms)
      : function_(&function), tell_(std::move(tell)), unix_ms_(std::move(unix_ms)) {}
  [[nodiscard]] Result<void> start(const EngineOptions& options);
  void set_up_umr();
  void follow_commands(lease::Host& host, const EngineOptions& options);
  void handle(const Alloc& wanted);
  void handle(const Renew& wanted);
  void enqueue(const Revoke& wanted);
  void revoke_all(const std::vector<lease::LeaseName>& names, wire::Plan plan);
  void revoke_some();
  [[nodiscard]] std::vector<lease::LeaseName> held_of(const Revoke& wanted);
  [[nodiscard]] const lease::Plan& plan_of(wire::Plan plan) const noexcept;
  void note_outcome(const lease::Lease& lease, const lease::Verdict& verdict);
  /// What stood since the last time.
  void tell_outcomes();
  void look_at_function();
  [[nodiscard]] Result<void> condition();
  [[nodiscard]] bool is_ending(const Held& held) const noexcept;
  void begin(const Challenge& challenge);
  /// Those that were met are told; those that are too late are revoked.
  void look_at_challenges();
  [[nodiscard]] std::uint64_t now_ns() const noexcept {
    return function_->context().device.clock.now_ns();
  }

  struct Single {
    lease::LeaseName name;
    wire::Plan plan = wire::Plan::Default;
  };
  struct Outcome {
    lease::Lease lease;
    lease::Verdict verdict;
  };
  struct OpenChallenge {
    lease::LeaseName name;
    std::uint64_t nonce = 0;  // as the region's first word has it
    std::uint64_t until_ns = 0;
  };

  pmd::Function* function_;
  Tell tell_;
  UnixMs unix_ms_;
  lease::Plan plan_ = lease::seed_plan();
  LogSink log_;
  std::function<void()> idle_;
  std::function<Result<void>()> connection_;
  std::optional<PointChannel> points_;
  std::optional<TimedChannel> timed_;
  std::optional<pmd::Context> followed_context_;  // the function's, with the outermost channel
  std::optional<pmd::UmrQueue> umr_queue_;
  std::optional<lease::UmrFreer> umr_;
  std::deque<Revoke> many_;                              // a tenant's, or everybody's
  std::map<std::uint64_t, std::deque<Single>> singles_;  // by tenant
  std::uint64_t last_tenant_ = 0;                        // that had its turn
  std::deque<Request> others_;
  std::unordered_map<std::uint64_t, Held> held_;  // by id: what has been granted and not ended
  std::vector<Outcome> outcomes_;
  std::deque<OpenChallenge> challenges_;
  bool is_broken_ = false;
  std::unique_ptr<lease::LeaseManager> manager_;  // notes outcomes up to its own end
};

}  // namespace portcullis::service::daemon
