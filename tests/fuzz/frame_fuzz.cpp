// SPDX-License-Identifier: BSD-3-Clause
//
// A peer that sends anything: frames as they come, frames whose ICRC is right, and packets on the
// QP's own path with any header, while the QP posts and receives. Whatever comes, memory that no
// peer has a right to stays as it is. libFuzzer drives it in the asan build; elsewhere
// corpus_test.cpp runs the corpus once.
//
// An input is a row of steps: a byte that says which, two bytes of length (little-endian), and that
// many bytes, which the step reads as it needs.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "model/transport/icrc.hpp"
#include "tests/model/transport/rig.hpp"

namespace {

using namespace portcullis::model;
namespace prm = portcullis::prm;
using namespace portcullis::model::testing;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kPeerQpn = 0x41;
constexpr std::size_t kMaxSteps = 256;
constexpr std::size_t kStepHeader = 3;

enum class Step : std::uint8_t { Raw, RawSummed, Built, Write, Read, Send, Receive, Wait, Error };
constexpr std::uint8_t kSteps = 9;

/// What a built packet says, as make_corpus.py packs it.
struct [[gnu::packed]] Built {
  std::uint8_t opcode;
  std::int8_t psn_delta;  // from the one expected
  std::uint8_t flags;     // 1 asks for an acknowledgement, 2 solicited
  std::uint8_t key;       // 0 the remote key, 1 one without the right, 2 none
  std::int32_t va_delta;  // from the region's start
  std::uint32_t dma_length;
  std::uint8_t syndrome;
  std::uint32_t immediate;
};

void require(bool held) {
  if (!held) std::abort();
}

class Target {
 public:
  Target() {
    fill_pattern(guarded_.bytes, 3);
    pattern_.assign(guarded_.bytes.begin(), guarded_.bytes.end());
    host_.connect(kQpn, kPeerQpn,
                  {.log_rq_size = 2, .ack_timeout = 8, .dest_mac = kPeerMac, .dest_gid = kPeerGid});
  }

  void take(Step step, std::span<const std::byte> bytes) {
    switch (step) {
      case Step::Raw:
        return send_raw(bytes, false);
      case Step::RawSummed:
        return send_raw(bytes, true);
      case Step::Built:
        return send_built(bytes);
      case Step::Write:
        return host_.post_and_ring(kQpn, {0x1000, 1, lkey_, address(guarded_), 2048, true});
      case Step::Read:
        return post(prm::WqeOpcode::RDMA_READ);
      case Step::Send:
        return post(prm::WqeOpcode::SEND);
      case Step::Receive:
        return receive();
      case Step::Wait:
        return host_.run_until(host_.now_ns() + 2'000'000);
      case Step::Error:
        static_cast<void>(host_.modify(kQpn, QpTransition::ToErr));
    }
  }

  void settle() {
    host_.run();
    static_cast<void>(host_.drain_cq());
    static_cast<void>(peer_.take_frames());
    while (host_.poll_eq()) {
    }
  }

  void check() {
    settle();
    require(std::ranges::equal(pattern_, guarded_.bytes));
    require(host_.transport().destroy_qp(kQpn).ok());
    settle();
  }

 private:
  [[nodiscard]] static std::uint64_t address(const Region& region) {
    return std::bit_cast<std::uint64_t>(region.bytes.data());
  }

  void send_raw(std::span<const std::byte> bytes, bool summed) {
    if (bytes.size() < kEthernetBytes || bytes.size() > kMaxFrameBytes) return;
    std::vector<std::byte> frame(bytes.begin(), bytes.end());
    constexpr std::size_t kLeast = kEthernetBytes + 20 + 8 + 12 + kIcrcBytes;
    if (summed && frame.size() >= kLeast + 20) {
      const std::size_t ip_bytes = frame[12] == std::byte{0x86} ? 40 : 20;
      const std::size_t end = frame.size() - kIcrcBytes;
      const std::uint32_t icrc =
          compute_icrc(std::span(frame).first(end).subspan(kEthernetBytes), ip_bytes);
      std::memcpy(frame.data() + end, &icrc, sizeof icrc);
    }
    peer_.send_raw(frame);
  }

  void send_built(std::span<const std::byte> bytes) {
    Built built;
    if (bytes.size() < sizeof built) return;
    std::memcpy(&built, bytes.data(), sizeof built);
    const OpcodeInfo& info = opcode_info(built.opcode);
    if (!info.known()) return;
    const auto qp = host_.query(kQpn);
    const auto expected = static_cast<std::uint32_t>(
        info.is_request() ? qp.get<"next_rcv_psn">() : qp.get<"last_acked_psn">() + 1);
    PacketHeader header;
    header.opcode = BthOpcode{built.opcode};
    header.psn = (expected + static_cast<std::uint32_t>(int{built.psn_delta})) & kPsnMask;
    header.ack_request = (built.flags & 1) != 0;
    header.solicited = (built.flags & 2) != 0;
    header.va = address(shared_) + static_cast<std::uint64_t>(std::int64_t{built.va_delta});
    header.rkey = built.key == 0 ? rkey_ : built.key == 1 ? lkey_ : 0xdead00;
    header.dma_length = built.dma_length;
    header.syndrome = built.syndrome;
    header.immediate = built.immediate;
    const auto payload = bytes.subspan(sizeof built);
    peer_.send(Peer::path_to(kQpn), header,
               payload.first(std::min<std::size_t>(payload.size(), 4096)));
  }

  /// Bytes from, or to, memory that a peer may change.
  void post(prm::WqeOpcode opcode) {
    std::vector<std::byte> segments;
    if (opcode == prm::WqeOpcode::RDMA_READ) {
      segments.resize(prm::mlx5_wqe_raddr_seg::bytes);
      prm::View<prm::mlx5_wqe_raddr_seg>::at(segments).put<"rkey">(1U);
    }
    const std::array pieces{Piece{address(shared_), 3000, rkey_}};
    const auto data = segments_of(pieces);
    segments.insert(segments.end(), data.begin(), data.end());
    host_.post_raw(kQpn, opcode, segments);
    host_.ring(kQpn);
  }

  void receive() {
    const std::array pieces{Piece{address(shared_), 3000, rkey_}};
    host_.post_receive(kQpn, pieces);
  }

  Host host_;
  Peer peer_{host_};
  Region shared_ = host_.map(8192);
  Region guarded_ = host_.map(8192);
  std::vector<std::byte> pattern_;
  std::uint32_t rkey_ = host_.make_key(shared_, access::kRemoteWrite | access::kRemoteRead |
                                                    access::kLocalWrite | access::kLocalRead);
  std::uint32_t lkey_ = host_.make_key(guarded_, access::kLocalRead);
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Target target;
  auto input = std::as_bytes(std::span(data, size));
  for (std::size_t steps = 0; steps < kMaxSteps && input.size() >= kStepHeader; ++steps) {
    const auto step = Step{static_cast<std::uint8_t>(std::to_integer<unsigned>(input[0]) % kSteps)};
    const std::size_t wanted =
        std::to_integer<std::size_t>(input[1]) | std::to_integer<std::size_t>(input[2]) << 8;
    input = input.subspan(kStepHeader);
    const std::size_t bytes = std::min(wanted, input.size());
    target.take(step, input.first(bytes));
    input = input.subspan(bytes);
    target.settle();
  }
  target.check();
  return 0;
}
