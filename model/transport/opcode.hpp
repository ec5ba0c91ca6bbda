// SPDX-License-Identifier: BSD-3-Clause
//
// BTH opcodes and what each carries: the numbers of include/rdma/ib_pack.h, the headers and roles
// of rxe_opcode[] (drivers/infiniband/sw/rxe/rxe_opcode.c). The upper three bits are the transport
// service; what an operation is called and how it goes is the same in all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/transport/headers.hpp"

namespace portcullis::model {

/// The lower five bits.
enum class BthOpcode : std::uint8_t {
  SendFirst = 0x00,
  SendMiddle = 0x01,
  SendLast = 0x02,
  SendLastImmediate = 0x03,
  SendOnly = 0x04,
  SendOnlyImmediate = 0x05,
  WriteFirst = 0x06,
  WriteMiddle = 0x07,
  WriteLast = 0x08,
  WriteLastImmediate = 0x09,
  WriteOnly = 0x0a,
  WriteOnlyImmediate = 0x0b,
  ReadRequest = 0x0c,
  ReadResponseFirst = 0x0d,
  ReadResponseMiddle = 0x0e,
  ReadResponseLast = 0x0f,
  ReadResponseOnly = 0x10,
  Acknowledge = 0x11,
  AtomicAcknowledge = 0x12,
  CompareSwap = 0x13,
  FetchAdd = 0x14,
  SendLastInvalidate = 0x16,
  SendOnlyInvalidate = 0x17,
};

/// The upper three: IB_OPCODE_RC, _UC and _UD of ib_pack.h; XRC as packet-infiniband.c of
/// Wireshark names its opcodes.
namespace transport_bits {
inline constexpr std::uint8_t kMask = 0xe0;
inline constexpr std::uint8_t kRc = 0x00;
inline constexpr std::uint8_t kUc = 0x20;
inline constexpr std::uint8_t kUd = 0x60;
inline constexpr std::uint8_t kXrc = 0xa0;
}  // namespace transport_bits

/// What an operation is to the responder.
enum class Operation : std::uint8_t { None, Send, Write, Read, Atomic, Response };

struct OpcodeInfo {
  std::string_view name;  // empty: not an opcode of this service
  Operation operation = Operation::None;
  bool start = false;  // first or only packet of a message
  bool end = false;    // last or only packet of a message
  bool has_reth = false;
  bool has_aeth = false;
  bool has_payload = false;
  std::uint8_t header_bytes = 0;          // BTH and everything between it and the payload
  bool has_immediate = false;             // the last four of them
  bool has_invalidate = false;            // the same: a key that the peer gives up
  bool has_atomic = false;                // the request's header, behind the BTH
  bool has_original = false;              // the value before an atomic, behind the AETH
  bool has_deth = false;                  // behind the BTH
  bool has_xrceth = false;                // the same, and before the others
  std::uint8_t extended_at = bth::bytes;  // where those others begin

  [[nodiscard]] constexpr bool known() const noexcept { return header_bytes != 0; }
  [[nodiscard]] constexpr bool is_request() const noexcept {
    return operation != Operation::None && operation != Operation::Response;
  }
};

[[nodiscard]] consteval std::array<OpcodeInfo, 32> make_rc_opcodes() {
  constexpr auto kBth = static_cast<std::uint8_t>(bth::bytes);
  constexpr auto kReth = static_cast<std::uint8_t>(bth::bytes + reth::bytes);
  constexpr auto kAeth = static_cast<std::uint8_t>(bth::bytes + aeth::bytes);
  constexpr auto kImm = static_cast<std::uint8_t>(kBth + kImmDtBytes);
  constexpr auto kRImm = static_cast<std::uint8_t>(kReth + kImmDtBytes);
  constexpr auto kInv = static_cast<std::uint8_t>(kBth + kIethBytes);
  constexpr auto kAtm = static_cast<std::uint8_t>(kBth + atomic_eth::bytes);
  constexpr auto kAtAck = static_cast<std::uint8_t>(kAeth + atomic_ack_eth::bytes);
  using enum Operation;
  std::array<OpcodeInfo, 32> t{};
  // clang-format off
  //         name                              operation start  end    reth   aeth   data  headers
  t[0x00] = {"SEND First",                     Send,     true,  false, false, false, true,  kBth};
  t[0x01] = {"SEND Middle",                    Send,     false, false, false, false, true,  kBth};
  t[0x02] = {"SEND Last",                      Send,     false, true,  false, false, true,  kBth};
  t[0x03] = {"SEND Last with Immediate",       Send,     false, true,  false, false, true,  kImm};
  t[0x04] = {"SEND Only",                      Send,     true,  true,  false, false, true,  kBth};
  t[0x05] = {"SEND Only with Immediate",       Send,     true,  true,  false, false, true,  kImm};
  t[0x06] = {"RDMA WRITE First",               Write,    true,  false, true,  false, true,  kReth};
  t[0x07] = {"RDMA WRITE Middle",              Write,    false, false, false, false, true,  kBth};
  t[0x08] = {"RDMA WRITE Last",                Write,    false, true,  false, false, true,  kBth};
  t[0x09] = {"RDMA WRITE Last with Immediate", Write,    false, true,  false, false, true,  kImm};
  t[0x0a] = {"RDMA WRITE Only",                Write,    true,  true,  true,  false, true,  kReth};
  t[0x0b] = {"RDMA WRITE Only with Immediate", Write,    true,  true,  true,  false, true,  kRImm};
  t[0x0c] = {"RDMA READ Request",              Read,     true,  true,  true,  false, false, kReth};
  t[0x0d] = {"RDMA READ Response First",       Response, true,  false, false, true,  true,  kAeth};
  t[0x0e] = {"RDMA READ Response Middle",      Response, false, false, false, false, true,  kBth};
  t[0x0f] = {"RDMA READ Response Last",        Response, false, true,  false, true,  true,  kAeth};
  t[0x10] = {"RDMA READ Response Only",        Response, true,  true,  false, true,  true,  kAeth};
  t[0x11] = {"Acknowledge",                    Response, true,  true,  false, true,  false, kAeth};
  t[0x12] = {"ATOMIC Acknowledge",             Response, true,  true,  false, true,  false, kAtAck};
  t[0x13] = {"Compare Swap",                   Atomic,   true,  true,  false, false, false, kAtm};
  t[0x14] = {"Fetch Add",                      Atomic,   true,  true,  false, false, false, kAtm};
  t[0x16] = {"SEND Last with Invalidate",      Send,     false, true,  false, false, true,  kInv};
  t[0x17] = {"SEND Only with Invalidate",      Send,     true,  true,  false, false, true,  kInv};
  // clang-format on
  for (const std::size_t opcode : {0x03U, 0x05U, 0x09U, 0x0bU}) t[opcode].has_immediate = true;
  for (const std::size_t opcode : {0x16U, 0x17U}) t[opcode].has_invalidate = true;
  for (const std::size_t opcode : {0x13U, 0x14U}) t[opcode].has_atomic = true;
  t[0x12].has_original = true;
  return t;
}

[[nodiscard]] consteval std::array<OpcodeInfo, 256> make_opcode_table() {
  constexpr std::array<OpcodeInfo, 32> kRc = make_rc_opcodes();
  std::array<OpcodeInfo, 256> t{};
  for (std::size_t i = 0; i < kRc.size(); ++i) t[transport_bits::kRc | i] = kRc[i];
  for (std::size_t i = 0x00; i <= 0x0b; ++i) t[transport_bits::kUc | i] = kRc[i];
  for (const std::size_t i : {0x04U, 0x05U}) {
    OpcodeInfo& info = t[transport_bits::kUd | i] = kRc[i];
    info.has_deth = true;
    info.header_bytes = static_cast<std::uint8_t>(info.header_bytes + deth::bytes);
  }
  for (std::size_t i = 0; i < kRc.size(); ++i) {
    OpcodeInfo& info = t[transport_bits::kXrc | i] = kRc[i];
    if (!info.is_request()) continue;
    info.has_xrceth = true;
    info.extended_at = bth::bytes + xrceth::bytes;
    info.header_bytes = static_cast<std::uint8_t>(info.header_bytes + xrceth::bytes);
  }
  return t;
}

inline constexpr std::array<OpcodeInfo, 256> kOpcodes = make_opcode_table();

/// `known()` is false for reserved opcodes and other transports.
[[nodiscard]] constexpr const OpcodeInfo& opcode_info(std::uint8_t opcode) noexcept {
  return kOpcodes[opcode];
}
static_assert(!kOpcodes[0x15].known());

}  // namespace portcullis::model
