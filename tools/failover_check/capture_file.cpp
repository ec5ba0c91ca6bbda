// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/capture_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tools/failover_check/pcapng.hpp"

namespace portcullis::tools::failover_check {
namespace {

constexpr std::size_t kHeaderBytes = 24, kRecordBytes = 16;

struct PcapHeader {
  bool is_little = true;
  std::uint32_t link_type = 0;
};

std::uint64_t number_of(Bytes field, bool is_little) {
  if (!is_little) return big(field);
  std::uint64_t value = 0;
  for (std::size_t i = field.size(); i-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(field[i]);
  return value;
}

Result<PcapHeader> header_of(Bytes bytes, std::string_view file) {
  constexpr std::uint64_t kMicroseconds = 0xa1b2c3d4, kNanoseconds = 0xa1b23c4d;
  const auto refuse = [&](const std::string& what) {
    return fail(Errc::Malformed, fmt::format("{}: {}", file, what));
  };
  if (bytes.size() < kHeaderBytes) return refuse("too short for a pcap or pcapng file");
  const auto is_magic = [&](bool is_little) {
    const std::uint64_t magic = number_of(bytes.first(4), is_little);
    return magic == kMicroseconds || magic == kNanoseconds;
  };
  PcapHeader header;
  header.is_little = is_magic(true);
  if (!header.is_little && !is_magic(false))
    return refuse(
        fmt::format("begins with {:08x}; pcap (a1b2c3d4, a1b23c4d) and pcapng (0a0d0d0a) are "
                    "accepted",
                    big(bytes.first(4))));
  constexpr std::uint64_t kLinkTypeMask = 0xffff;  // the length of the FCS is above
  header.link_type =
      static_cast<std::uint32_t>(number_of(bytes.subspan(20, 4), header.is_little) & kLinkTypeMask);
  if (!is_link_type_read(header.link_type))
    return refuse(
        fmt::format("link type {}; accepted are {}", header.link_type, link_types_read()));
  return header;
}

Result<std::uint64_t> read_pcap(Bytes bytes, std::string_view file, const TakeFrame& take) {
  PORTCULLIS_TRY_ASSIGN(const PcapHeader header, header_of(bytes, file));
  FileFrame one;
  one.frame.link_type = header.link_type;
  for (Bytes rest = bytes.subspan(kHeaderBytes); !rest.empty();) {
    ++one.frame.number;
    const auto field = [&](std::size_t at) {
      return number_of(rest.subspan(at, 4), header.is_little);
    };
    if (rest.size() < kRecordBytes || rest.size() - kRecordBytes < field(8))
      return fail(Errc::Malformed, fmt::format("{}: frame {}: the file ends in it; a whole file is "
                                               "accepted",
                                               file, one.frame.number));
    one.frame.bytes = rest.subspan(kRecordBytes, field(8));
    one.frame.wire_bytes = std::max<std::uint64_t>(field(12), one.frame.bytes.size());
    PORTCULLIS_TRY(take(one));
    rest = rest.subspan(kRecordBytes + one.frame.bytes.size());
  }
  return std::uint64_t{0};
}

}  // namespace

Result<std::uint64_t> read_frames(std::string_view text, std::string_view file,
                                  const TakeFrame& take) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return is_pcapng(bytes) ? read_pcapng(bytes, file, take) : read_pcap(bytes, file, take);
}

}  // namespace portcullis::tools::failover_check
