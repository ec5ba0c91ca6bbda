// SPDX-License-Identifier: BSD-3-Clause
//
// The frames of a capture file: pcap (draft-ietf-opsawg-pcap) and pcapng
// (draft-ietf-opsawg-pcapng), which Wireshark and its programs write. Own code and not libpcap:
// that one refuses a pcapng file whose interfaces differ in link type or snapshot length, or whose
// sections differ in byte order (pcap_ng_next_packet of its sf-pcapng.c), hides what was dropped,
// and needs D-Bus where it is linked statically. A test holds this against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "tools/failover_check/packet.hpp"

namespace portcullis::tools::failover_check {

__extension__ using Nanoseconds = __int128;  // a time stamp has 64 bits, in units down to 1e-19 s

/// When a frame was captured: between these two, as exact as its interface's clock tells.
struct CaptureTime {
  Nanoseconds from = 0, to = 0;
};

struct FileFrame {
  CapturedFrame frame;
  std::size_t interface = 0;        // counted over the file
  std::optional<CaptureTime> time;  // pcapng; its simple packet blocks have none
};

using TakeFrame = std::function<Result<void>(const FileFrame&)>;

/// Gives every frame to `take`, in the order of the file, until that fails. Returns how many frames
/// the file says were dropped while it was written: what they held nobody knows.
/// Malformed, as "FILE: frame N: what" or "FILE: byte N: what": cut short, lengths that contradict
/// each other, versions and link types that are not read.
[[nodiscard]] Result<std::uint64_t> read_frames(std::string_view bytes, std::string_view file,
                                                const TakeFrame& take);

}  // namespace portcullis::tools::failover_check
