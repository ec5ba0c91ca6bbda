// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/roce_path.hpp"

namespace portcullis::pmd {

std::uint16_t udp_source_port(std::uint32_t flow_label, prm::QpNumber local_qpn,
                              prm::QpNumber remote_qpn) noexcept {
  constexpr std::uint32_t kFlowLabelMask = 0xfffff;  // 20 bits
  constexpr std::uint32_t kLowMask = 0x3fff;         // 14 bits
  constexpr std::uint32_t kLeastPort = 0xc000;       // IB_ROCE_UDP_ENCAP_VALID_PORT_MIN
  std::uint64_t label = flow_label;
  if (label == 0) {
    label = std::uint64_t{prm::number(local_qpn)} * prm::number(remote_qpn);
    label ^= label >> 20;
    label ^= label >> 40;
  }
  label &= kFlowLabelMask;
  return static_cast<std::uint16_t>(((label & kLowMask) ^ label >> 14) | kLeastPort);
}

}  // namespace portcullis::pmd
