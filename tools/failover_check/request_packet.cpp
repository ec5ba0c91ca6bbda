// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/request_packet.hpp"

#include <algorithm>

#include "model/transport/headers.hpp"
#include "prm/view.hpp"

namespace portcullis::tools::failover_check {
namespace {

using namespace model;

constexpr std::size_t kFethBytes = 4;  // RXE_FETH_BYTES, before the RETH of a FLUSH

constexpr OpcodeInfo alone(std::string_view name, bool has_payload, std::size_t before_reth) {
  OpcodeInfo info;
  info.name = name;
  info.operation = Operation::Atomic;
  info.start = info.end = info.has_reth = true;
  info.has_payload = has_payload;
  info.extended_at = static_cast<std::uint8_t>(bth::bytes + before_reth);
  info.header_bytes = static_cast<std::uint8_t>(info.extended_at + reth::bytes);
  return info;
}
// rxe_opcode[] of rxe_opcode.c; send_read_response_ack of rxe_resp.c answers both.
constexpr OpcodeInfo kFlushInfo = alone("FLUSH", false, kFethBytes);
constexpr OpcodeInfo kAtomicWriteInfo = alone("ATOMIC WRITE", true, 0);

std::uint8_t opcode_of(const Packet& packet) {
  return std::to_integer<std::uint8_t>(packet.transport.front());
}

}  // namespace

const OpcodeInfo& info_of(std::uint8_t opcode) noexcept {
  if (opcode == kFlush) return kFlushInfo;
  if (opcode == kAtomicWrite) return kAtomicWriteInfo;
  return opcode_info(opcode);
}

std::string_view verb_of(std::uint8_t opcode) noexcept {
  if (opcode == kFlush) return "IBV_WR_FLUSH";
  if (opcode == kAtomicWrite) return "IBV_WR_ATOMIC_WRITE";
  switch (static_cast<BthOpcode>(opcode & ~transport_bits::kMask)) {
    case BthOpcode::WriteLastImmediate:
    case BthOpcode::WriteOnlyImmediate:
      return "IBV_WR_RDMA_WRITE_WITH_IMM";
    case BthOpcode::SendLastImmediate:
    case BthOpcode::SendOnlyImmediate:
      return "IBV_WR_SEND_WITH_IMM";
    case BthOpcode::SendLastInvalidate:
    case BthOpcode::SendOnlyInvalidate:
      return "IBV_WR_SEND_WITH_INV";
    case BthOpcode::ReadRequest:
      return "IBV_WR_RDMA_READ";
    case BthOpcode::CompareSwap:
      return "IBV_WR_ATOMIC_CMP_AND_SWP";
    case BthOpcode::FetchAdd:
      return "IBV_WR_ATOMIC_FETCH_AND_ADD";
    default:
      return opcode_info(opcode).operation == Operation::Send ? "IBV_WR_SEND" : "IBV_WR_RDMA_WRITE";
  }
}

std::optional<RemoteBytes> remote_bytes(const Packet& packet) noexcept {
  const OpcodeInfo& info = info_of(opcode_of(packet));
  if (!info.has_reth) return std::nullopt;
  const auto header = prm::ConstView<reth>::at(packet.transport.subspan(info.extended_at));
  return RemoteBytes{header.get<"va">(), static_cast<std::uint32_t>(header.get<"rkey">()),
                     static_cast<std::uint32_t>(header.get<"len">())};
}

std::uint64_t payload_bytes(const Packet& packet) noexcept {
  const std::uint64_t pad = prm::ConstView<bth>::at(packet.transport).get<"pad">();
  const std::uint64_t others = info_of(opcode_of(packet)).header_bytes + pad + kIcrcBytes;
  return packet.wire_bytes > others ? packet.wire_bytes - others : 0;
}

bool is_same_request(const Packet& one, const Packet& other) noexcept {
  const std::uint64_t payload = payload_bytes(one);
  if (opcode_of(one) != opcode_of(other) || payload != payload_bytes(other)) return false;
  const std::uint64_t bytes =
      std::min<std::uint64_t>({info_of(opcode_of(one)).header_bytes + payload, one.transport.size(),
                               other.transport.size()});
  const auto asked = [&](const Packet& packet) {
    return packet.transport.first(static_cast<std::size_t>(bytes)).subspan(bth::bytes);
  };
  return std::ranges::equal(asked(one), asked(other));
}

const Packet* SentPackets::find(std::uint64_t place) const noexcept {
  const auto found = std::ranges::lower_bound(all_, place, {}, &Sent::place);
  return found == all_.end() || found->place != place ? nullptr : &found->packet;
}

}  // namespace portcullis::tools::failover_check
