// SPDX-License-Identifier: BSD-3-Clause
//
// Making the objects of a lease: a region of its own, mapped alone so that it can be unmapped
// alone; a protection domain with this one key in it; an RC QP connected to the client. Isolation
// rests on the domain; the key is bound to the QP's number as well where CREATE_MKEY accepts that.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "lease/bounded_channel.hpp"
#include "lease/holding.hpp"
#include "lease/key_bytes.hpp"
#include "lease/lease_table.hpp"
#include "lease/random_source.hpp"
#include "lease/region_store.hpp"
#include "pmd/access.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/gid.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/protection_domain.hpp"
#include "prm/enums.hpp"
#include "prm/numbers.hpp"

namespace portcullis::lease {

/// The client's queue pair.
struct Peer {
  prm::QpNumber qpn{};
  std::uint32_t psn = 0;  // the first that it will send
  pmd::Gid gid = {};
  pmd::Mac mac = {};
  std::uint16_t lid = 0;        // where the port is InfiniBand, instead of both
  bool is_forced_back = false;  // as pmd::RocePath has it
};

struct GrantRequest {
  std::uint64_t bytes = 0;  // rounded up to whole pages
  Peer peer = {};
  pmd::Access access{.local_write = true, .remote_write = true, .remote_read = true};
  /// What the client's QP must use: after a revoke the QP's number rests as long as these let the
  /// client go on sending. 1 to 31, and 0 to 7; at most 6 for soft-RoCE, which takes 7 for "without
  /// end" (rxe_completer of rxe_comp.c).
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  /// The client may SEND, and WRITE with immediate data: the lease's QP has a receive queue for
  /// 2^log_receives messages, which whoever granted fills (LeaseManager::post_receive). None: it
  /// has no receive queue.
  std::optional<std::uint32_t> log_receives = std::nullopt;
  TenantId tenant = 0;
  /// The lease is revoked when this has passed without a renewal; 0: never. At most kMostTtlMs.
  std::uint64_t ttl_ms = 0;
};
inline constexpr std::uint64_t kMostTtlMs = std::uint64_t{1} << 40;  // 34 years
/// InvalidArgument names the value and the range.
[[nodiscard]] Result<void> check_ttl(std::uint64_t ttl_ms);

/// What the client is told. The rkey is a secret between it and us.
struct Grant {
  Lease lease;
  prm::QpNumber qpn{};
  std::uint32_t psn = 0;  // the first that we will send
  prm::Rkey rkey{};
  std::uint64_t address = 0;  // of the region's first byte, as the client writes it
  std::uint64_t bytes = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count = 0;
  prm::QpcMtu mtu = prm::QpcMtu::MTU_1024;
};

/// Leases that are granted together, as far as they are made: one protection domain, and one
/// indirect key over all regions that their peers use; the regions' own keys have local rights
/// alone, so that no other key leads a peer to them. Isolates the group from others, not its
/// members from each other.
struct GroupMaking {
  /// Each for every member before the next begins.
  enum class Stage : std::uint8_t { Regions, Domain, Objects, TenantKey, Connections, Made };

  std::vector<GrantRequest> requests;
  std::vector<Holding*> holdings;             // one for each request
  std::vector<pmd::CompletionQueue*> queues;  // the same
  Stage stage = Stage::Regions;
  std::size_t next = 0;  // member of the stage
  std::optional<pmd::ProtectionDomain> pd = std::nullopt;
  prm::Rkey rkey{};           // of the tenant's key
  std::uint64_t address = 0;  // under it, of the next member's region
  std::vector<Grant> grants = {};
};

/// Whether CREATE_MKEY takes a QP number in mkc.qpn; that the device then checks it is a
/// hypothesis.
enum class KeyBinding : std::uint8_t { Untried, Accepted, Refused, NotWanted };

class Granter {
 public:
  /// A completion queue holds twice as many entries: one for each receive, and the send queue's.
  static constexpr std::uint32_t kMostLogReceives = 14;

  struct Options {
    prm::QpcMtu mtu = prm::QpcMtu::MTU_1024;
    std::uint8_t source_address_index = 0;  // of the RoCE address table
    std::uint8_t traffic_class = 0;         // of what we send: DSCP above two bits of ECN
    std::uint8_t priority = 0;              // 802.1p of what we send, 0 to 7
    std::uint64_t psn_seed = 0;             // of our first PSNs; 0: from the system
    std::uint8_t counter_set = 0;           // pmd::QCounter::id() for every QP; 0: none
    /// For all commands of a grant, of each lease where several are granted together: who hangs
    /// here keeps a revoke from its turn.
    std::uint64_t deadline_ms = 400;
    /// The low byte of every key, in place of KeyBytes: for who wants one to come again. May be
    /// empty.
    std::function<std::uint8_t()> key_byte = {};
    /// A key that a tenant's key still names is given all the same: for who wants to show what
    /// comes of it.
    bool gives_named_keys = false;
  };
  /// Both must outlive it. Does not move: what it makes keeps the way to its commands.
  Granter(const pmd::Context& context, RegionStore& regions, const Options& options, LogSink log);

  Granter(const Granter&) = delete;
  Granter& operator=(const Granter&) = delete;

  /// InvalidArgument for what no grant can have; nothing is made yet.
  [[nodiscard]] static Result<void> check(const GrantRequest& request);
  /// InvalidArgument unless all are of one tenant with the same rights, and without receives; says
  /// which of them is not.
  [[nodiscard]] static Result<void> check_together(std::span<const GrantRequest> requests);
  /// FenceTarget::absent before anything is made.
  [[nodiscard]] static StepMask nothing_made() noexcept;
  /// Makes everything. After a failure `holding.target` says what was made, what was not, and what
  /// may have been, so that the legacy plan can undo it.
  [[nodiscard]] Result<Grant> make(Holding& holding, pmd::CompletionQueue& cq,
                                   const GrantRequest& request);
  /// One step more of a group: a region, the domain, a member's QP and key, the tenant's key, or a
  /// member's connection. After a failure every member's target says what was made, as for make().
  [[nodiscard]] Result<void> make_next(GroupMaking& making);
  [[nodiscard]] KeyBinding key_binding() const noexcept { return key_binding_; }
  /// The tenant's key of the group is gone, and with it what it named.
  void forget_entries(Group& group);
  /// The function's, with commands that are bounded while a grant runs.
  [[nodiscard]] const pmd::Context& context() const noexcept { return context_; }
  /// A lease's commands begin, with their time; lift_bound() when the grant is through.
  void bound_commands() noexcept;
  void lift_bound() noexcept { channel_.lift(); }

 private:
  [[nodiscard]] Result<void> make_step(GroupMaking& making);
  [[nodiscard]] Result<void> take_region(Holding& holding, const GrantRequest& request);
  [[nodiscard]] Result<pmd::ProtectionDomain> make_pd(std::span<Holding* const> holdings);
  [[nodiscard]] Result<void> make_qp(Holding& holding, const pmd::ProtectionDomain& pd,
                                     pmd::CompletionQueue& cq, const GrantRequest& request);
  [[nodiscard]] Result<prm::Rkey> make_key(Holding& holding, const pmd::ProtectionDomain& pd,
                                           pmd::Access access);
  [[nodiscard]] Result<void> make_local_key(Holding& holding, const pmd::ProtectionDomain& pd,
                                            pmd::Access access);
  [[nodiscard]] Result<prm::Rkey> make_tenant_key(std::span<Holding* const> holdings,
                                                  const pmd::ProtectionDomain& pd,
                                                  pmd::Access access);
  /// Connects the QP; what the client is told.
  [[nodiscard]] Result<Grant> connect(Holding& holding, const GrantRequest& request, prm::Rkey rkey,
                                      std::uint64_t address);
  [[nodiscard]] Result<pmd::MemoryKey> create_key(const Holding& holding,
                                                  const pmd::ProtectionDomain& pd,
                                                  pmd::Access access);
  /// Makes a key of the lease or of its tenant, with a byte that its index had not before and that
  /// no tenant's key names, and takes it for all of the holdings.
  [[nodiscard]] Result<void> take_key(std::span<Holding* const> holdings, Subject kind,
                                      const std::function<Result<pmd::MemoryKey>()>& create);
  [[nodiscard]] Result<void> choose_key_byte();
  [[nodiscard]] bool may_be_given(prm::Rkey key) const;

  BoundedChannel channel_;
  pmd::Context context_;
  RegionStore* regions_;
  Options options_;
  LogSink log_;
  RandomSource random_;
  KeyBytes key_bytes_;
  KeyBinding key_binding_ = KeyBinding::Untried;
  std::unordered_set<prm::Rkey> named_;  // keys in the lists of tenants' keys that are alive
};

}  // namespace portcullis::lease
