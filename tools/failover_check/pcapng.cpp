// SPDX-License-Identifier: BSD-3-Clause
//
// Sections, blocks and options are those of draft-ietf-opsawg-pcapng, whose numbers stand beside
// them.
#include "tools/failover_check/pcapng.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace portcullis::tools::failover_check {
namespace {

enum BlockType : std::uint32_t {
  kSectionHeader = 0x0a0d0d0a,  // s4.1; the same in either byte order
  kInterfaceDescription = 1,    // s4.2
  kObsoletePacket = 2,          // Appendix A
  kSimplePacket = 3,            // s4.4
  kInterfaceStatistics = 5,     // s4.6
  kEnhancedPacket = 6,          // s4.3
};
constexpr std::size_t kFrameBytes = 12;  // of a block: type, and its length before and behind
constexpr std::size_t kBodyAt = 8;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

/// Lies must not wrap what is added up.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

struct Interface {
  std::uint32_t link_type = 0;
  std::uint64_t snap_length = 0;               // 0: none
  std::uint64_t units_per_second = 1'000'000;  // s4.2, if_tsresol
  std::int64_t offset_s = 0;                   // if_tsoffset
  std::uint64_t dropped_before = 0;            // as its packets say
  // As its statistics say: those that told it last.
  std::uint64_t dropped_by_interface = 0;
  std::uint64_t dropped_by_system = 0;

  [[nodiscard]] CaptureTime time_of(std::uint64_t stamp) const {
    const Nanoseconds units = units_per_second, offset = Nanoseconds{offset_s} * kNsPerSecond;
    const Nanoseconds from = Nanoseconds{stamp} * kNsPerSecond;
    const Nanoseconds to = from + kNsPerSecond + units - 1;
    return {offset + from / units, offset + to / units};
  }
};

class Reader {
 public:
  Reader(Bytes bytes, std::string_view file, const TakeFrame& take)
      : bytes_(bytes), file_(file), take_(take) {}

  Result<std::uint64_t> read() {
    while (at_ < bytes_.size()) PORTCULLIS_TRY(block());
    end_section();
    return dropped_;
  }

 private:
  /// A packet is named by its number, which Wireshark shows, another block by its place.
  [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const {
    const bool is_packet =
        type_ == kEnhancedPacket || type_ == kSimplePacket || type_ == kObsoletePacket;
    return fail(Errc::Malformed, fmt::format("{}: {}: {}", file_,
                                             is_packet ? fmt::format("frame {}", frames_)
                                                       : fmt::format("byte {}", at_),
                                             what));
  }
  [[nodiscard]] tl::unexpected<Error> cut() const {
    return bad("the file ends in it; a whole file is accepted");
  }

  [[nodiscard]] std::uint64_t number(Bytes field) const {
    if (!is_little_) return big(field);
    std::uint64_t value = 0;
    for (std::size_t i = field.size(); i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(field[i]);
    return value;
  }
  [[nodiscard]] std::uint64_t number(Bytes from, std::size_t at, std::size_t bytes) const {
    return number(from.subspan(at, bytes));
  }

  Result<void> block() {
    const Bytes rest = bytes_.subspan(at_);
    type_ = kSectionHeader;  // until it is known
    if (rest.size() < kFrameBytes) return cut();
    const auto type = static_cast<std::uint32_t>(number(rest, 0, 4));
    if (type == kSectionHeader) PORTCULLIS_TRY(take_byte_order(rest));
    type_ = type;
    if (type_ == kEnhancedPacket || type_ == kSimplePacket || type_ == kObsoletePacket) ++frames_;
    const std::uint64_t length = number(rest, 4, 4);
    if (length < kFrameBytes || length % 4 != 0)
      return bad(
          fmt::format("a block of {} bytes; multiples of 4 from 12 on are accepted", length));
    if (length > rest.size()) return cut();
    const std::uint64_t again = number(rest, static_cast<std::size_t>(length) - 4, 4);
    if (again != length)
      return bad(
          fmt::format("a block of {} bytes at its begin and {} at its end; one length is "
                      "accepted",
                      length, again));
    PORTCULLIS_TRY(body(rest.subspan(kBodyAt, static_cast<std::size_t>(length) - kFrameBytes)));
    at_ += static_cast<std::size_t>(length);
    return {};
  }
  Result<void> take_byte_order(Bytes rest) {
    constexpr std::uint64_t kMagic = 0x1a2b3c4d;
    const Bytes magic = rest.subspan(kBodyAt, 4);
    is_little_ = true;
    if (number(magic) == kMagic) return {};
    is_little_ = false;
    if (number(magic) == kMagic) return {};
    return bad(fmt::format("byte-order magic {:08x}; 1a2b3c4d in either order is accepted",
                           number(magic)));
  }

  Result<void> body(Bytes body) {
    switch (type_) {
      case kSectionHeader:
        return section(body);
      case kInterfaceDescription:
        return interface(body);
      case kEnhancedPacket:
        return enhanced(body);
      case kObsoletePacket:
        return obsolete(body);
      case kSimplePacket:
        return simple(body);
      case kInterfaceStatistics:
        return statistics(body);
      default:
        return {};  // s3.1: ignored by who does not know it
    }
  }
  Result<void> want(Bytes body, std::size_t bytes) const {
    if (body.size() >= bytes) return {};
    return bad(fmt::format("{} bytes of its block's fields; {} are accepted", body.size(), bytes));
  }

  /// s3.5, until one says that it is the last or the block ends.
  template <class Take>
  Result<void> each_option(Bytes options, const Take& take) const {
    constexpr std::size_t kHeader = 4;
    while (options.size() >= kHeader) {
      const std::uint64_t code = number(options, 0, 2);
      const auto length = static_cast<std::size_t>(number(options, 2, 2));
      if (code == 0) return {};
      const std::size_t padded = (length + 3) / 4 * 4;
      if (padded > options.size() - kHeader)
        return bad(fmt::format("option {} has {} bytes, its block {} more; those are accepted",
                               code, length, options.size() - kHeader));
      PORTCULLIS_TRY(take(code, options.subspan(kHeader, length)));
      options = options.subspan(kHeader + padded);
    }
    return {};
  }
  Result<std::uint64_t> option(std::uint64_t code, Bytes value, std::size_t bytes) const {
    if (value.size() == bytes) return number(value);
    return bad(fmt::format("option {} has {} bytes; {} are accepted", code, value.size(), bytes));
  }

  /// A section of a version that is not known is to be skipped, says s3.4. Whoever asks what is
  /// outstanding must not miss its frames.
  Result<void> section(Bytes body) {
    constexpr std::size_t kFields = 16;
    PORTCULLIS_TRY(want(body, kFields));
    const std::uint64_t major = number(body, 4, 2), minor = number(body, 6, 2);
    if (major != 1 || (minor != 0 && minor != 2))
      return bad(fmt::format("pcapng {}.{}; 1.0 and 1.2 are accepted", major, minor));
    end_section();
    return {};
  }
  void end_section() {
    for (const Interface& one : interfaces_)
      dropped_ = sum(dropped_, std::max(one.dropped_before,
                                        sum(one.dropped_by_interface, one.dropped_by_system)));
    interfaces_before_ += interfaces_.size();
    interfaces_.clear();
  }

  Result<void> interface(Bytes body) {
    constexpr std::size_t kFields = 8;
    constexpr std::uint64_t kResolution = 9, kOffset = 14;
    PORTCULLIS_TRY(want(body, kFields));
    Interface made;
    made.link_type = static_cast<std::uint32_t>(number(body, 0, 2));
    made.snap_length = number(body, 4, 4);
    PORTCULLIS_TRY(
        each_option(body.subspan(kFields), [&](std::uint64_t code, Bytes value) -> Result<void> {
          if (code == kResolution) {
            PORTCULLIS_TRY_ASSIGN(const std::uint64_t said, option(code, value, 1));
            PORTCULLIS_TRY_ASSIGN(made.units_per_second, units_of(said));
          }
          if (code == kOffset) {
            PORTCULLIS_TRY_ASSIGN(const std::uint64_t said, option(code, value, 8));
            made.offset_s = static_cast<std::int64_t>(said);
          }
          return {};
        }));
    interfaces_.push_back(made);
    return {};
  }
  /// if_tsresol: a negative power of 10, or of 2.
  Result<std::uint64_t> units_of(std::uint64_t resolution) const {
    constexpr std::uint64_t kIsBinary = 0x80, kMostOfTen = 19, kMostOfTwo = 63;  // of 64 bits
    const std::uint64_t power = resolution & ~kIsBinary;
    const bool is_binary = (resolution & kIsBinary) != 0;
    if (power > (is_binary ? kMostOfTwo : kMostOfTen))
      return bad(fmt::format("if_tsresol is {}^-{}; 10^-19 and 2^-63 at least are accepted",
                             is_binary ? 2 : 10, power));
    if (is_binary) return std::uint64_t{1} << power;
    std::uint64_t units = 1;
    for (std::uint64_t i = 0; i < power; ++i) units *= 10;
    return units;
  }

  /// The interface that a block is of.
  Result<Interface*> described(std::uint64_t id) {
    if (id < interfaces_.size()) return &interfaces_[static_cast<std::size_t>(id)];
    return bad(fmt::format("interface {}; its section describes {}", id, interfaces_.size()));
  }

  Result<void> enhanced(Bytes body) {
    constexpr std::size_t kFields = 20;
    constexpr std::uint64_t kDropCount = 4;
    PORTCULLIS_TRY(want(body, kFields));
    const std::uint64_t id = number(body, 0, 4);
    PORTCULLIS_TRY_ASSIGN(Interface* const from, described(id));
    const std::uint64_t captured = number(body, 12, 4);
    PORTCULLIS_TRY_ASSIGN(const Bytes data, packet(body.subspan(kFields), captured));
    const Bytes options = body.subspan(kFields + (data.size() + 3) / 4 * 4);
    PORTCULLIS_TRY(each_option(options, [&](std::uint64_t code, Bytes value) -> Result<void> {
      if (code != kDropCount) return {};
      PORTCULLIS_TRY_ASSIGN(const std::uint64_t dropped, option(code, value, 8));
      from->dropped_before = sum(from->dropped_before, dropped);
      return {};
    }));
    return give(id, data, number(body, 16, 4), from->time_of(stamp(body.subspan(4))));
  }
  Result<void> obsolete(Bytes body) {
    constexpr std::size_t kFields = 20;
    constexpr std::uint64_t kUnknownDrops = 0xffff;
    PORTCULLIS_TRY(want(body, kFields));
    const std::uint64_t id = number(body, 0, 2), dropped = number(body, 2, 2);
    PORTCULLIS_TRY_ASSIGN(Interface* const from, described(id));
    if (dropped != kUnknownDrops) from->dropped_before = sum(from->dropped_before, dropped);
    PORTCULLIS_TRY_ASSIGN(const Bytes data, packet(body.subspan(kFields), number(body, 12, 4)));
    return give(id, data, number(body, 16, 4), from->time_of(stamp(body.subspan(4))));
  }
  /// Of the first interface; how much of it was captured follows from the snapshot length.
  Result<void> simple(Bytes body) {
    constexpr std::size_t kFields = 4;
    PORTCULLIS_TRY(want(body, kFields));
    PORTCULLIS_TRY_ASSIGN(const Interface* const from, described(0));
    const std::uint64_t on_wire = number(body, 0, 4);
    const std::uint64_t captured =
        from->snap_length == 0 ? on_wire : std::min(on_wire, from->snap_length);
    PORTCULLIS_TRY_ASSIGN(const Bytes data, packet(body.subspan(kFields), captured));
    return give(0, data, on_wire, std::nullopt);
  }
  Result<Bytes> packet(Bytes behind, std::uint64_t captured) const {
    if (captured <= behind.size()) return behind.first(static_cast<std::size_t>(captured));
    return bad(fmt::format("{} bytes are said to be captured, its block has room for {}", captured,
                           behind.size()));
  }
  /// Two halves, the upper one first in either byte order.
  [[nodiscard]] std::uint64_t stamp(Bytes field) const {
    return number(field, 0, 4) << 32U | number(field, 4, 4);
  }
  Result<void> give(std::uint64_t id, Bytes data, std::uint64_t on_wire,
                    std::optional<CaptureTime> time) const {
    const std::uint32_t link_type = interfaces_[static_cast<std::size_t>(id)].link_type;
    if (!is_link_type_read(link_type))
      return bad(fmt::format("link type {} of interface {}; accepted are {}", link_type, id,
                             link_types_read()));
    FileFrame one;
    one.frame = {frames_, link_type, data, std::max<std::uint64_t>(on_wire, data.size())};
    one.interface = interfaces_before_ + static_cast<std::size_t>(id);
    one.time = time;
    return take_(one);
  }

  /// Counts since the capture began: the last ones hold. Each may be left out, which takes nothing
  /// back.
  Result<void> statistics(Bytes body) {
    constexpr std::size_t kFields = 12;
    constexpr std::uint64_t kByInterface = 5, kBySystem = 7;  // isb_ifdrop, isb_osdrop
    PORTCULLIS_TRY(want(body, kFields));
    PORTCULLIS_TRY_ASSIGN(Interface* const of, described(number(body, 0, 4)));
    return each_option(body.subspan(kFields), [&](std::uint64_t code, Bytes value) -> Result<void> {
      if (code != kByInterface && code != kBySystem) return {};
      PORTCULLIS_TRY_ASSIGN(const std::uint64_t count, option(code, value, 8));
      (code == kByInterface ? of->dropped_by_interface : of->dropped_by_system) = count;
      return {};
    });
  }

  Bytes bytes_;
  std::string_view file_;
  const TakeFrame& take_;
  std::size_t at_ = 0;  // of the block that is read
  std::uint32_t type_ = kSectionHeader;
  bool is_little_ = true;
  std::uint64_t frames_ = 0;
  std::vector<Interface> interfaces_;  // of the section
  std::size_t interfaces_before_ = 0;  // of those before
  std::uint64_t dropped_ = 0;
};

}  // namespace

bool is_pcapng(Bytes bytes) noexcept {
  constexpr std::size_t kTypeBytes = 4;
  return bytes.size() >= kTypeBytes && big(bytes.first(kTypeBytes)) == kSectionHeader;
}

Result<std::uint64_t> read_pcapng(Bytes bytes, std::string_view file, const TakeFrame& take) {
  return Reader(bytes, file, take).read();
}

}  // namespace portcullis::tools::failover_check
