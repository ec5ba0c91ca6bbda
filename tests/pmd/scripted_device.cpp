// SPDX-License-Identifier: BSD-3-Clause
#include "tests/pmd/scripted_device.hpp"

#include <algorithm>
#include <bit>

namespace portcullis::testing {
namespace {

constexpr std::size_t kInline = 16;
/// Not the lowest: that one is ownership's, which may be signed either way.
constexpr unsigned kWrongBit = 0x10;
constexpr std::size_t kBlockData = sizeof(CommandBlock::data);

/// xor8_buf of mlx5/core/cmd.c.
std::uint8_t xor8(std::span<const std::byte> bytes) {
  std::byte sum{0};
  for (const std::byte b : bytes) sum ^= b;
  return std::to_integer<std::uint8_t>(sum);
}

template <class T>
std::uint8_t xor8_of(const T& object, std::size_t from = 0, std::size_t leave = 0) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  return xor8(bytes.subspan(from, bytes.size() - from - leave));
}

std::size_t blocks_for(std::size_t bytes) {
  return bytes <= kInline ? 0 : (bytes - kInline + kBlockData - 1) / kBlockData;
}

}  // namespace

ScriptedDevice::ScriptedDevice() {
  const auto address = std::bit_cast<std::uintptr_t>(bar_.data());
  bar_offset_ = (kPageBytes - address % kPageBytes) % kPageBytes;
  write(kFwRev, 35u << 16 | 16);  // 16.35
  write(kCmdifRevFwSub, 5u << 16 | 4506);
  write(kCmdqAddrLSz, 5u << 4 | 6);  // 32 entries, 64 bytes apart
}

std::byte* ScriptedDevice::entry_at(std::uint32_t slot) const {
  const Iova queue = Iova{read(kCmdqAddrH)} << 32 | (read(kCmdqAddrLSz) & 0xfffff000);
  return space.at(queue + slot * sizeof(CommandEntry));
}

CommandEntry ScriptedDevice::entry(std::uint32_t slot) const {
  CommandEntry copy;
  std::memcpy(&copy, entry_at(slot), sizeof copy);
  return copy;
}

CommandBlock ScriptedDevice::block(Iova iova) const {
  CommandBlock copy;
  std::memcpy(&copy, space.at(iova), sizeof copy);
  return copy;
}

void ScriptedDevice::take_doorbell() {
  const std::uint32_t rung = cells::be32(cells::take<std::uint32_t>(register_at(kCmdDbell)));
  if (rung == 0) return;
  doorbells.push_back(rung);
  // A doorbell is a kick: whatever is owned by the device is to be served.
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    const bool owned = (entry(slot).status_own & 1) != 0;
    const bool waiting = std::any_of(
        due_.begin(), due_.end(), [slot](const auto& item) { return item.second.first == slot; });
    if (owned && !waiting && (pending_ >> slot & 1) == 0) {
      commands.push_back(fetch(slot));
      const Reply reply = firmware(commands.back());
      pending_ |= 1u << slot;
      if (reply.returns) due_.emplace(now_ns + reply.delay_ns + slot, std::pair(slot, reply));
    }
  }
}

void ScriptedDevice::step(std::uint64_t until_ns) {
  if (counts_health) write(kHealthCounter, (read(kHealthCounter) + 1) & 0xffffff);
  take_doorbell();
  if (due_.empty() || due_.begin()->first > until_ns) {
    now_ns = std::max(now_ns, until_ns);
    return;
  }
  const auto [time, work] = *due_.begin();
  due_.erase(due_.begin());
  now_ns = std::max(now_ns, time);
  finish(work.first, work.second);
}

ScriptedDevice::Command ScriptedDevice::fetch(std::uint32_t slot) {
  const CommandEntry e = entry(slot);
  check(e.type == 7, "type");
  check(xor8_of(e) == 0xff, "signature of the entry");
  check(e.token != 0, "token 0");
  check(std::all_of(std::begin(e.out), std::end(e.out), [](auto b) { return b == 0; }),
        "output not zeroed");
  check((e.rsvd0[0] | e.rsvd0[1] | e.rsvd0[2] | e.rsvd1) == 0, "reserved bytes");
  Command command{slot, e.token, {std::begin(e.in), std::end(e.in)}, cells::be32(e.outlen)};
  const std::size_t in_bytes = cells::be32(e.inlen);
  const auto walk = [&](std::uint64_t pointer, std::size_t bytes, auto&& use) {
    for (std::size_t i = 0; i < blocks_for(bytes); ++i) {
      check(pointer % 1024 == 0, "mailbox alignment");
      if (space.at(pointer) == nullptr) return check(false, "mailbox not mapped");
      const CommandBlock b = block(pointer);
      check(b.token == e.token, "token of a block");
      check(cells::be32(b.block_num) == i, "block number");
      check(xor8_of(b) == 0xff, "signature of a block");
      check(xor8_of(b, kBlockData, 1) == 0xff, "control signature of a block");
      use(b);
      pointer = cells::be64(b.next);
    }
    check(pointer == 0, "chain longer than the message");
  };
  walk(cells::be64(e.in_ptr), in_bytes, [&](const CommandBlock& b) {
    command.in.insert(command.in.end(), std::begin(b.data), std::end(b.data));
  });
  walk(cells::be64(e.out_ptr), command.out_bytes, [](const CommandBlock&) {});
  command.in.resize(in_bytes);
  return command;
}

void ScriptedDevice::finish(std::uint32_t slot, const Reply& reply) {
  CommandEntry e = entry(slot);
  std::vector<std::uint8_t> out = reply.out;
  out.resize(std::max<std::size_t>(cells::be32(e.outlen), kInline));
  std::copy_n(out.begin(), kInline, e.out);
  std::uint64_t pointer = cells::be64(e.out_ptr);
  for (std::size_t i = 0; i < blocks_for(out.size()); ++i) {
    CommandBlock b = block(pointer);
    const std::size_t at = kInline + i * kBlockData;
    std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(at),
                std::min(kBlockData, out.size() - at), b.data);
    b.ctrl_sig = 0;
    b.ctrl_sig = static_cast<std::uint8_t>(~xor8_of(b, kBlockData, 1));
    b.sig =
        static_cast<std::uint8_t>(~xor8_of(b, 0, 1) ^ (reply.bad_block_signature ? kWrongBit : 0));
    std::memcpy(space.at(pointer), &b, sizeof b);
    pointer = cells::be64(b.next);
  }
  e.status_own = static_cast<std::uint8_t>(reply.delivery << 1);
  e.sig = 0;
  e.sig = static_cast<std::uint8_t>(~xor8_of(e) ^ (reply.bad_entry_signature ? kWrongBit : 0));
  std::memcpy(entry_at(slot), &e, sizeof e - 1);
  pending_ &= ~(1u << slot);
  cells::store_release<std::uint8_t>(entry_at(slot) + sizeof e - 1, e.status_own);
}

}  // namespace portcullis::testing
