// SPDX-License-Identifier: BSD-3-Clause
//
// User contexts, and whose every object is: "the firmware manages the isolation between processes'
// resources" (Linux commit a8b92ca1b0e5, "IB/mlx5: Introduce DEVX"). A command in a user context's
// name, by its uid, may use what that context made and what is shared; the kernel's own, without a
// uid, may use anything. A UAR without a uid is everybody's: a recording of Linux 5.10 has those of
// processes so, and their queues with their uid. Handlers know nothing of it: which
// numbers a command names stands in one table, user_contexts.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>

#include "model/command_queue.hpp"
#include "model/id_table.hpp"
#include "model/verdict.hpp"

namespace portcullis::model {

class UserContexts {
 public:
  /// What is told apart by its number. XRC SRQs and memory pools share theirs.
  enum class Kind : std::uint8_t {
    Uar,
    Pd,
    Eq,
    Cq,
    Qp,
    Mkey,
    Psv,
    Umem,
    QCounter,
    TransportDomain,
    Rq,
    Tir,
    Tis,
    Sq,
    Rqt,
    Xrcd,
    SharedReceive,
    Rate,
    SteeringMemory,
    Sampler,
  };

  explicit UserContexts(std::uint32_t log_max_uctx) : ids_(1, 1U << log_max_uctx) {}

  /// `capabilities`: none is offered.
  Verdict create(std::uint32_t capabilities, std::uint32_t& uid);
  /// BAD_RES_ERR for none, BAD_RES_STATE_ERR for one with objects.
  Verdict destroy(std::uint32_t uid);

  /// Whether its uid may give this command: the context is there, and every object that the command
  /// names is its own or shared. What is somebody else's is as if it were not there.
  [[nodiscard]] Verdict admit(const Command& command) const;
  /// After a command that succeeded: what it made is its uid's, what it destroyed nobody's.
  void note(const Command& command);

  [[nodiscard]] std::size_t size() const noexcept { return uids_.size(); }
  void clear() noexcept;

 private:
  using Object = std::pair<Kind, std::uint32_t>;
  [[nodiscard]] bool may_use(std::uint32_t uid, Object object) const;

  std::unordered_set<std::uint32_t> uids_;
  std::map<Object, std::uint32_t> owners_;  // of what has a uid
  IdAllocator ids_;
};

}  // namespace portcullis::model
