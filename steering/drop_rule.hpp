// SPDX-License-Identifier: BSD-3-Clause
//
// What a fence asks of flow steering: an entry that drops the packets of one lease, and its removal
// once the queue pair is gone. An entry promises nothing about packets that are past steering
// (contract A4), so no outcome rests on it. A function without steering has no DropRule: the fence
// holds a null pointer and reports steering as absent.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace portcullis::steering {

/// Whose packets to drop.
struct DropTarget {
  std::uint32_t slot = 0;  // of the lease; the entry's place in its group
  std::uint32_t qpn = 0;   // the responder's, as bth.dest_qp carries it
};

class DropRule {
 public:
  virtual ~DropRule() = default;
  /// SET_FLOW_TABLE_ENTRY with action DROP. Returns by `deadline_ns` (device clock). Installing
  /// what is installed is an error: this generation refuses an occupied index.
  [[nodiscard]] virtual Result<void> install(const DropTarget& target,
                                             std::uint64_t deadline_ns) = 0;
  /// DELETE_FLOW_TABLE_ENTRY of what install() put there, or may have put there before it failed;
  /// when nothing is there it is done.
  [[nodiscard]] virtual Result<void> remove(const DropTarget& target,
                                            std::uint64_t deadline_ns) = 0;
};

}  // namespace portcullis::steering
