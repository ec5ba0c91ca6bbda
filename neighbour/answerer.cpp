// SPDX-License-Identifier: BSD-3-Clause
#include "neighbour/answerer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/cells.hpp"
#include "neighbour/headers.hpp"
#include "prm/enums.hpp"
#include "prm/view.hpp"

namespace portcullis::neighbour {
namespace {

using Octets = std::span<const std::byte>;
using Room = std::span<std::byte>;

constexpr std::size_t kMac = 6;
constexpr std::size_t kIpv4 = 4;
constexpr std::size_t kIpv6 = 16;
constexpr std::size_t kMapped = 12;     // where the IPv4 address stands in a v4-mapped one
constexpr std::uint8_t kHopLimit = 64;  // IPDEFTTL, ip.h
constexpr std::array<std::byte, kMac> kBroadcast{std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                                 std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
// ff02::1, all nodes of the link, and its MAC.
constexpr std::array<std::byte, kIpv6> kAllNodes{
    std::byte{0xff}, std::byte{2}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},
    std::byte{1}};
constexpr std::array<std::byte, kMac> kAllNodesMac{std::byte{0x33}, std::byte{0x33}, {}, {}, {},
                                                   std::byte{1}};

std::uint16_t load_be16(Octets at, std::size_t offset) noexcept {
  std::uint16_t raw;
  std::memcpy(&raw, at.subspan(offset, sizeof raw).data(), sizeof raw);
  return cells::be16(raw);
}

void store_be16(Room at, std::size_t offset, std::uint16_t value) noexcept {
  const std::uint16_t raw = cells::be16(value);
  std::memcpy(at.subspan(offset, sizeof raw).data(), &raw, sizeof raw);
}

/// RFC 1071: of big-endian words; an odd last byte counts as its high half.
std::uint32_t add_words(std::uint32_t sum, Octets bytes) noexcept {
  std::size_t at = 0;
  for (; at + 2 <= bytes.size(); at += 2) sum += load_be16(bytes, at);
  if (at < bytes.size()) sum += std::to_integer<std::uint32_t>(bytes[at]) << 8;
  return (sum & 0xffff) + (sum >> 16);
}

std::uint16_t checksum(std::uint32_t sum) noexcept {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// Of an ICMPv6 message and its pseudo header (RFC 8200, 8.1); right: 0.
std::uint16_t checksum6(prm::ConstView<ipv6_header> ip, Octets message) noexcept {
  const auto length = static_cast<std::uint32_t>(message.size());
  const std::uint32_t pseudo =
      add_words(add_words(length + kProtocolIcmpv6, ip.bytes<"saddr">()), ip.bytes<"daddr">());
  return checksum(add_words(pseudo, message));
}

bool is_equal(Octets left, Octets right) noexcept { return std::ranges::equal(left, right); }
bool is_zero(Octets bytes) noexcept {
  return std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; });
}
bool is_station(Octets mac) noexcept {
  return (mac[0] & std::byte{1}) == std::byte{0} && !is_zero(mac);
}
/// One host's: not 0.0.0.0/8, not 127.0.0.0/8, nothing from 224.0.0.0 on.
bool is_host4(Octets address) noexcept {
  constexpr std::byte kLoopback{127}, kGroups{224};
  return address[0] != std::byte{0} && address[0] != kLoopback && address[0] < kGroups;
}
bool is_group6(Octets address) noexcept { return address[0] == std::byte{0xff}; }

std::array<std::byte, kIpv6> solicited_node(Octets address) noexcept {
  // ff02::1:ff00:0/104 (addrconf_addr_solict_mult of net/addrconf.h).
  std::array<std::byte, kIpv6> group{std::byte{0xff}, std::byte{2}};
  group[11] = std::byte{1};
  group[12] = std::byte{0xff};
  std::ranges::copy(address.last(3), group.begin() + 13);
  return group;
}

/// ipv6_eth_mc_map of net/if_inet6.h.
std::array<std::byte, kMac> group_mac(Octets group) noexcept {
  std::array<std::byte, kMac> mac{std::byte{0x33}, std::byte{0x33}};
  std::ranges::copy(group.last(4), mac.begin() + 2);
  return mac;
}

std::array<std::byte, kMac> bytes_of(const pmd::Mac& mac) noexcept {
  std::array<std::byte, kMac> bytes{};
  std::memcpy(bytes.data(), mac.octets.data(), kMac);
  return bytes;
}

/// A frame in the making: what begins with the Ethernet header, and what stands behind it.
struct Draft {
  Room all;
  std::size_t header = 0;

  [[nodiscard]] Room body() const noexcept { return all.subspan(header); }
  /// With a body of `bytes`, filled up to what a port sends at least.
  [[nodiscard]] std::size_t finish(std::size_t bytes) const noexcept {
    const std::size_t length = std::max(header + bytes, kLeastFrameBytes);
    std::ranges::fill(all.subspan(header + bytes, length - header - bytes), std::byte{0});
    return length;
  }
};

Draft begin(const Identity& who, Room out, Octets to, std::uint16_t ethertype) noexcept {
  const auto addresses = prm::View<ethernet_addresses>::at(out);
  std::ranges::copy(to.first(kMac), addresses.bytes<"h_dest">().begin());
  std::ranges::copy(bytes_of(who.mac), addresses.bytes<"h_source">().begin());
  std::size_t at = ethernet_addresses::bytes;
  if (who.vlan_id) {
    const auto tag = prm::View<vlan_tag>::at(out, at);
    std::ranges::fill(tag.all(), std::byte{0});
    tag.set<"h_proto", kEthertypeVlan>();
    static_cast<void>(tag.try_set<"vid">(*who.vlan_id));
    at += vlan_tag::bytes;
  }
  store_be16(out, at, ethertype);
  return {out, at + sizeof ethertype};
}

std::size_t write_arp(const Identity& who, Room out, Octets to, ArpOp op, Octets own,
                      Octets target_mac, Octets target) noexcept {
  const Draft draft = begin(who, out, to, kEthertypeArp);
  const auto arp = prm::View<arp_packet>::at(draft.body());
  arp.set<"ar_hrd", kArpEthernet>();
  arp.set<"ar_pro", kEthertypeIpv4>();
  arp.set<"ar_hln", kMac>();
  arp.set<"ar_pln", kIpv4>();
  arp.put<"ar_op">(op);
  std::ranges::copy(bytes_of(who.mac), arp.bytes<"ar_sha">().begin());
  std::ranges::copy(own, arp.bytes<"ar_sip">().begin());
  std::ranges::copy(target_mac, arp.bytes<"ar_tha">().begin());
  std::ranges::copy(target, arp.bytes<"ar_tip">().begin());
  return draft.finish(arp_packet::bytes);
}

void write_ipv6(prm::View<ipv6_header> ip, std::size_t bytes, std::uint8_t hop_limit, Octets from,
                Octets to) noexcept {
  std::ranges::fill(ip.all(), std::byte{0});
  ip.set<"version", 6>();
  ip.put<"payload_len">(static_cast<std::uint16_t>(bytes));
  ip.set<"next_header", kProtocolIcmpv6>();
  ip.put<"hop_limit">(hop_limit);
  std::ranges::copy(from, ip.bytes<"saddr">().begin());
  std::ranges::copy(to, ip.bytes<"daddr">().begin());
}

/// An advertisement of `own` with the port's MAC; it overrides what was known (ndisc_recv_ns).
std::size_t write_advertisement(const Identity& who, Room out, Octets to_mac, Octets to, Octets own,
                                bool is_solicited) noexcept {
  constexpr std::size_t kBytes = nd_msg::bytes + nd_link_option::bytes;
  const Draft draft = begin(who, out, to_mac, kEthertypeIpv6);
  const auto ip = prm::View<ipv6_header>::at(draft.body());
  write_ipv6(ip, kBytes, kNdHopLimit, own, to);
  const Room message = draft.body().subspan(ipv6_header::bytes, kBytes);
  std::ranges::fill(message, std::byte{0});
  const auto advertisement = prm::View<nd_msg>::at(message);
  advertisement.set<"icmp6_type", kAdvertisement>();
  static_cast<void>(advertisement.try_set<"solicited">(is_solicited ? 1 : 0));
  advertisement.set<"override", 1>();
  std::ranges::copy(own, advertisement.bytes<"target">().begin());
  const auto option = prm::View<nd_link_option>::at(message, nd_msg::bytes);
  option.set<"nd_opt_type", kTargetLink>();
  option.set<"nd_opt_len", 1>();
  std::ranges::copy(bytes_of(who.mac), option.bytes<"address">().begin());
  advertisement.put<"icmp6_cksum">(checksum6(ip, message));
  return draft.finish(ipv6_header::bytes + kBytes);
}

/// What a frame is, once its Ethernet header has been read.
struct Arrival {
  Octets dest;
  Octets source;
  Octets body;
};

enum class Fate : std::uint8_t { Malformed, NotOurs, Arp, Advertised, Echo };
struct Outcome {
  Fate fate = Fate::Malformed;
  std::size_t bytes = 0;
};

/// Reads one frame for one port.
class Reader {
 public:
  Reader(const Identity& who, Room out) noexcept
      : who_(&who), own_mac_(bytes_of(who.mac)), out_(out) {}

  [[nodiscard]] Outcome read(Octets frame) const noexcept {
    if (frame.size() < ethernet_addresses::bytes + sizeof(std::uint16_t)) return {};
    if (frame.size() + vlan_tag::bytes > out_.size()) return {Fate::NotOurs};
    const auto addresses = prm::ConstView<ethernet_addresses>::at(frame);
    if (!is_station(addresses.bytes<"h_source">())) return {};
    std::size_t at = ethernet_addresses::bytes;
    std::uint16_t vid = 0;
    if (load_be16(frame, at) == kEthertypeVlan) {
      if (frame.size() < at + vlan_tag::bytes + sizeof(std::uint16_t)) return {};
      vid = static_cast<std::uint16_t>(prm::ConstView<vlan_tag>::at(frame, at).get<"vid">());
      at += vlan_tag::bytes;
    }
    // A tag of VLAN 0 has a priority alone (802.1Q), and is as good as none.
    if (vid != who_->vlan_id.value_or(0)) return {Fate::NotOurs};
    const std::uint16_t ethertype = load_be16(frame, at);
    const Arrival arrival{addresses.bytes<"h_dest">(), addresses.bytes<"h_source">(),
                          frame.subspan(at + sizeof ethertype)};
    if (ethertype == kEthertypeArp) return read_arp(arrival);
    if (ethertype == kEthertypeIpv4) return read_ipv4(arrival);
    if (ethertype == kEthertypeIpv6) return read_ipv6(arrival);
    return {Fate::NotOurs};
  }

 private:
  [[nodiscard]] bool has(Octets ipv6) const noexcept {
    return std::ranges::any_of(who_->addresses, [&](const pmd::Gid& each) {
      return !each.is_ipv4() && is_equal(each.bytes, ipv6);
    });
  }
  [[nodiscard]] bool has4(Octets ipv4) const noexcept {
    return std::ranges::any_of(who_->addresses, [&](const pmd::Gid& each) {
      return each.is_ipv4() && is_equal(Octets(each.bytes).subspan(kMapped), ipv4);
    });
  }

  /// arp_process of net/ipv4/arp.c. A sender of 0.0.0.0 asks whether the address is taken (RFC
  /// 5227), and is answered.
  [[nodiscard]] Outcome read_arp(const Arrival& arrival) const noexcept {
    if (arrival.body.size() < arp_packet::bytes) return {};
    const auto arp = prm::ConstView<arp_packet>::at(arrival.body);
    if (arp.get<"ar_hrd">() != kArpEthernet || arp.get<"ar_pro">() != kEthertypeIpv4 ||
        arp.get<"ar_hln">() != kMac || arp.get<"ar_pln">() != kIpv4)
      return {};
    const Octets sender = arp.bytes<"ar_sip">();
    if (!is_station(arp.bytes<"ar_sha">()) || (!is_zero(sender) && !is_host4(sender))) return {};
    if (arp.get<"ar_op">() != prm::number(ArpOp::REQUEST)) return {Fate::NotOurs};
    const Octets target = arp.bytes<"ar_tip">();
    if (!is_equal(arrival.dest, own_mac_) && !is_equal(arrival.dest, kBroadcast))
      return {Fate::NotOurs};
    // Somebody who says that he has the address is not told where it is.
    if (!has4(target) || is_equal(sender, target)) return {Fate::NotOurs};
    return {Fate::Arp, write_arp(*who_, out_, arp.bytes<"ar_sha">(), ArpOp::REPLY, target,
                                 arp.bytes<"ar_sha">(), sender)};
  }

  [[nodiscard]] Outcome read_ipv4(const Arrival& arrival) const noexcept {
    if (arrival.body.size() < ipv4_header::bytes) return {};
    const auto ip = prm::ConstView<ipv4_header>::at(arrival.body);
    const std::size_t header = std::size_t{ip.get<"ihl">()} * 4;
    const std::size_t total = ip.get<"tot_len">();
    if (ip.get<"version">() != 4 || header < ipv4_header::bytes || total < header ||
        total > arrival.body.size() || ip.get<"ttl">() == 0 ||
        checksum(add_words(0, arrival.body.first(header))) != 0)
      return {};
    const bool is_whole = ip.get<"more_fragments">() == 0 && ip.get<"frag_off">() == 0;
    if (!is_whole || header != ipv4_header::bytes || ip.get<"protocol">() != kProtocolIcmp ||
        !has4(ip.bytes<"daddr">()) || !is_equal(arrival.dest, own_mac_))
      return {Fate::NotOurs};
    const Octets sender = ip.bytes<"saddr">();
    if (!is_host4(sender) || has4(sender)) return {};
    const Octets message = arrival.body.subspan(header, total - header);
    if (message.size() < icmp_header::bytes || checksum(add_words(0, message)) != 0) return {};
    const auto icmp = prm::ConstView<icmp_header>::at(message);
    if (icmp.get<"type">() != kEcho || icmp.get<"code">() != 0) return {Fate::NotOurs};
    return {Fate::Echo, echo4(arrival, ip, message)};
  }

  [[nodiscard]] std::size_t echo4(const Arrival& arrival, prm::ConstView<ipv4_header> asked,
                                  Octets message) const noexcept {
    const Draft draft = begin(*who_, out_, arrival.source, kEthertypeIpv4);
    const auto ip = prm::View<ipv4_header>::at(draft.body());
    const std::size_t total = ipv4_header::bytes + message.size();
    std::ranges::fill(ip.all(), std::byte{0});
    ip.set<"version", 4>();
    ip.set<"ihl", 5>();
    static_cast<void>(ip.try_set<"tos">(asked.get<"tos">()));
    ip.put<"tot_len">(static_cast<std::uint16_t>(total));
    ip.set<"dont_fragment", 1>();
    ip.set<"ttl", kHopLimit>();
    ip.set<"protocol", kProtocolIcmp>();
    std::ranges::copy(asked.bytes<"daddr">(), ip.bytes<"saddr">().begin());
    std::ranges::copy(asked.bytes<"saddr">(), ip.bytes<"daddr">().begin());
    ip.put<"check">(checksum(add_words(0, ip.all())));
    const Room reply = echo(draft.body().subspan(ipv4_header::bytes), message, kEchoReply);
    prm::View<icmp_header>::at(reply).put<"checksum">(checksum(add_words(0, reply)));
    return draft.finish(total);
  }

  /// The message once more, as the answer; its checksum is still to come.
  [[nodiscard]] static Room echo(Room to, Octets message, std::uint8_t type) noexcept {
    std::ranges::copy(message, to.begin());
    const auto icmp = prm::View<icmp_header>::at(to);
    icmp.put<"type">(type);
    icmp.set<"checksum", 0>();
    return to.first(message.size());
  }

  [[nodiscard]] Outcome read_ipv6(const Arrival& arrival) const noexcept {
    if (arrival.body.size() < ipv6_header::bytes) return {};
    const auto ip = prm::ConstView<ipv6_header>::at(arrival.body);
    const std::size_t length = ip.get<"payload_len">();
    if (ip.get<"version">() != 6 || length > arrival.body.size() - ipv6_header::bytes ||
        ip.get<"hop_limit">() == 0 || is_group6(ip.bytes<"saddr">()))
      return {};
    if (ip.get<"next_header">() != kProtocolIcmpv6) return {Fate::NotOurs};
    const Octets message = arrival.body.subspan(ipv6_header::bytes, length);
    if (message.size() < icmp_header::bytes || checksum6(ip, message) != 0) return {};
    const auto icmp = prm::ConstView<icmp_header>::at(message);
    if (icmp.get<"type">() == kSolicitation) return read_solicitation(arrival, ip, message);
    if (icmp.get<"type">() != kEcho6 || icmp.get<"code">() != 0 || !has(ip.bytes<"daddr">()) ||
        !is_equal(arrival.dest, own_mac_))
      return {Fate::NotOurs};
    if (is_zero(ip.bytes<"saddr">()) || has(ip.bytes<"saddr">())) return {};
    return {Fate::Echo, echo6(arrival, ip, message)};
  }

  [[nodiscard]] std::size_t echo6(const Arrival& arrival, prm::ConstView<ipv6_header> asked,
                                  Octets message) const noexcept {
    const Draft draft = begin(*who_, out_, arrival.source, kEthertypeIpv6);
    const auto ip = prm::View<ipv6_header>::at(draft.body());
    write_ipv6(ip, message.size(), kHopLimit, asked.bytes<"daddr">(), asked.bytes<"saddr">());
    const Room reply = echo(draft.body().subspan(ipv6_header::bytes), message, kEchoReply6);
    prm::View<icmp_header>::at(reply).put<"checksum">(checksum6(ip, reply));
    return draft.finish(ipv6_header::bytes + message.size());
  }

  /// The option's address, or where there is none the frame's sender; nothing for a list of options
  /// that is wrong (ndisc_parse_options of net/ipv6/ndisc.c).
  [[nodiscard]] static std::optional<Octets> whom_to_answer(Octets options, const Arrival& arrival,
                                                            bool has_sender) noexcept {
    Octets found = arrival.source;
    while (!options.empty()) {
      constexpr std::size_t kUnit = 8;
      const std::size_t bytes =
          options.size() < kUnit ? 0 : std::to_integer<std::size_t>(options[1]) * kUnit;
      if (bytes == 0 || bytes > options.size()) return std::nullopt;
      if (options[0] == std::byte{kSourceLink}) {
        const auto option = prm::ConstView<nd_link_option>::at(options);
        found = option.bytes<"address">();
        if (!has_sender || bytes != kUnit || !is_station(found)) return std::nullopt;
      }
      options = options.subspan(bytes);
    }
    return found;
  }

  /// ndisc_recv_ns of net/ipv6/ndisc.c and what RFC 4861, 7.1.1 asks for.
  [[nodiscard]] Outcome read_solicitation(const Arrival& arrival, prm::ConstView<ipv6_header> ip,
                                          Octets message) const noexcept {
    if (message.size() < nd_msg::bytes) return {};
    const auto asked = prm::ConstView<nd_msg>::at(message);
    const Octets target = asked.bytes<"target">();
    const Octets sender = ip.bytes<"saddr">();
    const Octets dest = ip.bytes<"daddr">();
    const auto group = solicited_node(target);
    const bool has_sender = !is_zero(sender);
    if (ip.get<"hop_limit">() != kNdHopLimit || asked.get<"icmp6_code">() != 0 ||
        is_group6(target) || (!has_sender && !is_equal(dest, group)))
      return {};
    const auto to = whom_to_answer(message.subspan(nd_msg::bytes), arrival, has_sender);
    if (!to || has(sender)) return {};
    const bool is_to_us = (is_equal(dest, target) && is_equal(arrival.dest, own_mac_)) ||
                          (is_equal(dest, group) && (is_equal(arrival.dest, own_mac_) ||
                                                     is_equal(arrival.dest, group_mac(group))));
    if (!has(target) || !is_to_us) return {Fate::NotOurs};
    // From :: somebody asks whether the address is taken: everybody hears the answer.
    return {Fate::Advertised,
            has_sender ? write_advertisement(*who_, out_, *to, sender, target, true)
                       : write_advertisement(*who_, out_, kAllNodesMac, kAllNodes, target, false)};
  }

  const Identity* who_;
  std::array<std::byte, kMac> own_mac_;
  Room out_;
};

}  // namespace

std::size_t Answerer::answer(std::span<const std::byte> frame, std::span<std::byte> out) {
  const Outcome outcome = Reader(identity_, out).read(frame);
  switch (outcome.fate) {
    case Fate::Malformed:
      ++counts_.malformed;
      break;
    case Fate::NotOurs:
      ++counts_.not_ours;
      break;
    case Fate::Arp:
      ++counts_.arp_replies;
      break;
    case Fate::Advertised:
      ++counts_.advertisements;
      break;
    case Fate::Echo:
      ++counts_.echo_replies;
      break;
  }
  return outcome.bytes;
}

std::vector<std::vector<std::byte>> Answerer::announcements() const {
  constexpr std::array<std::byte, kMac> kNobody{};
  std::vector<std::vector<std::byte>> frames;
  for (const pmd::Gid& each : identity_.addresses) {
    std::vector<std::byte> frame(kMostShortFrame);
    const Octets own = each.is_ipv4() ? Octets(each.bytes).subspan(kMapped) : Octets(each.bytes);
    frame.resize(each.is_ipv4()
                     ? write_arp(identity_, frame, kBroadcast, ArpOp::REQUEST, own, kNobody, own)
                     : write_advertisement(identity_, frame, kAllNodesMac, kAllNodes, own, false));
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<pmd::Mac> Answerer::groups() const {
  std::vector<pmd::Mac> groups;
  for (const pmd::Gid& each : identity_.addresses) {
    const auto bytes = each.is_ipv4() ? kBroadcast : group_mac(solicited_node(each.bytes));
    pmd::Mac mac;
    std::memcpy(mac.octets.data(), bytes.data(), bytes.size());
    if (std::ranges::find(groups, mac) == groups.end()) groups.push_back(mac);
  }
  return groups;
}

}  // namespace portcullis::neighbour
