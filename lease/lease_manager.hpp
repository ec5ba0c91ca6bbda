// SPDX-License-Identifier: BSD-3-Clause
//
// Leases on one function: grants them, takes them back by a plan, and sweeps up behind. The order
// is always the same: the table is asked, the device is told, the table is told what became of it.
//
//   auto manager = LeaseManager::create(Host::of(*hca), {});
//   auto grant = (*manager)->grant({.bytes = 1 << 20, .peer = peer});
//   auto answer = (*manager)->revoke(grant->lease.id, grant->lease.epoch);  // TornDown
//   (*manager)->poll();                                                     // on the idle path
//
// One thread at a time. A revoke waits for the device only while its own commands run; a plan that
// lingers can be started and left to poll(). Many leases are revoked in one batch, as many of them
// within the deadline as the device manages; the rest goes on in poll(), and so do leases whose
// time to live has passed, some at a time and behind what was asked for by name. Whatever hangs, an
// outcome that was asked for stands within 1 s: a grant, a poll and an undoing are bounded, and
// what is behind one of them has the less time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "lease/deadline.hpp"
#include "lease/fence.hpp"
#include "lease/fence_plan.hpp"
#include "lease/fence_queue.hpp"
#include "lease/grant.hpp"
#include "lease/holding.hpp"
#include "lease/key_freer.hpp"
#include "lease/lease_table.hpp"
#include "lease/lease_terms.hpp"
#include "lease/region_store.hpp"
#include "lease/sweep.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/events.hpp"
#include "pmd/function.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::lease {

/// What the manager needs of the function it grants on. All must outlive it.
struct Host {
  const pmd::Context* context = nullptr;
  steering::DropRule* steering = nullptr;  // null: absent
  KeyFreer* umr = nullptr;                 // null: absent
  std::function<std::optional<pmd::Event>()> next_event;
  std::function<std::uint32_t()> fence_slots_available;
  /// Hears of every event that the manager took from the function. May be empty.
  std::function<void(const pmd::Event&)> on_event = {};
  /// Hears of every outcome of a fence when it stands, asked for or by time to live, and of each
  /// that was under way or waited when another fence took the function down. A fence of many is
  /// still being settled then, so it neither throws nor calls the manager; who has to keeps the
  /// outcome until the call has returned, as front/lease_manager.cpp does. May be empty.
  std::function<void(const Lease&, const Verdict&)> on_outcome = {};
  /// Told when a fence or a drain has reset the function: who asks it from then on gets an answer
  /// at once, and never "ok". May be empty.
  std::function<void()> on_function_reset = {};
  LogSink log = {};  // may be empty; of(function): the one that bring-up was given

  [[nodiscard]] static Host of(pmd::Function& function);
};

/// What a revoke answers. Revoking is no outcome yet: of a batch too large for its deadline, the
/// lease has its turn in poll(); asked for by itself, it has its outcome within the deadline.
struct RevokeAnswer {
  Outcome outcome = Outcome::NotFound;
  std::uint64_t current_epoch = 0;  // of the slot; the lease's own unless NotFound
  Verdict verdict;                  // empty when NotFound or Revoking
  /// Revoking: about how long the device needs for all that wait, if poll() is called all the time.
  std::uint64_t expected_ms = 0;

  bool operator==(const RevokeAnswer&) const = default;
};

/// Leases that are being granted together.
struct GroupGrant {
  std::vector<Lease> leases;
  GroupMaking making;
  std::size_t served = 0;  // members that have entry and term

  [[nodiscard]] bool is_whole() const noexcept { return served == leases.size(); }
};

class LeaseManager {
 public:
  /// A poll lets fences wait for the device so long.
  static constexpr std::uint64_t kPollMs = 20;

  /// InvalidArgument for a time that is out of its range.
  struct Options {
    LeaseTable::Options table = {};
    Plan plan = seed_plan();
    FenceOptions fence = {};
    Sweep::Options sweep = {};
    Granter::Options grant = {};
    RegionStore::Options regions = {};
    /// From the fence to the deferred phase; a QP number rests at least as long.
    std::uint64_t grace_ms = 5'000;
    /// How long the fabric may hold a packet back, where somebody knows (docs/pfc.md): twice that
    /// is added to what the client's retry budget has a QP number rest for (lease/number_rest.hpp).
    std::uint64_t residence_ms = 0;
  };

  [[nodiscard]] static Result<std::unique_ptr<LeaseManager>> create(Host host,
                                                                    const Options& options);
  /// The same on a function that was reset and brought up again since `table` was in use: its
  /// fenced slots are free again, its epochs go on.
  [[nodiscard]] static Result<std::unique_ptr<LeaseManager>> create(Host host,
                                                                    const Options& options,
                                                                    LeaseTable table);
  LeaseManager(const LeaseManager&) = delete;
  LeaseManager& operator=(const LeaseManager&) = delete;
  /// Tears down if nobody has, without telling.
  ~LeaseManager();

  /// A region, a key and a QP for `request.peer`. Busy with fewer than three fence slots left,
  /// OutOfResources when no slot is free or the tenant's quota is spent, DeviceFailed after the
  /// function was lost, InvalidArgument after tear_down. Fails when its commands take longer than
  /// Granter::Options::deadline_ms. What a failed grant had made is undone by the legacy plan, in
  /// poll() where that takes long; if it fails too the slot is fenced, and the error says what
  /// stays in the device.
  [[nodiscard]] Result<Grant> grant(const GrantRequest& request);
  /// Leases of one tenant with the same rights, all or none, reached by one indirect key: plan
  /// indirect takes them all back by destroying it. Each grant's address says where its region lies
  /// under that key. They are isolated from other leases as always, not from each other. While one
  /// of them is FENCED, their protection domain stays.
  /// Without receives, which would reach memory by the regions' own keys. InvalidArgument for what
  /// cannot be granted together, and as grant(); the deadline is for each lease, so a large group
  /// keeps a revoke behind it waiting: start_grant_together() does not.
  [[nodiscard]] Result<std::vector<Grant>> grant_together(std::span<const GrantRequest> requests);
  /// The same in parts: returns before a command is sent, and poll() makes one member after the
  /// other, some each time. Meanwhile the members are ACTIVE, and whoever revokes one (leases_of()
  /// lists them) ends the grant of all. Busy while another group is being made or was not taken.
  [[nodiscard]] Result<void> start_grant_together(std::span<const GrantRequest> requests);
  /// What became of the group that was started, told once: none while it is being made, and when
  /// none was started. Of a group that failed every member is undone, as grant_together() has it;
  /// so is one of which a member has ended before it was taken, in whatever way: NotFound.
  [[nodiscard]] std::optional<Result<std::vector<Grant>>> take_granted();
  /// The lease's memory, as this process sees it; good until its slot is free. Empty for a lease
  /// that is not there.
  [[nodiscard]] std::span<std::byte> memory(const Lease& lease) const noexcept;

  /// Room for one message of the client, in the lease's own region and under its key, so that what
  /// fences the one fences the other: `bytes` from `offset` on. No bytes are room for a WRITE with
  /// immediate data, or an empty SEND. NotFound unless the lease is ACTIVE, Unsupported when it was
  /// granted without receives, Busy when all are posted, InvalidArgument beyond the region's end.
  [[nodiscard]] Result<void> post_receive(const Lease& lease, std::uint64_t offset,
                                          std::uint32_t bytes, std::uint64_t wr_id);
  /// What the oldest receive became, or none; flushed ones too, until the QP is reset. Relaxes once
  /// when there is none. NotFound for a lease that is not there, Unsupported without receives.
  [[nodiscard]] Result<std::optional<pmd::Completion>> poll_receive(const Lease& lease);

  /// Fences the lease by the plan of the options, or by `plan`, and returns when the outcome
  /// stands: at most FenceOptions::deadline_ms for the commands.
  [[nodiscard]] RevokeAnswer revoke(std::uint64_t id, std::uint64_t epoch);
  [[nodiscard]] RevokeAnswer revoke(std::uint64_t id, std::uint64_t epoch, const Plan& plan);
  /// The same for many; answers in the order of `names`. In chunks, every key of a chunk first, and
  /// within one deadline for all: of those that do not fit the answer is Revoking, and poll() goes
  /// on with them before anything else. A lease that is being fenced already is joined. Asked again
  /// once its slot is FREE, it is NotFound; Host::on_outcome hears of every one.
  [[nodiscard]] std::vector<RevokeAnswer> revoke_batch(std::span<const LeaseName> names,
                                                       const Plan& plan);
  /// As revoke, but does not wait while the plan lingers: none then, and poll() goes on with it.
  /// Asked again, it joins the fence, and repeats the answer once it stands, until the slot is
  /// FREE: with a plan without GRACE that is at once, and Host::on_outcome alone tells what poll()
  /// ended.
  [[nodiscard]] std::optional<RevokeAnswer> start_revoke(std::uint64_t id, std::uint64_t epoch,
                                                         const Plan& plan);
  /// The ACTIVE leases of a tenant, in the order of their slots. O(slots).
  [[nodiscard]] std::vector<LeaseName> leases_of(TenantId tenant) const;
  /// The lease ends `ttl_ms` from now, in place of what was said before; 0: it does not end by
  /// itself. NotFound unless it is ACTIVE.
  [[nodiscard]] Result<void> renew(std::uint64_t id, std::uint64_t epoch, std::uint64_t ttl_ms);
  /// The idle path: takes events, goes on with fences that linger and with what is left of batches,
  /// fences what has outlived its time, in the order of ends, goes on with the deferred phase of
  /// what is due, and scrubs. Waits for the device kPollMs at most, for the sweep the part of it
  /// that Sweep::Options::wait_ms says, and 100 ms for a flow entry; while a group is being made,
  /// for a member of it too, which has what grant() has.
  void poll();
  /// The deferred phase of a slot is under way: the next poll() may go on with it at once.
  [[nodiscard]] bool is_sweeping() const noexcept { return sweep_.is_busy(); }
  /// Everything at once, for a node that leaves: bus mastering off, read back, ends every DMA of
  /// the function; then a reset ends the rest. No command is sent, so no lease waits for another:
  /// each that had no outcome is TornDown, its memory proved by the function, and is told so
  /// (Host::on_outcome); a revoke of it repeats that. How many they were. Nothing is granted before
  /// the function has been brought up again and has the table (take_table), and the numbers of
  /// those leases have rested.
  ///
  /// An error where bus mastering cannot be shown to be off: then the function is not reset, and
  /// poll() fences one lease after the other by the plan of the options. And where the reset fails:
  /// then every lease is FENCED, its memory proved; asked for again, it is tried again.
  [[nodiscard]] Result<std::size_t> drain();
  /// Revokes every lease and runs the deferred phases at once, GRACE or not: for the end of a
  /// function. Nothing is granted afterwards. Of what the device does not answer for 3 s in all,
  /// and 50 ms for each lease that it does, the memory is proved by the ladder, or by bus mastering
  /// off and a reset where that is allowed. An error says how many slots stay FENCED and names the
  /// first. Done twice is done.
  [[nodiscard]] Result<void> tear_down();
  /// Tears down and hands out the table for the manager that follows on the function once it has
  /// been reset and brought up again.
  [[nodiscard]] LeaseTable take_table() &&;

  [[nodiscard]] const LeaseTable& table() const noexcept { return table_; }
  [[nodiscard]] const RegionStore& regions() const noexcept { return regions_; }
  [[nodiscard]] std::uint32_t fenced_count() const noexcept { return table_.fenced_count(); }
  [[nodiscard]] std::vector<FencedLease> fenced_summary() const { return table_.fenced_summary(); }
  [[nodiscard]] KeyBinding key_binding() const noexcept { return granter_.key_binding(); }
  /// A fence or a drain has taken the whole function down; nothing is granted any more.
  [[nodiscard]] bool is_function_lost() const noexcept { return function_lost_; }
  /// What a fence of this lease will name to the device, or null.
  [[nodiscard]] const FenceTarget* fence_target(const Lease& lease) const noexcept;

 private:
  LeaseManager(Host host, const Options& options, LeaseTable table);

  [[nodiscard]] static Result<void> check(const Options& options);
  [[nodiscard]] Result<void> check_may_grant() const;
  [[nodiscard]] Result<Grant> make_alone(const GrantRequest& request);
  /// Everything of it, within the patience of a grant.
  [[nodiscard]] Result<Grant> make_in_time(Holding& made, std::uint32_t slot,
                                           const GrantRequest& request);
  /// The slots of the group's members; no command is sent.
  [[nodiscard]] Result<GroupGrant> open_group(std::span<const GrantRequest> requests);
  /// Until all of the group stands or it is `until_ns`, one step at least; true when all stands.
  [[nodiscard]] Result<bool> make_group(GroupGrant& group, std::uint64_t until_ns);
  [[nodiscard]] Result<void> make_group_step(GroupGrant& group);
  [[nodiscard]] Result<std::vector<Grant>> end_of_group(GroupGrant& group,
                                                        const Result<bool>& made);
  [[nodiscard]] Error undo_group(std::span<const Lease> leases, Error error);
  /// Undoes what is left of them; NotFound.
  [[nodiscard]] tl::unexpected<Error> refuse_group(std::span<const Lease> leases, const char* why);
  void go_on_with_group(std::uint64_t until_ns);
  /// The group that is being made or was not taken, if any, is granted to nobody.
  void leave_group(const char* why);
  [[nodiscard]] Result<pmd::CompletionQueue*> completion_queue_for(std::uint32_t slot,
                                                                   const GrantRequest& request);
  [[nodiscard]] Result<pmd::CompletionQueue*> shared_queue_of(std::uint32_t slot);
  [[nodiscard]] Result<pmd::CompletionQueue*> own_queue_of(std::uint32_t slot,
                                                           std::uint32_t log_receives);
  void prepare_steering(Holding& holding);
  /// What the slot stands for from now on; nothing is made yet.
  Holding& open(const Lease& lease, const GrantRequest& request);
  void serve(Holding& holding, const Lease& lease, const GrantRequest& request);
  [[nodiscard]] Error undo(std::span<const Lease> leases, Error error);
  [[nodiscard]] std::vector<FenceTarget> targets_of(std::span<const std::uint32_t> slots);
  [[nodiscard]] std::shared_ptr<RunningFence> begin_fence(std::vector<std::uint32_t> slots,
                                                          const Plan& plan) {
    return begin_fence(std::move(slots), plan, fence_time_ms());
  }
  [[nodiscard]] std::shared_ptr<RunningFence> begin_fence(std::vector<std::uint32_t> slots,
                                                          const Plan& plan, std::uint64_t time_ms);
  Fence::Progress advance_fence(RunningFence& running, std::uint64_t until_ns);
  void conclude(RunningFence& running);
  /// Until it has ended or it is `until_ns`, which is in time for one that somebody waits for.
  void run_to_end(RunningFence& running, std::uint64_t until_ns);
  void finish_alone(const Claim& claim);
  void settle(RunningFence& running, std::size_t index);
  /// These wait for their fence from now on.
  void make_wait(FenceQueue& queue, std::vector<std::uint32_t> slots, const Plan& plan);
  /// It waits no more; false when it did not.
  bool take_turn(Holding& holding) noexcept;
  [[nodiscard]] bool waits_in(const FenceQueue& queue, const Lease& lease) const noexcept;
  [[nodiscard]] std::vector<std::uint32_t> take_waiting(FenceQueue& queue, std::size_t most);
  /// As many as the device manages by `until_ns`.
  void fence_asked(FenceQueue& asked, std::uint64_t until_ns);
  [[nodiscard]] std::uint64_t time_to_come_ms() const noexcept;
  /// `expected_ms`: what is said of one that is still REVOKING.
  [[nodiscard]] RevokeAnswer answer_of(const Claim& claim, std::uint64_t expected_ms) const;
  /// How long a fence has that begins now.
  [[nodiscard]] std::uint64_t fence_time_ms() const noexcept;
  [[nodiscard]] bool has_just_blocked(std::uint64_t at_ns) const noexcept;
  /// What was asked for meanwhile has waited.
  void note_blocked(std::uint64_t since_ns) noexcept;
  void advance_fences(std::uint64_t until_ns);
  void begin_waiting(std::uint64_t until_ns);
  void enqueue_ended();
  void fence_all();
  void end_fence(RunningFence& running);
  /// A lease has ended as it should.
  void give_tear_down_time() noexcept;
  /// What is due of the deferred phase, until nothing is or it is `until_ns`.
  void sweep_until(std::uint64_t until_ns);
  void sweep_all();
  [[nodiscard]] Result<void> reset_function();
  void lose_function();
  /// No fence goes on, and nothing waits for one; who had no outcome until then.
  [[nodiscard]] std::vector<Lease> leave_function();
  /// Every ACTIVE lease is REVOKING; these.
  [[nodiscard]] std::vector<std::uint32_t> claim_all();
  /// Until when the numbers of all leases that are there rest.
  [[nodiscard]] std::uint64_t rest_of_all_ns() const noexcept;
  void take_events();
  void on_swept(std::uint32_t slot);
  void drop_holding(std::uint32_t slot);
  [[nodiscard]] const Holding* find(const Lease& lease) const noexcept;
  [[nodiscard]] bool is_active(const Lease& lease) const noexcept {
    return find(lease) != nullptr && table_.state(lease.slot) == State::Active;
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept {
    return host_.context->device.clock.now_ns();
  }
  [[nodiscard]] std::uint64_t end_of(std::uint64_t ttl_ms) const noexcept {
    return after_ms(now_ns(), ttl_ms);
  }

  Host host_;
  Options options_;
  FencePort port_;
  LeaseTable table_;
  RegionStore regions_;
  Granter granter_;
  /// One for each group of slots; made with the group's first lease.
  std::vector<std::optional<pmd::CompletionQueue>> completion_queues_;
  /// Of the slots whose lease has receives. Each stays for the slot's next one, so that neither a
  /// fence nor a sweep has a completion queue to destroy.
  std::unordered_map<std::uint32_t, pmd::CompletionQueue> receive_queues_;
  std::vector<std::unique_ptr<Holding>> holdings_;  // by slot
  std::vector<std::shared_ptr<RunningFence>> running_;
  FenceQueue asked_;  // what did not fit into its batch's deadline
  FenceQueue ended_;  // by their time to live
  FencePace asked_pace_{256, 1024};
  FencePace idle_pace_{8, 256};
  unsigned silent_fences_ = 0;    // of many leases, the last ones, that the device did not answer
  std::uint64_t blocked_ns_ = 0;  // the longest of the calls that followed each other
  std::uint64_t blocked_until_ns_ = 0;
  std::uint64_t tear_down_until_ns_ = 0;
  LeaseTerms terms_;
  Sweep sweep_;
  std::uint32_t groups_ = 0;  // granted together so far
  std::optional<GroupGrant> being_made_;
  std::optional<Result<std::vector<Grant>>> group_end_;  // of the last one; nobody has taken it
  bool function_lost_ = false;
  bool is_draining_ = false;
  bool torn_down_ = false;
};

}  // namespace portcullis::lease
