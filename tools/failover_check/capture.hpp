// SPDX-License-Identifier: BSD-3-Clause
//
// A dump for `classify` from a capture of RoCEv2 (Wireshark, tcpdump, ibdump, --pcap of our own):
// what one can see on the wire of the requests that a sender has outstanding. A capture has no CQEs
// and no promises of the application; both are said by whoever asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace portcullis::tools::failover_check {

/// What the application promises of every region.
struct CaptureContext {
  std::string environment;
  std::string consumer = "polls";
  bool is_fenced = false;
};

/// One message of a requester, as its first transmission shows it.
struct CapturedRequest {
  std::string_view opcode;   // of verbs.h
  std::uint32_t qp_num = 0;  // of the responder, or what `renumbered` gives its connection
  std::uint32_t psn = 0;     // of its first packet
  bool has_rkey = false, has_length = false, has_atomic = false;
  std::uint64_t remote_addr = 0, compare_add = 0, swap = 0;
  std::uint32_t rkey = 0, length = 0;
  std::string_view status;  // of verbs.h; empty: no answer was seen
};

/// A connection whose responder QP has the number of another one's in the capture.
struct Renumbered {
  std::string responder;  // its address
  std::uint32_t qpn = 0, qp_num = 0;
};

struct Capture {
  /// In the order of the wire, from the first one that has no answer on; empty: all have one.
  std::vector<CapturedRequest> requests;
  std::uint64_t answered_before = 0;  // requests that are left out: all of them were answered
  std::uint64_t unseen_before = 0;    // gaps between the PSNs of these, of which nothing is known
  std::uint64_t of_others = 0;        // request packets that another sent than the one asked for
  std::uint64_t other_frames = 0;     // that are no RoCEv2 of a reliable connection
  std::uint64_t dropped = 0;          // while it was taken, as the file says
  /// Packets as they had been sent and answered before: again, or those of another connection.
  std::uint64_t again_after_answer = 0, first_again = 0;  // the frame of the first
  std::vector<Renumbered> renumbered;
};

/// `is_at_sender`: taken where an answer on the wire has come back, so that its request completed;
/// elsewhere an answer may yet have been lost, and nothing counts as completed. `sender`: whose
/// requests, by its IP address; may be empty where all are of one.
/// The bytes of a pcap or pcapng file. Malformed, as "FILE: frame N: what": cut short, not in the
/// order of time, or without what is needed to know what is outstanding. Checksums are not looked
/// at.
[[nodiscard]] Result<Capture> read_capture(std::string_view bytes, std::string_view file,
                                           bool is_at_sender, std::string_view sender = {});

/// The dump, as docs/failover.md has it. wr_id is the request's number in it.
[[nodiscard]] std::string dump_of(const Capture& capture, const CaptureContext& context);

}  // namespace portcullis::tools::failover_check
