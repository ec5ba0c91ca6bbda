// SPDX-License-Identifier: BSD-3-Clause
//
// Where the fields that steering changes stand in a frame, as bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ethernet/frame_facts.hpp"
#include "model/transport/headers.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// Where a field's bits are counted from.
enum class Layer : std::uint8_t { Ethernet, Tag, Ethertype, Ipv4, Ipv6, Tcp, Udp };

/// Bits from the first one of a layer on.
struct FieldPlace {
  Layer layer{};
  unsigned bit = 0;
  unsigned width = 0;  // at most 32
};

/// Bits from the frame's first one on.
struct FrameBits {
  std::size_t at = 0;
  unsigned width = 0;
};

/// Where a member of a header begins, in bits.
template <prm::Name Member, class Header>
inline constexpr unsigned kBitOf = prm::place<Header, Member>.offset;

inline constexpr unsigned kSourceMacBit = kMacBytes * 8;
inline constexpr unsigned kV6Source = kBitOf<"saddr", ipv6_header>;
inline constexpr unsigned kV6Dest = kBitOf<"daddr", ipv6_header>;
inline constexpr unsigned kV6Class = kBitOf<"traffic_class", ipv6_header>;
/// The upper ones of tos and of the traffic class (RFC 2474).
inline constexpr unsigned kDscpBits = 6;

/// Nothing: the frame has no such header.
[[nodiscard]] std::optional<FrameBits> find_bits(const FieldPlace& place,
                                                 std::span<const std::byte> frame);
[[nodiscard]] std::uint32_t load_bits(std::span<const std::byte> frame, FrameBits bits);
/// The lowest bits of `value`.
void store_bits(std::span<std::byte> frame, FrameBits bits, std::uint32_t value);

/// Checksums of IPv4, TCP and UDP that are right before change(frame) are right after it. One that
/// was wrong is left, so that whoever gets the frame can see it, and so is UDP's 0, which says that
/// there is none.
class ChecksumKeeper {
 public:
  explicit ChecksumKeeper(std::span<std::byte> frame);
  ~ChecksumKeeper();
  ChecksumKeeper(const ChecksumKeeper&) = delete;
  ChecksumKeeper& operator=(const ChecksumKeeper&) = delete;

 private:
  std::span<std::byte> frame_;
  std::uint8_t right_;
};

}  // namespace portcullis::model
