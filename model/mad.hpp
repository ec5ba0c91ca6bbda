// SPDX-License-Identifier: BSD-3-Clause
//
// The subnet management agent of an InfiniBand port: MAD_IFC hands it a datagram and takes its
// answer. It answers Get of NodeDescription, NodeInfo, GUIDInfo, PortInfo, P_KeyTable,
// SLtoVLMappingTable and Mellanox' ExtendedPortInfo. Set of PortInfo and of P_KeyTable is for the
// subnet manager on the wire, where there is one (behaviour outside-sm); any other Set comes back
// as not supported.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ethernet/port_counters.hpp"
#include "model/port_settings.hpp"

namespace portcullis::model {

inline constexpr std::size_t kMadBytes = 256;

// include/rdma/ib_mad.h
namespace mad {
inline constexpr std::uint32_t kMethodGet = 0x01;            // IB_MGMT_METHOD_GET
inline constexpr std::uint32_t kMethodSet = 0x02;            // IB_MGMT_METHOD_SET
inline constexpr std::uint32_t kMethodGetResponse = 0x81;    // IB_MGMT_METHOD_GET_RESP
inline constexpr std::uint32_t kStatusBadVersion = 1 << 2;   // IB_MGMT_MAD_STATUS_BAD_VERSION
inline constexpr std::uint32_t kStatusUnsupported = 3 << 2;  // .._UNSUPPORTED_METHOD_ATTRIB
inline constexpr std::uint32_t kStatusBadValue = 7 << 2;     // .._INVALID_ATTRIB_VALUE
}  // namespace mad

/// What a Set of PortInfo wants of the port.
struct PortOrder {
  SubnetSettings subnet;
  std::uint16_t lid = 0, sm_lid = 0;
  std::optional<PortState> state;  // nothing: the one it has
  // limits::kDisabled, kPolling, which trains anew, or another, which changes nothing: whoever
  // sends back what the port says has LinkUp there.
  std::uint8_t physical_state = 0;
  bool reregister = false;  // clients are to join and subscribe again
  // Violations are counted anew where it says 0 (subn_set_portinfo of hw/qib/qib_mad.c).
  bool clears_pkey_violations = false, clears_qkey_violations = false;
};
/// The order in `request`, with what it leaves alone as `port` has it; nothing when it is none.
[[nodiscard]] std::optional<PortOrder> port_order(const PortSettings& port,
                                                  std::span<const std::byte, kMadBytes> request);

/// What a Set of P_KeyTable wants: the keys of one block of the table.
struct PkeyOrder {
  static constexpr std::size_t kKeys = 32;
  std::uint32_t block = 0;
  std::array<std::uint16_t, kKeys> keys{};
};
/// The order in `request`; nothing when it is none.
[[nodiscard]] std::optional<PkeyOrder> pkey_order(std::span<const std::byte, kMadBytes> request);

/// What became of an order.
enum class OrderEnd : std::uint8_t {
  NotTaken,  // the port has a subnet manager of its own
  BadValue,  // it asks for what cannot be, and changed nothing
  Done,
};

/// `answer` becomes the response to `request`, whose order, if it is one, ended so.
void answer_mad(const PortSettings& port, const KeyViolations& violations,
                std::span<const std::byte, kMadBytes> request,
                std::span<std::byte, kMadBytes> answer, OrderEnd end = OrderEnd::NotTaken);

}  // namespace portcullis::model
