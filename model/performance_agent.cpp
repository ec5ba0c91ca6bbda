// SPDX-License-Identifier: BSD-3-Clause
#include "model/performance_agent.hpp"

#include <algorithm>

#include "prm/ethernet_registers.hpp"
#include "prm/mad.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

using CountersLayout = prm::ib_pma_portcounters;

constexpr std::uint32_t kClass = 0x04;            // IB_MGMT_CLASS_PERF_MGMT of ib_mad.h
constexpr std::size_t kDataAt = 64;               // struct ib_pma_mad of ib_pma.h
constexpr std::uint32_t kExtendedWidth = 1 << 9;  // IB_PMA_CLASS_CAP_EXT_WIDTH
constexpr std::uint64_t kOctetsPerWord = 4;       // of what is sent and received
enum Attribute : std::uint32_t {
  kClassPortInfo = 0x0001,         // IB_PMA_CLASS_PORT_INFO
  kPortCounters = 0x0012,          // IB_PMA_PORT_COUNTERS
  kPortCountersExtended = 0x001d,  // IB_PMA_PORT_COUNTERS_EXT
};

/// What a bit of counter_select stands for.
struct Selection {
  std::uint32_t bit = 0;
  Performance count{};
};
constexpr std::array kOfPortCounters{
    Selection{0x0004, Performance::LinkDowns},       // IB_PMA_SEL_LINK_DOWNED
    Selection{0x0008, Performance::ReceiveErrors},   // .._PORT_RCV_ERRORS
    Selection{0x0040, Performance::SendDiscards},    // .._PORT_XMIT_DISCARDS
    Selection{0x1000, Performance::SentOctets},      // .._PORT_XMIT_DATA
    Selection{0x2000, Performance::ReceivedOctets},  // .._PORT_RCV_DATA
    Selection{0x4000, Performance::Sent},            // .._PORT_XMIT_PACKETS
    Selection{0x8000, Performance::Received},        // .._PORT_RCV_PACKETS
};
constexpr std::array kOfExtended{
    Selection{0x0001, Performance::SentOctets},         // IB_PMA_SELX_PORT_XMIT_DATA
    Selection{0x0002, Performance::ReceivedOctets},     // .._PORT_RCV_DATA
    Selection{0x0004, Performance::Sent},               // .._PORT_XMIT_PACKETS
    Selection{0x0008, Performance::Received},           // .._PORT_RCV_PACKETS
    Selection{0x0010, Performance::SentUnicast},        // .._PORT_UNI_XMIT_PACKETS
    Selection{0x0020, Performance::ReceivedUnicast},    // .._PORT_UNI_RCV_PACKETS
    Selection{0x0040, Performance::SentMulticast},      // .._PORT_MULTI_XMIT_PACKETS
    Selection{0x0080, Performance::ReceivedMulticast},  // .._PORT_MULTI_RCV_PACKETS
};

constexpr std::uint64_t of(const PerformanceCounts& counts, Performance which) {
  return counts[static_cast<std::size_t>(which)];
}

/// As pma_get_portcounters of Linux's qib_mad.c has it.
template <prm::Name Field, class L>
void put_saturated(const prm::View<L>& to, std::uint64_t value) {
  static_cast<void>(
      to.template try_set<Field>(std::min(value, prm::widest(prm::place<L, Field>.width))));
}

void fill_class_port_info(std::span<std::byte> data) {
  const auto info = prm::View<prm::ib_class_port_info>::at(data);
  info.set<"base_version", 1>();
  info.set<"class_version", 1>();
  info.set<"capability_mask", kExtendedWidth>();
}

void fill_port_counters(const PerformanceCounts& counts, std::span<std::byte> data) {
  constexpr std::size_t kErrorsAt = prm::place<CountersLayout, "symbol_error_counter">.offset / 8;
  fill_errors(counts, data.subspan(kErrorsAt));
  const auto out = prm::View<CountersLayout>::at(data);
  out.set<"port_select", 1>();
  put_saturated<"port_xmit_data">(out, of(counts, Performance::SentOctets) / kOctetsPerWord);
  put_saturated<"port_rcv_data">(out, of(counts, Performance::ReceivedOctets) / kOctetsPerWord);
  put_saturated<"port_xmit_packets">(out, of(counts, Performance::Sent));
  put_saturated<"port_rcv_packets">(out, of(counts, Performance::Received));
}

void fill_extended(const PerformanceCounts& counts, std::span<std::byte> data) {
  const auto out = prm::View<prm::ib_pma_portcounters_ext>::at(data);
  out.set<"port_select", 1>();
  out.put<"port_xmit_data">(of(counts, Performance::SentOctets) / kOctetsPerWord);
  out.put<"port_rcv_data">(of(counts, Performance::ReceivedOctets) / kOctetsPerWord);
  out.put<"port_xmit_packets">(of(counts, Performance::Sent));
  out.put<"port_rcv_packets">(of(counts, Performance::Received));
  out.put<"port_unicast_xmit_packets">(of(counts, Performance::SentUnicast));
  out.put<"port_unicast_rcv_packets">(of(counts, Performance::ReceivedUnicast));
  out.put<"port_multicast_xmit_packets">(of(counts, Performance::SentMulticast));
  out.put<"port_multicast_rcv_packets">(of(counts, Performance::ReceivedMulticast));
}

}  // namespace

PerformanceCounts performance_of(const PortCounters& counters, std::uint32_t link_downs) noexcept {
  const PortCounters::Counts& port = counters.port;
  const PortCounters::PacketCounts& packets = counters.packets;
  return {link_downs,
          port.too_long + port.too_short + port.malformed + port.wrong_icrc,
          port.send_discards,
          packets.sent.octets + packets.sent_to_group.octets,
          packets.received.octets + packets.received_by_group.octets,
          packets.sent.packets + packets.sent_to_group.packets,
          packets.received.packets + packets.received_by_group.packets,
          packets.sent.packets,
          packets.received.packets,
          packets.sent_to_group.packets,
          packets.received_by_group.packets};
}

void fill_errors(const PerformanceCounts& counts, std::span<std::byte> group) {
  const auto out = prm::View<prm::ib_port_cntrs_grp_data_layout>::at(group);
  put_saturated<"link_downed_counter">(out, of(counts, Performance::LinkDowns));
  put_saturated<"port_rcv_errors">(out, of(counts, Performance::ReceiveErrors));
  put_saturated<"port_xmit_discards">(out, of(counts, Performance::SendDiscards));
}

bool is_of_performance(std::span<const std::byte, kMadBytes> request) noexcept {
  return prm::ConstView<prm::ib_smp>(request).get<"mgmt_class">() == kClass;
}

/// Counts that QUERY_VPORT_COUNTER or PPCNT cleared meanwhile are below what they were.
PerformanceCounts PerformanceAgent::since_set(const PerformanceCounts& now) const noexcept {
  PerformanceCounts since{};
  for (std::size_t i = 0; i < kPerformances; ++i) since[i] = now[i] - std::min(at_set_[i], now[i]);
  return since;
}

std::uint32_t PerformanceAgent::answer_attribute(const PerformanceCounts& now,
                                                 std::span<const std::byte, kMadBytes> request,
                                                 std::span<std::byte> data) {
  const auto in = prm::ConstView<prm::ib_smp>(request);
  const std::uint32_t attribute = in.get<"attr_id">();
  const bool is_set = in.get<"method">() == mad::kMethodSet;
  if (attribute == kClassPortInfo && !is_set) {
    fill_class_port_info(data);
    return 0;
  }
  if (attribute != kPortCounters && attribute != kPortCountersExtended)
    return mad::kStatusUnsupported;
  // The port and the selection stand in the same places of both attributes.
  const auto asked = prm::ConstView<CountersLayout>::at(request.subspan<kDataAt>());
  if (asked.get<"port_select">() != 1 || in.get<"attr_mod">() != 0) return mad::kStatusBadValue;
  const bool is_extended = attribute == kPortCountersExtended;
  for (const Selection& one : is_extended ? std::span<const Selection>(kOfExtended)
                                          : std::span<const Selection>(kOfPortCounters)) {
    const auto at = static_cast<std::size_t>(one.count);
    if (is_set && (asked.get<"counter_select">() & one.bit) != 0) at_set_[at] = now[at];
  }
  (is_extended ? fill_extended : fill_port_counters)(since_set(now), data);
  return 0;
}

void PerformanceAgent::answer(const PerformanceCounts& now,
                              std::span<const std::byte, kMadBytes> request,
                              std::span<std::byte, kMadBytes> response) {
  std::ranges::copy(request, response.begin());
  const auto in = prm::ConstView<prm::ib_smp>(request);
  const auto out = prm::View<prm::ib_smp>(response);
  out.set<"method", mad::kMethodGetResponse>();
  std::uint32_t status = mad::kStatusUnsupported;
  if (in.get<"base_version">() != 1 || in.get<"class_version">() != 1) {
    status = mad::kStatusBadVersion;
  } else if (in.get<"method">() == mad::kMethodGet || in.get<"method">() == mad::kMethodSet) {
    const auto data = response.subspan<kDataAt>();
    std::ranges::fill(data, std::byte{0});
    status = answer_attribute(now, request, data);
  }
  out.put<"status">(static_cast<std::uint16_t>(status));
}

}  // namespace portcullis::model
