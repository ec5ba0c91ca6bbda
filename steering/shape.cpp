// SPDX-License-Identifier: BSD-3-Clause
#include "steering/shape.hpp"

#include <algorithm>
#include <string>

#include "prm/flow_enums.hpp"

namespace portcullis::steering {
namespace {

constexpr std::uint32_t kOuter = prm::number(prm::MatchCriteria::OUTER_HEADERS);
constexpr std::uint32_t kMisc = prm::number(prm::MatchCriteria::MISC_PARAMETERS);
// IB_OPCODE_RC and IB_OPCODE_RDMA_WRITE_ONLY of include/rdma/ib_pack.h; the class is the upper
// three bits.
constexpr std::uint8_t kRcWriteOnly = 0x0a;
constexpr std::uint8_t kClassMask = 0xe0;
constexpr std::uint16_t kRoceUdpPort = 4791;  // ROCE_V2_UDP_DPORT, include/rdma/ib_verbs.h
// struct mlx5_ifc_ipv4_layout_bits: the last four of the sixteen bytes.
constexpr std::size_t kIpv4Offset = 12;

}  // namespace

std::string_view name(Shape shape) noexcept {
  switch (shape) {
    case Shape::DstQp:
      return "dst-qp";
    case Shape::ClientFlow:
      return "client-flow";
    case Shape::Opcode:
      return "opcode";
    case Shape::OpcodeClass:
      return "opcode-class";
    case Shape::RocePort:
      return "roce-port";
    case Shape::MatchAll:
      return "match-all";
  }
  return "unknown shape";
}

Result<Shape> parse_shape(std::string_view text) {
  const auto* found = std::find_if(kShapes.begin(), kShapes.end(),
                                   [text](Shape shape) { return name(shape) == text; });
  if (found != kShapes.end()) return *found;
  std::string accepted;
  for (const Shape shape : kShapes)
    accepted += (accepted.empty() ? "" : ", ") + std::string(name(shape));
  return fail(Errc::InvalidArgument,
              "steering shape '" + std::string(text) + "'; accepted are " + accepted);
}

Scope scope(Shape shape) noexcept {
  return shape == Shape::DstQp || shape == Shape::ClientFlow ? Scope::Lease : Scope::Function;
}

std::string_view name(Scope scope) noexcept { return scope == Scope::Lease ? "lease" : "function"; }

bool is_offered(Shape shape, const DomainCaps& caps) noexcept {
  switch (shape) {
    case Shape::DstQp:
      return caps.bth_dst_qp;
    case Shape::ClientFlow:
      return caps.outer_sip && caps.outer_udp_sport;
    case Shape::Opcode:
    case Shape::OpcodeClass:
      return caps.bth_opcode;
    case Shape::RocePort:
      return caps.outer_udp_dport;
    case Shape::MatchAll:
      return true;
  }
  return false;
}

std::uint32_t put_mask(Shape shape, MatchView mask) noexcept {
  switch (shape) {
    case Shape::DstQp:
      mask.set<"misc_parameters.bth_dst_qp", 0xffffff>();
      return kMisc;
    case Shape::ClientFlow:
      std::ranges::fill(mask.bytes<"outer_headers.src_ipv4_src_ipv6">(), std::byte{0xff});
      mask.set<"outer_headers.ip_version", 0xf>();
      mask.set<"outer_headers.udp_sport", 0xffff>();
      return kOuter;
    case Shape::Opcode:
      mask.set<"misc_parameters.bth_opcode", 0xff>();
      return kMisc;
    case Shape::OpcodeClass:
      mask.set<"misc_parameters.bth_opcode", kClassMask>();
      return kMisc;
    case Shape::RocePort:
      mask.set<"outer_headers.udp_dport", 0xffff>();
      return kOuter;
    case Shape::MatchAll:
      return 0;
  }
  return 0;
}

Result<void> put_value(Shape shape, const DropTarget& target, MatchView value) {
  if (shape == Shape::Opcode) value.set<"misc_parameters.bth_opcode", kRcWriteOnly>();
  if (shape == Shape::RocePort) value.set<"outer_headers.udp_dport", kRoceUdpPort>();
  if (shape == Shape::DstQp &&
      !value.try_set<"misc_parameters.bth_dst_qp">(prm::number(target.qpn)))
    return fail(Errc::InvalidArgument, "steering: QP number " +
                                           std::to_string(prm::number(target.qpn)) +
                                           " is wider than 24 bits");
  if (shape != Shape::ClientFlow) return {};
  if (target.client_udp_sport == 0)
    return fail(Errc::InvalidArgument,
                "steering: shape client-flow, and the client's UDP source port is not known");
  const auto address = value.bytes<"outer_headers.src_ipv4_src_ipv6">();
  std::ranges::fill(address, std::byte{0});
  const bool ipv4 = target.client.is_ipv4();
  const std::size_t skip = ipv4 ? kIpv4Offset : 0;
  std::copy(target.client.bytes.begin() + static_cast<std::ptrdiff_t>(skip),
            target.client.bytes.end(), address.begin() + static_cast<std::ptrdiff_t>(skip));
  value.put<"outer_headers.udp_sport">(target.client_udp_sport);
  if (ipv4)
    value.set<"outer_headers.ip_version", 4>();
  else
    value.set<"outer_headers.ip_version", 6>();
  return {};
}

}  // namespace portcullis::steering
