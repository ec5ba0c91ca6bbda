// SPDX-License-Identifier: BSD-3-Clause
//
// The performance management agent of an InfiniBand port: what MAD_IFC answers to datagrams of that
// class. It answers Get of ClassPortInfo, PortCounters and PortCountersExtended, and Set of the
// two, which begins the counts anew that it selects. Nothing is counted here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/ethernet/port_counters.hpp"
#include "model/mad.hpp"

namespace portcullis::model {

/// What performance management tells of a port.
enum class Performance : std::size_t {
  LinkDowns,
  ReceiveErrors,
  SendDiscards,
  SentOctets,
  ReceivedOctets,
  Sent,
  Received,
  SentUnicast,
  ReceivedUnicast,
  SentMulticast,
  ReceivedMulticast,
};
inline constexpr std::size_t kPerformances =
    static_cast<std::size_t>(Performance::ReceivedMulticast) + 1;
using PerformanceCounts = std::array<std::uint64_t, kPerformances>;

[[nodiscard]] PerformanceCounts performance_of(const PortCounters& counters,
                                               std::uint32_t link_downs) noexcept;
/// What of them is errors becomes an ib_port_cntrs_grp_data_layout at the front of `group`. A count
/// stays at the greatest value that its field holds.
void fill_errors(const PerformanceCounts& counts, std::span<std::byte> group);

/// `request` is of the class of this agent, of whatever version.
[[nodiscard]] bool is_of_performance(std::span<const std::byte, kMadBytes> request) noexcept;

class PerformanceAgent {
 public:
  /// `response` becomes that to `request`, of which is_of_performance() holds.
  void answer(const PerformanceCounts& now, std::span<const std::byte, kMadBytes> request,
              std::span<std::byte, kMadBytes> response);

 private:
  /// What goes into the status of the response.
  [[nodiscard]] std::uint32_t answer_attribute(const PerformanceCounts& now,
                                               std::span<const std::byte, kMadBytes> request,
                                               std::span<std::byte> data);
  [[nodiscard]] PerformanceCounts since_set(const PerformanceCounts& now) const noexcept;

  PerformanceCounts at_set_{};  // what each had come to when it was begun anew
};

}  // namespace portcullis::model
