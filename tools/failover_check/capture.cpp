// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/capture.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "model/transport/headers.hpp"
#include "prm/view.hpp"
#include "tools/failover_check/capture_file.hpp"
#include "tools/failover_check/request_packet.hpp"

namespace portcullis::tools::failover_check {
namespace {

using namespace model;

std::uint64_t joined(std::uint64_t high, std::uint64_t low) { return high << 32 | low; }

/// As programs write it; nothing for what is no address.
std::string shown_address(const std::string& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = address.size() == 4 ? AF_INET : AF_INET6;
  return inet_ntop(family, address.data(), text.data(), text.size()) == nullptr ? "" : text.data();
}
std::string address_of(const std::string& text) {
  std::array<char, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return {bytes.data(), 4};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return {bytes.data(), 16};
  return {};
}

struct Message {
  CapturedRequest request;
  Operation operation = Operation::None;
  std::uint32_t qpn = 0;
  std::uint64_t frame = 0;  // of its first packet, from 1
  std::uint64_t place = 0;  // of its first packet on its connection
  std::uint32_t packets = 1;
  std::uint64_t bytes = 0;       // of the packets that were seen
  bool is_whole = true;          // its first packet is in the capture
  bool is_gap = false;           // PSNs of which no packet was seen
  bool is_told_as_read = false;  // FLUSH, ATOMIC WRITE: an empty answer to a READ answers it
  bool is_answered = false;
  std::uint32_t responses = 0;  // READ: packets of its answer that came in order
  std::uint32_t ends_at = 0;    // READ: so many are all of them, as the last one said
  /// What answers have changed.
  [[nodiscard]] std::tuple<bool, std::uint32_t, std::string_view> progress() const {
    return {is_answered, responses, request.status};
  }
  [[nodiscard]] std::uint32_t last_psn() const { return psn_add(request.psn, packets - 1); }
};

/// What goes to one responder QP.
struct Flow {
  std::string from, to;
  std::uint32_t qpn = 0;
  std::uint32_t number = 0;           // in the dump
  std::vector<std::size_t> messages;  // numbers, in PSN order
  std::vector<std::size_t> open;      // of them, which an answer may yet concern
  std::uint64_t next_place = 0;       // behind what was seen; its low bits are the PSN
  SentPackets sent;
  std::uint32_t mtu = 0;                    // once a packet that is not the last tells
  std::optional<std::uint32_t> answers_to;  // the QP number that the answers go to
  bool has_begun_here = false;              // nothing of it was sent before the capture began
  /// Packets that were sent again, one behind the other, until one that was not.
  std::vector<std::pair<std::uint64_t, Seen>> again;  // with their frames
  bool has_answer_since = false;                      // the first of `again`
  [[nodiscard]] std::uint32_t next_psn() const {
    return static_cast<std::uint32_t>(next_place) & kPsnMask;
  }
  [[nodiscard]] std::uint64_t place_of(std::uint32_t psn) const {
    return next_place + static_cast<std::uint64_t>(std::int64_t{psn_distance(psn, next_psn())});
  }
};

/// Where a connection's first packet stands, so that there are places before it.
constexpr std::uint64_t kFirstPlace = std::uint64_t{1} << 32U;

/// Further from what was sent than any window is another connection under the same number.
constexpr std::int32_t kWindow = 1 << 16;
constexpr std::uint32_t kLeastMtu = 256, kGreatestMtu = 4096;  // IBV_MTU_256, IBV_MTU_4096

/// PSNs that the answer to a READ takes beyond its own; at the smallest MTU where that is not known
/// yet, and 0 for what is no READ.
/// Of one that is nearer than half of all PSNs less a window it is known which side it lies on.
std::uint32_t most_behind(const Message& message) {
  constexpr std::uint32_t kMost = (1U << 23U) - 1 - kWindow;
  if (message.operation != Operation::Read || message.request.length == 0) return 0;
  if (message.ends_at != 0) return message.ends_at - 1;
  return std::min((message.request.length - 1) / kLeastMtu, kMost);
}
std::int32_t furthest_behind(const Message& message) {
  return kWindow + static_cast<std::int32_t>(most_behind(message));
}

class Reader {
 public:
  /// Of `sender`'s requests, an address as bytes; empty: of the one that there is.
  Reader(std::string_view file, bool is_at_sender, std::string sender)
      : file_(file),
        is_at_sender_(is_at_sender),
        is_asked_for_(!sender.empty()),
        sender_(std::move(sender)) {}

  Result<void> take(const FileFrame& one) {
    frame_ = one.frame.number;
    const Look look = look_at(one.frame);
    if (look.is_cut_short)
      return bad(frame_, fmt::format("{} of its {} bytes are captured, too few to know what it is; "
                                     "a snapshot length of 128 or more is accepted",
                                     one.frame.bytes.size(), one.frame.wire_bytes));
    if (!look.seen) {
      ++capture_.other_frames;
      return {};
    }
    PORTCULLIS_TRY(check_order(one));
    if (!info_of(look.seen->opcode).is_request()) return answer(*look.seen);
    if (sender_.empty()) sender_ = look.seen->from;
    if (look.seen->from == sender_) return request(*look.seen);
    ++capture_.of_others;
    if (is_asked_for_) return {};
    return bad(frame_, fmt::format("a request of {}, and before it of {}; --sender with one of "
                                   "them is accepted",
                                   shown_address(look.seen->from), shown_address(sender_)));
  }

  Result<Capture> capture() {
    if (messages_.empty() && capture_.of_others > 0)
      return fail(Errc::Malformed, fmt::format("{}: no request of {}, {} of others; the address of "
                                               "one who sends requests is accepted",
                                               file_, shown_address(sender_), capture_.of_others));
    complete_in_order();
    std::size_t first = messages_.size();
    for (std::size_t i = messages_.size(); i-- > 0;)
      if (!messages_[i].is_answered) first = i;
    for (std::size_t i = first; i < messages_.size(); ++i) {
      const Message& message = messages_[i];
      if (!message.is_whole)
        return bad(
            message.frame,
            fmt::format("PSN {} of QP {:#x} is outstanding and its message does not begin in "
                        "the capture; one that begins before it is accepted",
                        message.request.psn, message.qpn));
      capture_.requests.push_back(message.request);
    }
    for (std::size_t i = 0; i < first; ++i)
      ++(messages_[i].is_gap ? capture_.unseen_before : capture_.answered_before);
    return std::move(capture_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> bad(std::uint64_t frame, const std::string& what) const {
    return fail(Errc::Malformed, fmt::format("{}: frame {}: {}", file_, frame, what));
  }

  /// The order of the file is taken for that of the wire. Programs that capture on several
  /// interfaces write what one of them has, then what another has.
  Result<void> check_order(const FileFrame& one) {
    if (!one.time) return {};
    if (newest_ && newest_->interface != one.interface && one.time->to <= newest_->time.from)
      return bad(frame_,
                 fmt::format("was captured before frame {}, on another interface; frames in "
                             "the order of time are accepted, as `reordercap` writes them",
                             newest_->frame));
    if (!newest_ || newest_->time.from <= one.time->from)
      newest_ = Newest{frame_, one.interface, *one.time};
    return {};
  }

  Flow& flow_of(const Seen& seen) {
    const auto [known, is_new] = latest_.try_emplace({seen.from, seen.to, seen.qpn}, flows_.size());
    if (!is_new) {
      Flow& flow = flows_[known->second];
      const std::int32_t distance = psn_distance(seen.psn, flow.next_psn());
      const std::int32_t ahead =
          flow.messages.empty() ? kWindow : furthest_behind(messages_[flow.messages.back()]);
      // Where its number was another connection's before, it has begun while this was captured.
      const bool is_before_all = flow.has_begun_here && is_before_first(flow, seen.psn);
      if (distance <= ahead && distance >= -kWindow && !is_before_all) return flow;
    }
    return new_flow(seen, !is_new);
  }
  Flow& new_flow(const Seen& first, bool has_begun_here) {
    latest_[{first.from, first.to, first.qpn}] = flows_.size();
    const std::uint32_t number = unused_number(first.qpn);
    if (number != first.qpn)
      capture_.renumbered.push_back({shown_address(first.to), first.qpn, number});
    Flow& flow = flows_.emplace_back();
    flow.from = first.from;
    flow.to = first.to;
    flow.qpn = first.qpn;
    flow.number = number;
    flow.next_place = kFirstPlace + first.psn;
    flow.has_begun_here = has_begun_here;
    return flow;
  }
  [[nodiscard]] bool is_before_first(const Flow& flow, std::uint32_t psn) const {
    return !flow.messages.empty() && flow.place_of(psn) < messages_[flow.messages.front()].place;
  }
  /// QPs of two responders may have one number, and so may one after the other; in a dump they
  /// would be one QP, whose order is another promise.
  [[nodiscard]] std::uint32_t unused_number(std::uint32_t qpn) {
    if (used_.insert(qpn).second) return qpn;
    while (!used_.insert(spare_).second) --spare_;
    return spare_;
  }

  Result<void> request(const Seen& seen) {
    const OpcodeInfo& info = info_of(seen.opcode);
    if (seen.packet.transport.size() < info.header_bytes)
      return bad(frame_, fmt::format("{} bytes of its headers are captured, {} are accepted",
                                     seen.packet.transport.size(), info.header_bytes));
    Flow& flow = flow_of(seen);
    if (flow.place_of(seen.psn) < flow.next_place) return take_again(flow, seen);
    flow.again.clear();
    return take_new(flow, seen);
  }

  Result<void> take_new(Flow& flow, const Seen& seen) {
    const OpcodeInfo& info = info_of(seen.opcode);
    const std::uint64_t place = flow.place_of(seen.psn);
    note_mtu(flow, seen);
    if (!flow.messages.empty() && goes_on(flow, messages_[flow.messages.back()], seen)) {
      Message& read = messages_[flow.messages.back()];
      read.packets = static_cast<std::uint32_t>(place - read.place) + 1;
      flow.next_place = place + 1;
      return {};
    }
    if (place != flow.next_place) fill_gap(flow, seen);
    flow.next_place = place + 1;
    flow.sent.add(place, seen.packet);
    if (info.start || flow.messages.empty() || is_closed(flow)) return begin(flow, seen, info);
    Message& message = messages_[flow.messages.back()];
    // The middle or end of another message, whose start nobody captured.
    if (info.operation != message.operation) return begin(flow, seen, info);
    message.packets = static_cast<std::uint32_t>(place - message.place) + 1;
    message.request.opcode = verb_of(seen.opcode);
    count_bytes(message, seen);
    is_open_[flow.messages.back()] = !info.end;
    return {};
  }
  /// A SEND has no header that says its length.
  static void count_bytes(Message& message, const Seen& seen) {
    message.bytes += payload_bytes(seen.packet);
    if (message.operation != Operation::Send || !message.is_whole || !info_of(seen.opcode).end)
      return;
    message.request.has_length = true;
    message.request.length = static_cast<std::uint32_t>(message.bytes);
  }
  /// All packets of a message but the last have as many bytes as the path takes.
  static void note_mtu(Flow& flow, const Seen& seen) {
    const OpcodeInfo& info = info_of(seen.opcode);
    const std::uint64_t bytes = payload_bytes(seen.packet);
    if (!info.has_payload || info.end || bytes < kLeastMtu || bytes > kGreatestMtu) return;
    if (std::has_single_bit(bytes)) flow.mtu = static_cast<std::uint32_t>(bytes);
  }

  // ---- What was sent before --------------------------------------------------------------------

  /// A PSN that the connection had sent: again, or by another one that has its number now.
  Result<void> take_again(Flow& flow, const Seen& seen) {
    if (is_before_first(flow, seen.psn))
      return bad(frame_, fmt::format("PSN {} of QP {:#x} was sent before the capture began, and "
                                     "again; one that begins before it is accepted",
                                     seen.psn, seen.qpn));
    // Who sends again goes on from there; where it starts over, what came before was no beginning.
    if (!flow.again.empty() &&
        flow.place_of(flow.again.back().second.psn) >= flow.place_of(seen.psn))
      flow.again.clear();
    if (flow.again.empty()) flow.has_answer_since = false;
    if (contradicts(flow, seen)) return begin_anew(flow, seen);
    flow.again.emplace_back(frame_, seen);
    if (!is_at_sender_ || !message_at(flow, flow.place_of(seen.psn)).is_answered) return {};
    if (capture_.again_after_answer++ == 0) capture_.first_again = frame_;
    return {};
  }
  /// `place` is one that the connection has sent.
  [[nodiscard]] const Message& message_at(const Flow& flow, std::uint64_t place) const {
    const auto behind = std::ranges::upper_bound(
        flow.messages, place, {}, [&](std::size_t number) { return messages_[number].place; });
    return messages_[*std::prev(behind)];
  }
  /// Whether it cannot be what the connection sent at this PSN. Of what was not captured nobody
  /// knows; within a READ only its rest can be asked for again.
  [[nodiscard]] bool contradicts(const Flow& flow, const Seen& seen) const {
    const std::uint64_t place = flow.place_of(seen.psn);
    if (const Packet* before = flow.sent.find(place)) return !is_same_request(*before, seen.packet);
    const Message& message = message_at(flow, place);
    return message.operation == Operation::Read && !goes_on(flow, message, seen);
  }
  /// Another connection under the number of one that is over. What seemed to be sent again up to
  /// here was its beginning.
  Result<void> begin_anew(const Flow& over, const Seen& seen) {
    std::vector<std::pair<std::uint64_t, Seen>> packets = over.again;
    if (!packets.empty() && over.has_answer_since)
      return bad(frame_, fmt::format("another connection has begun under QP {:#x}, in frame {} or "
                                     "later, and which one the answers since then are for is not "
                                     "known; a capture of one of them is accepted",
                                     seen.qpn, packets.front().first));
    packets.emplace_back(frame_, seen);
    Flow& flow = new_flow(packets.front().second, true);
    const std::uint64_t now = frame_;
    for (const auto& [frame, packet] : packets) {
      frame_ = frame;
      PORTCULLIS_TRY(take_new(flow, packet));
    }
    frame_ = now;
    return {};
  }
  [[nodiscard]] bool is_closed(const Flow& flow) const { return !is_open_[flow.messages.back()]; }

  Result<void> begin(Flow& flow, const Seen& seen, const OpcodeInfo& info) {
    Message message;
    message.operation = info.operation;
    message.frame = frame_;
    message.is_whole = info.start;
    CapturedRequest& r = message.request;
    r.opcode = verb_of(seen.opcode);
    message.qpn = flow.qpn;
    r.qp_num = flow.number;
    r.psn = seen.psn;
    message.place = flow.place_of(seen.psn);
    message.is_told_as_read = seen.opcode == kFlush || seen.opcode == kAtomicWrite;
    if (const auto remote = remote_bytes(seen.packet)) {
      r.has_rkey = r.has_length = true;
      r.remote_addr = remote->address;
      r.rkey = remote->rkey;
      r.length = remote->length;
      constexpr std::uint32_t kMostBytes = 1U << 31U;  // of a message, and what a dump takes
      if (r.length > kMostBytes)
        return bad(frame_, fmt::format("a message of {} bytes; up to {} are accepted", r.length,
                                       kMostBytes));
    }
    count_bytes(message, seen);
    if (info.has_atomic) {
      const auto header = prm::ConstView<atomic_eth>::at(seen.packet.transport.subspan(bth::bytes));
      r.has_rkey = r.has_length = r.has_atomic = true;
      r.remote_addr = header.get<"va">();
      r.rkey = static_cast<std::uint32_t>(header.get<"rkey">());
      r.length = 8;
      const std::uint64_t swap_add = joined(header.get<"swap_add_h">(), header.get<"swap_add_l">());
      const std::uint64_t compare = joined(header.get<"compare_h">(), header.get<"compare_l">());
      const bool is_swap = r.opcode == "IBV_WR_ATOMIC_CMP_AND_SWP";
      r.compare_add = is_swap ? compare : swap_add;
      r.swap = is_swap ? swap_add : 0;
    }
    flow.messages.push_back(messages_.size());
    flow.open.push_back(messages_.size());
    messages_.push_back(message);
    is_open_.push_back(!info.end);
    return {};
  }

  /// PSNs that no frame here has: of the answer to a READ, or of packets that are not captured.
  void fill_gap(Flow& flow, const Seen& seen) {
    auto missing = static_cast<std::uint32_t>(flow.place_of(seen.psn) - flow.next_place);
    if (!flow.messages.empty()) {
      Message& last = messages_[flow.messages.back()];
      // Of an answer that has come it is known how many packets it has.
      std::uint32_t own =
          last.ends_at > last.packets ? std::min(missing, last.ends_at - last.packets) : 0U;
      if (last.ends_at == 0 && has_answer_of(last, last.packets + missing)) own = missing;
      last.packets += own;
      flow.next_place += own;
      missing -= own;
      if (missing == 0) return;
    }
    Message unseen;
    unseen.frame = frame_;
    unseen.place = flow.next_place;
    unseen.is_gap = true;
    unseen.is_whole = false;
    unseen.packets = missing;
    unseen.qpn = flow.qpn;
    unseen.request.qp_num = flow.number;
    unseen.request.psn = flow.next_psn();
    flow.messages.push_back(messages_.size());
    flow.open.push_back(messages_.size());
    messages_.push_back(unseen);
    is_open_.push_back(false);
  }
  /// Whether it is a READ whose answer has so many packets, at some MTU.
  static bool has_answer_of(const Message& message, std::uint32_t packets) {
    if (message.operation != Operation::Read || message.request.length == 0) return false;
    for (std::uint32_t mtu = kLeastMtu; mtu <= kGreatestMtu; mtu *= 2)
      if ((message.request.length - 1) / mtu + 1 == packets) return true;
    return false;
  }
  /// Whether it asks for the rest of what a READ asked for, up to the same byte: the READ goes on
  /// where its answer was interrupted (req_retry of rxe_req.c does so).
  static bool goes_on(const Flow& flow, const Message& read, const Seen& seen) {
    if (read.operation != Operation::Read || info_of(seen.opcode).operation != Operation::Read)
      return false;
    const RemoteBytes rest = remote_bytes(seen.packet).value();
    const std::uint64_t into = flow.place_of(seen.psn) - read.place;
    const std::uint64_t skipped = rest.address - read.request.remote_addr;
    if (into == 0 || (read.ends_at != 0 && into >= read.ends_at)) return false;
    const std::uint64_t mtu = skipped / into;
    const bool is_mtu = flow.mtu != 0
                            ? mtu == flow.mtu
                            : std::has_single_bit(mtu) && mtu >= kLeastMtu && mtu <= kGreatestMtu;
    return is_mtu && skipped % into == 0 && rest.rkey == read.request.rkey && rest.length != 0 &&
           skipped + rest.length == read.request.length;
  }

  // ---- Answers -------------------------------------------------------------------------------

  /// The flow that an answer belongs to: by its QP number once that is known, else the one whose
  /// PSNs it fits. Nothing when more than one may be meant.
  Flow* asked_by(const Seen& seen) {
    Flow* fits = nullptr;
    const auto is_between = [&](const auto& entry) {
      return std::get<0>(entry.first) == seen.to && std::get<1>(entry.first) == seen.from;
    };
    for (auto at = latest_.lower_bound({seen.to, seen.from, 0});
         at != latest_.end() && is_between(*at); ++at)
      if (flows_[at->second].answers_to == seen.qpn) return &flows_[at->second];
    for (auto at = latest_.lower_bound({seen.to, seen.from, 0});
         at != latest_.end() && is_between(*at); ++at) {
      Flow& flow = flows_[at->second];
      if (flow.answers_to || flow.messages.empty()) continue;
      const std::int32_t into =
          psn_distance(seen.psn, messages_[flow.messages.front()].request.psn);
      const Message& last = messages_[flow.messages.back()];
      const std::int32_t beyond =
          psn_distance(seen.psn, psn_add(last.last_psn(), most_behind(last)));
      if (into < 0 || beyond > 0) continue;
      if (fits != nullptr) return nullptr;
      fits = &flow;
    }
    if (fits != nullptr) fits->answers_to = seen.qpn;
    return fits;
  }

  Result<void> answer(const Seen& seen) {
    const OpcodeInfo& info = info_of(seen.opcode);
    if (seen.packet.transport.size() < info.header_bytes)
      return bad(frame_, fmt::format("{} bytes of its headers are captured, {} are accepted",
                                     seen.packet.transport.size(), info.header_bytes));
    Flow* flow = asked_by(seen);
    if (flow == nullptr) return {};  // what has no answer counts as outstanding
    std::uint8_t said = syndrome::kAck;
    if (info.has_aeth)
      said = static_cast<std::uint8_t>(
          prm::ConstView<aeth>::at(seen.packet.transport.subspan(bth::bytes)).get<"syndrome">());
    note_mtu(*flow, seen);
    for (const std::size_t number : flow->open) {
      Message& message = messages_[number];
      const auto before = message.progress();
      settle(message, number == flow->messages.back(), {seen, info, said});
      flow->has_answer_since = flow->has_answer_since || message.progress() != before;
      if (message.ends_at != 0 && message.ends_at < message.packets)
        return bad(frame_,
                   fmt::format("the answer to the READ at PSN {} of QP {:#x} ends here, and "
                               "what has PSN {} is not captured; a capture with it is accepted",
                               message.request.psn, message.qpn,
                               psn_add(message.request.psn, message.ends_at)));
    }
    // Answers come in order: what is so far behind this one will have none.
    std::erase_if(flow->open, [&](std::size_t number) {
      return messages_[number].is_answered || psn_distance(seen.psn, messages_[number].last_psn()) >
                                                  furthest_behind(messages_[number]);
    });
    return {};
  }
  struct Answer {
    const Seen& seen;
    const OpcodeInfo& info;
    std::uint8_t syndrome;
  };
  static void settle(Message& message, bool is_last, const Answer& answer) {
    const std::int32_t into = psn_distance(answer.seen.psn, message.request.psn);
    const std::int32_t beyond = psn_distance(answer.seen.psn, message.last_psn());
    const auto type = static_cast<std::uint8_t>(answer.syndrome & syndrome::kTypeMask);
    if (type == syndrome::kNak && into >= 0 && beyond <= 0) return refuse(message, answer.syndrome);
    if (type != syndrome::kAck && beyond <= 0) return;  // it acknowledges what is before it
    if (message.operation == Operation::Atomic) {
      const bool is_its_kind = message.is_told_as_read ? answer.info.has_payload && answer.info.end
                                                       : answer.info.has_original;
      message.is_answered = message.is_answered || (is_its_kind && into == 0);
    } else if (message.operation == Operation::Read) {
      if (!answer.info.has_payload || into != static_cast<std::int32_t>(message.responses)) return;
      ++message.responses;
      if (answer.info.end) message.ends_at = message.responses;
      message.is_answered = answer.info.end && (is_last || beyond == 0);
    } else {
      message.is_answered = message.is_answered || beyond >= 0;
    }
  }
  static void refuse(Message& message, std::uint8_t said) {
    if (said == syndrome::kNakRemoteAccessError) message.request.status = "IBV_WC_REM_ACCESS_ERR";
    if (said == syndrome::kNakInvalidRequest) message.request.status = "IBV_WC_REM_INV_REQ_ERR";
    if (said == syndrome::kNakRemoteOperationalError) message.request.status = "IBV_WC_REM_OP_ERR";
  }

  /// A send queue completes in order: what was answered behind something that was not is
  /// outstanding, and so is everything where it is not known whether the answers came through.
  void complete_in_order() {
    for (Flow& flow : flows_) {
      bool is_through = is_at_sender_;
      for (const std::size_t number : flow.messages) {
        Message& message = messages_[number];
        is_through = is_through && message.is_answered && message.request.status.empty();
        message.is_answered = is_through;
        if (is_through) message.request.status = "IBV_WC_SUCCESS";
      }
    }
  }

  std::string_view file_;
  bool is_at_sender_;
  bool is_asked_for_;
  std::string sender_;  // an address as bytes; empty until the first request
  struct Newest {
    std::uint64_t frame = 0;
    std::size_t interface = 0;
    CaptureTime time;
  };

  std::uint64_t frame_ = 0;
  std::optional<Newest> newest_;  // of the frames that were looked into
  Capture capture_;
  std::vector<Message> messages_;  // in the order of the wire
  std::vector<bool> is_open_;      // of each: its last packet was not seen yet
  std::vector<Flow> flows_;
  /// The last one of a sender, a responder and its QP; those before it are over.
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::size_t> latest_;
  std::set<std::uint32_t> used_;  // QP numbers, of the wire and of the dump
  std::uint32_t spare_ = 0xffffff;
};

}  // namespace

Result<Capture> read_capture(std::string_view text, std::string_view file, bool is_at_sender,
                             std::string_view sender) {
  const std::string address = address_of(std::string(sender));
  if (address.empty() && !sender.empty())
    return fail(Errc::InvalidArgument,
                fmt::format("sender is '{}'; an IPv4 or IPv6 address is accepted", sender));
  Reader reader(file, is_at_sender, address);
  PORTCULLIS_TRY_ASSIGN(
      const std::uint64_t dropped,
      read_frames(text, file, [&](const FileFrame& one) { return reader.take(one); }));
  PORTCULLIS_TRY_ASSIGN(Capture capture, reader.capture());
  capture.dropped = dropped;
  return capture;
}

std::string dump_of(const Capture& capture, const CaptureContext& context) {
  using Json = nlohmann::ordered_json;
  std::vector<std::uint32_t> rkeys;
  Json requests = Json::array();
  for (const CapturedRequest& r : capture.requests) {
    Json one = {
        {"wr_id", requests.size()}, {"opcode", r.opcode}, {"qp_num", r.qp_num}, {"psn", r.psn}};
    if (r.has_rkey) {
      if (std::find(rkeys.begin(), rkeys.end(), r.rkey) == rkeys.end()) rkeys.push_back(r.rkey);
      one["rkey"] = r.rkey;
      one["remote_addr"] = r.remote_addr;
    }
    if (r.has_length) one["length"] = r.length;
    if (r.has_atomic) one["compare_add"] = r.compare_add;
    if (r.has_atomic && r.opcode == "IBV_WR_ATOMIC_CMP_AND_SWP") one["swap"] = r.swap;
    if (!r.status.empty()) one["status"] = r.status;
    requests.push_back(std::move(one));
  }
  Json regions = Json::array();
  for (const std::uint32_t rkey : rkeys)
    regions.push_back({{"rkey", rkey},
                       {"environment", context.environment},
                       {"consumer", context.consumer},
                       {"fenced", context.is_fenced}});
  return Json{{"regions", regions}, {"work_requests", requests}}.dump(1) + "\n";
}

}  // namespace portcullis::tools::failover_check
