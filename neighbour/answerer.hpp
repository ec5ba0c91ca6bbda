// SPDX-License-Identifier: BSD-3-Clause
//
// What a host says of its addresses to its neighbours, frame for frame: ARP replies (RFC 826), ICMP
// echo replies (RFC 792), neighbour advertisements (RFC 4861) and ICMPv6 echo replies (RFC 4443).
// No device and no memory of who asked: the answer is a function of the frame. Whoever is on the
// link writes what comes in here, so nothing of it is believed, and what is wrong is dropped and
// counted. Nothing is learned from a frame either: an answer goes back to whom it names.
//
//   dropped, malformed          anything cut short or longer than it says; a bad checksum; a sender
//                               that is no station; a solicitation from off the link (hop limit not
//                               255), with an option of no length, of a group's address, or from ::
//                               with an address beside it
//   dropped, not for the port   another MAC, VLAN or address; IP options, fragments and extension
//                               headers; whatever else there is
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pmd/gid.hpp"

namespace portcullis::neighbour {

/// Who the port is to its neighbours.
struct Identity {
  pmd::Mac mac;
  std::vector<pmd::Gid> addresses;  // v4-mapped: of IPv4
  std::optional<std::uint16_t> vlan_id = std::nullopt;
};

struct Counts {
  std::uint64_t arp_replies = 0;
  std::uint64_t advertisements = 0;
  std::uint64_t echo_replies = 0;
  std::uint64_t malformed = 0;
  std::uint64_t not_ours = 0;
  bool operator==(const Counts&) const = default;
};

class Answerer {
 public:
  explicit Answerer(Identity identity) noexcept : identity_(std::move(identity)) {}

  /// Writes the answer to `frame` into `out`; its length, 0 for none. `out` is another piece of
  /// memory, of at least kMostShortFrame bytes; a frame that it does not exceed by a tag is not
  /// answered.
  [[nodiscard]] std::size_t answer(std::span<const std::byte> frame, std::span<std::byte> out);
  static constexpr std::size_t kMostShortFrame = 128;

  /// Tells everybody on the link, for caches that still have an earlier owner: for each address a
  /// gratuitous ARP request (arp_send of inetdev_send_gratuitous_arp, net/ipv4/devinet.c) or an
  /// unsolicited advertisement (ndisc_send_unsol_na).
  [[nodiscard]] std::vector<std::vector<std::byte>> announcements() const;
  /// Groups that the port must listen to in order to be asked: broadcast for IPv4, of each IPv6
  /// address its solicited-node multicast.
  [[nodiscard]] std::vector<pmd::Mac> groups() const;

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  [[nodiscard]] const Identity& identity() const noexcept { return identity_; }

 private:
  Identity identity_;
  Counts counts_;
};

}  // namespace portcullis::neighbour
