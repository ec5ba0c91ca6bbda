// SPDX-License-Identifier: BSD-3-Clause
//
// Frames of an InfiniBand link: LRH, GRH where the path has one, and the VCRC behind the ICRC.
#include <cstring>

#include "model/transport/frame.hpp"
#include "model/transport/frame_parts.hpp"
#include "model/transport/icrc.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

template <class T>
using Checked = tl::expected<T, FrameFault>;

tl::unexpected<FrameFault> reject(FrameFault fault) { return tl::unexpected<FrameFault>(fault); }

/// For values that their type or a mask already holds to the field's width.
template <prm::Name Path, class L>
void put(const prm::View<L>& view, std::uint64_t value) noexcept {
  static_cast<void>(view.template try_set<Path>(value));
}

void put_grh(std::span<std::byte> bytes, const Path& path) {
  const auto global = prm::View<grh>::at(bytes, lrh::bytes);
  global.set<"ip_version", kGrhVersion>();
  global.set<"next_header", kGrhNextHeader>();
  put<"traffic_class">(global, path.traffic_class);
  put<"flow_label">(global, path.flow_label & 0xfffff);
  put<"hop_limit">(global, path.hop_limit);
  std::memcpy(global.bytes<"source_gid">().data(), path.source_ip.data(), path.source_ip.size());
  std::memcpy(global.bytes<"destination_gid">().data(), path.dest_ip.data(), path.dest_ip.size());
}

Checked<void> decode_grh(std::span<const std::byte> bytes, Packet& packet) noexcept {
  if (bytes.size() < grh::bytes) return reject(FrameFault::TooShort);
  const auto global = prm::ConstView<grh>::at(bytes);
  if (global.get<"ip_version">() != kGrhVersion || global.get<"next_header">() != kGrhNextHeader ||
      global.get<"payload_length">() != bytes.size() - grh::bytes)
    return reject(FrameFault::Grh);
  packet.has_grh = true;
  packet.network = bytes.first(grh::bytes);
  std::memcpy(packet.source_ip.data(), global.bytes<"source_gid">().data(),
              packet.source_ip.size());
  std::memcpy(packet.dest_ip.data(), global.bytes<"destination_gid">().data(),
              packet.dest_ip.size());
  return {};
}

/// `bytes` from the LRH to the end of the ICRC. Where the BTH stands.
Checked<std::size_t> decode_link(std::span<const std::byte> bytes, Packet& packet) noexcept {
  const auto link = prm::ConstView<lrh>::at(bytes);
  const std::uint32_t next = link.get<"lnh">();
  if (link.get<"lver">() != 0 || (next != kLnhBth && next != kLnhGrh) ||
      link.get<"pkt_len">() * 4 != bytes.size())
    return reject(FrameFault::LinkHeader);
  packet.dest_lid = static_cast<std::uint16_t>(link.get<"dlid">());
  packet.source_lid = static_cast<std::uint16_t>(link.get<"slid">());
  packet.service_level = static_cast<std::uint8_t>(link.get<"sl">());
  packet.virtual_lane = static_cast<std::uint8_t>(link.get<"vl">());
  if (next == kLnhBth) return lrh::bytes;
  if (const auto global = decode_grh(bytes.subspan(lrh::bytes), packet); !global)
    return reject(global.error());
  return lrh::bytes + grh::bytes;
}

}  // namespace

void FrameTemplate::build_infiniband(const Path& path) {
  const std::span<std::byte> bytes(bytes_);
  const auto link = prm::View<lrh>::at(bytes);
  put<"vl">(link, path.virtual_lane);
  put<"sl">(link, path.service_level & 0xf);
  put<"lnh">(link, path.has_grh ? kLnhGrh : kLnhBth);
  put<"dlid">(link, path.dest_lid);
  put<"slid">(link, path.source_lid);
  has_grh_ = path.has_grh;
  if (has_grh_) put_grh(bytes, path);
  bth_offset_ = static_cast<std::uint8_t>(lrh::bytes + (has_grh_ ? grh::bytes : 0));
}

std::size_t FrameTemplate::close_infiniband(std::span<std::byte> frame,
                                            std::size_t end) const noexcept {
  put<"pkt_len">(prm::View<lrh>::at(frame), (end + kIcrcBytes) / 4);
  if (has_grh_)
    put<"payload_length">(prm::View<grh>::at(frame, lrh::bytes), end + kIcrcBytes - bth_offset_);
  // Little-endian, as the host.
  const std::uint32_t icrc = compute_infiniband_icrc(frame.first(end), has_grh_);
  std::memcpy(frame.data() + end, &icrc, sizeof icrc);
  const std::uint16_t vcrc = compute_vcrc(frame.first(end + kIcrcBytes));
  std::memcpy(frame.data() + end + kIcrcBytes, &vcrc, sizeof vcrc);
  return end + kIcrcBytes + kVcrcBytes;
}

Checked<Packet> decode_infiniband(std::span<const std::byte> frame) noexcept {
  if (frame.size() < lrh::bytes + bth::bytes + kIcrcBytes + kVcrcBytes)
    return reject(FrameFault::TooShort);
  const auto bytes = frame.first(frame.size() - kVcrcBytes);
  std::uint16_t vcrc;
  std::memcpy(&vcrc, frame.data() + bytes.size(), sizeof vcrc);
  if (vcrc != compute_vcrc(bytes)) return reject(FrameFault::Vcrc);

  Packet packet;
  const auto bth_at = decode_link(bytes, packet);
  if (!bth_at) return reject(bth_at.error());
  const auto transport = decode_transport(bytes.subspan(*bth_at), packet);
  if (!transport) return reject(transport.error());
  std::uint32_t icrc;
  const auto invariant = bytes.first(bytes.size() - kIcrcBytes);
  std::memcpy(&icrc, frame.data() + invariant.size(), sizeof icrc);
  if (icrc != compute_infiniband_icrc(invariant, packet.has_grh)) return reject(FrameFault::Icrc);
  return packet;
}

std::optional<std::size_t> infiniband_bth_offset(std::span<const std::byte> frame) noexcept {
  if (frame.size() < lrh::bytes) return std::nullopt;
  const std::uint32_t next = prm::ConstView<lrh>::at(frame).get<"lnh">();
  if (next == kLnhBth) return lrh::bytes;
  if (next == kLnhGrh) return lrh::bytes + grh::bytes;
  return std::nullopt;
}

}  // namespace portcullis::model
