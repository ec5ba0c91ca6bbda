// SPDX-License-Identifier: BSD-3-Clause
//
// A Context over a recording channel, for tests of single objects: commands are judged by their
// bytes, queues by the memory the device would see.
#pragma once

#include <array>
#include <vector>

#include "base/dma_memory.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/context.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "pmd/uar.hpp"
#include "tests/base/fake_dma_space.hpp"
#include "tests/pmd/recording_channel.hpp"

namespace portcullis::testing {

// Command opcodes as include/linux/mlx5/mlx5_ifc.h numbers them, MLX5_CMD_OP_*.
enum : unsigned {
  kCreateMkey = 0x200,
  kQueryMkey = 0x201,
  kDestroyMkey = 0x202,
  kCreateCq = 0x400,
  kDestroyCq = 0x401,
  kCreateQp = 0x500,
  kDestroyQp = 0x501,
  kRst2Init = 0x502,
  kInit2Rtr = 0x503,
  kRtr2Rts = 0x504,
  kRts2Rts = 0x505,
  k2Err = 0x507,
  kRts2Sqd = 0x508,  // of an older header: see prm/opcodes.hpp
  k2Rst = 0x50a,
  kQueryQp = 0x50b,
  kSqdRts = 0x50c,
  kInit2Init = 0x50e,
  kQueryRoceAddress = 0x760,
  kSetRoceAddress = 0x761,
  kAllocQCounter = 0x771,
  kDeallocQCounter = 0x772,
  kQueryQCounter = 0x773,
  kAllocPd = 0x800,
  kDeallocPd = 0x801,
  kAllocUar = 0x802,
};

inline constexpr std::uint32_t kUarIndex = 2;
inline constexpr std::uint32_t kPdn = 0x17;
inline constexpr std::uint32_t kCqn = 0x456;
inline constexpr std::uint32_t kQpn = 0x1abcd;
inline constexpr std::uint8_t kEqn = 5;

struct ObjectRig {
  ObjectRig() {
    context.device.bar = bar;
    context.device.dma = &space;
    context.commands = &channel;
    context.arena = &arena;
    context.eqn = kEqn;
    context.caps.log_max_qp_sz = 15;
    context.caps.log_max_cq_sz = 22;
    context.caps.log_max_msg = 30;
    context.caps.log_max_ra_req_qp = 4;
    context.caps.log_max_ra_res_qp = 4;
    context.caps.port_type = 1;
    context.caps.roce_address_table_size = 16;
    channel.answer(kAllocUar, IfcMessage("alloc_uar_out", 16).put("uar", kUarIndex));
    channel.answer(kAllocPd, IfcMessage("alloc_pd_out", 16).put("pd", kPdn));
    channel.answer(kCreateCq, IfcMessage("create_cq_out", 16).put("cqn", kCqn));
    channel.answer(kCreateQp, IfcMessage("create_qp_out", 16).put("qpn", kQpn));
  }

  pmd::Uar uar() { return pmd::Uar::create(context).value(); }
  pmd::ProtectionDomain pd() { return pmd::ProtectionDomain::create(context).value(); }
  /// A cell of the UAR page that kAllocUar answers with.
  std::byte* uar_cell(std::size_t offset) { return bar.data() + kUarIndex * kPageBytes + offset; }

  static std::uint64_t now(const void* rig) noexcept {
    return static_cast<const ObjectRig*>(rig)->now_ns;
  }
  static void relax(void* rig, std::uint64_t until_ns) noexcept {
    auto& self = *static_cast<ObjectRig*>(rig);
    self.relaxed_until.push_back(until_ns);
    self.now_ns = std::max(self.now_ns, until_ns);
  }

  alignas(kPageBytes) std::array<std::byte, 4 * kPageBytes> bar{};
  std::uint64_t now_ns = 1'000;
  std::vector<std::uint64_t> relaxed_until;
  FakeDmaSpace space;
  DmaArena arena{space};
  RecordingChannel channel;
  pmd::Context context{
      .device = {{}, nullptr, nullptr, Clock::simulated(now, this), Relax(relax, this), "a test"},
      .caps = {}};
};

/// One QP on one CQ, and the memory between them and the device.
struct QueueRig : ObjectRig {
  explicit QueueRig(const pmd::QueuePairOptions& options = {.log_sq_size = 4},
                    std::uint32_t log_cq_size = 4)
      : page(uar()),
        domain(pd()),
        cq(pmd::CompletionQueue::create(context, page, kEqn, log_cq_size).value()),
        qp(pmd::QueuePair::create(context, domain, cq, page, options).value()) {}

  /// The memory behind an IOVA: all of it is the arena's one block.
  std::byte* memory_at(Iova iova) {
    auto probe = arena.allocate(64).value();
    return probe.data() + static_cast<std::ptrdiff_t>(iova - probe.iova());
  }
  std::span<const std::byte> sent(unsigned opcode) const {
    return std::find_if(channel.sent.begin(), channel.sent.end(),
                        [&](const auto& command) { return command.opcode() == opcode; })
        ->in;
  }
  // What the device was told of the queues. The list of a CREATE command is its last 8 bytes.
  /// Of the queues; the receive queue, where there is one, stands in front.
  std::byte* send_ring() { return memory_at(big_endian(sent(kCreateQp).last<8>())); }
  std::byte* send_record() {
    return memory_at(IfcMessage::read("create_qp_in.qpc.dbr_addr", sent(kCreateQp)));
  }
  std::byte* completion_ring() { return memory_at(big_endian(sent(kCreateCq).last<8>())); }
  std::byte* completion_record() {
    return memory_at(IfcMessage::read("create_cq_in.cq_context.dbr_addr", sent(kCreateCq)));
  }
  static std::uint64_t big_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (const std::byte b : bytes) value = value << 8 | static_cast<std::uint64_t>(b);
    return value;
  }

  pmd::Uar page;
  pmd::ProtectionDomain domain;
  pmd::CompletionQueue cq;
  pmd::QueuePair qp;
};

}  // namespace portcullis::testing
