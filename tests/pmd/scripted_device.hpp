// SPDX-License-Identifier: BSD-3-Clause
//
// A device that does what a test lays out, for faults that no honest device has. Written without
// prm/: structures as in include/linux/mlx5/device.h and driver.h (mlx5_cmd_layout,
// mlx5_cmd_prot_block), registers at the byte offsets of struct mlx5_init_seg. Whatever the driver
// does against the protocol is kept as a complaint.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cells.hpp"
#include "base/device.hpp"

namespace portcullis::testing {

/// struct mlx5_cmd_layout; numbers are big-endian.
struct CommandEntry {
  std::uint8_t type;
  std::uint8_t rsvd0[3];
  std::uint32_t inlen;
  std::uint64_t in_ptr;
  std::uint8_t in[16];
  std::uint8_t out[16];
  std::uint64_t out_ptr;
  std::uint32_t outlen;
  std::uint8_t token;
  std::uint8_t sig;
  std::uint8_t rsvd1;
  std::uint8_t status_own;
};
static_assert(sizeof(CommandEntry) == 64);

/// struct mlx5_cmd_prot_block.
struct CommandBlock {
  std::uint8_t data[512];
  std::uint8_t rsvd0[48];
  std::uint64_t next;
  std::uint32_t block_num;
  std::uint8_t rsvd1;
  std::uint8_t token;
  std::uint8_t ctrl_sig;
  std::uint8_t sig;
};
static_assert(sizeof(CommandBlock) == 576);

/// Byte offsets of struct mlx5_init_seg.
enum InitSegment : std::size_t {
  kFwRev = 0x0,
  kCmdifRevFwSub = 0x4,
  kCmdqAddrH = 0x10,
  kCmdqAddrLSz = 0x14,
  kCmdDbell = 0x18,
  kInitializing = 0x1fc,
  kFwVer = 0x230,
  kRfrSeverity = 0x238,
  kSynd = 0x23d,
  kCmdExecTo = 0xff8,
  kCmdQInitTo = 0xffc,
  kHealthCounter = 0x1010,
};

/// Knows which memory is behind an IOVA.
class TranslatingSpace final : public DmaSpace {
 public:
  Result<Iova> map(std::span<std::byte> memory) override {
    const Iova iova = next + reinterpret_cast<std::uintptr_t>(memory.data()) % kWindow;
    next += (memory.size() / kWindow + 2) * kWindow;
    if (mapped_.size() >= most_mappings) return fail(Errc::OutOfResources, "no IOVA left");
    mapped_[iova] = memory;
    return iova;
  }
  Result<void> unmap(Iova iova, std::size_t /*bytes*/) override {
    mapped_.erase(iova);
    return {};
  }
  /// Null when nothing is mapped there.
  [[nodiscard]] std::byte* at(Iova iova) const {
    auto above = mapped_.upper_bound(iova);
    if (above == mapped_.begin()) return nullptr;
    --above;
    const Iova offset = iova - above->first;
    return offset < above->second.size() ? above->second.data() + offset : nullptr;
  }
  [[nodiscard]] std::size_t mappings() const { return mapped_.size(); }

  std::size_t most_mappings = 1000;
  Iova next = Iova{1} << 40;  // of the next mapping

 private:
  static constexpr Iova kWindow = Iova{2} << 20;
  std::map<Iova, std::span<std::byte>> mapped_;
};

class ScriptedDevice {
 public:
  struct Command {
    std::uint32_t slot = 0;
    std::uint8_t token = 0;
    std::vector<std::uint8_t> in;
    std::size_t out_bytes = 0;
    [[nodiscard]] unsigned opcode() const { return unsigned{in[0]} << 8 | in[1]; }
    [[nodiscard]] unsigned op_mod() const { return unsigned{in[6]} << 8 | in[7]; }
  };
  struct Reply {
    bool returns = true;
    std::uint8_t delivery = 0;
    std::vector<std::uint8_t> out{};  // zeroes to the command's length when shorter
    bool bad_entry_signature = false;
    bool bad_block_signature = false;
    std::uint64_t delay_ns = 0;
  };

  ScriptedDevice();

  [[nodiscard]] Device device() {
    return {.bar = std::span(bar_).subspan(bar_offset_, kBarBytes),
            .dma = &space,
            .function = nullptr,
            .clock = Clock::simulated(now, this),
            .relax = Relax(relax, this),
            .description = "a test"};
  }
  [[nodiscard]] std::uint32_t read(std::size_t offset) const {
    return cells::be32(cells::load_acquire<std::uint32_t>(register_at(offset)));
  }
  void write(std::size_t offset, std::uint32_t value) {
    cells::store_release<std::uint32_t>(register_at(offset), cells::be32(value));
  }
  void write_byte(std::size_t offset, std::uint8_t value) {
    *register_at(offset) = static_cast<std::byte>(value);
  }
  /// The queue entry as it stands in memory.
  [[nodiscard]] CommandEntry entry(std::uint32_t slot) const;
  [[nodiscard]] CommandBlock block(Iova iova) const;
  /// Answers a command that was kept, with success.
  void answer_late(std::uint32_t slot) { finish(slot, Reply{}); }

  /// What the device does with each command; default: success with zeroes.
  std::function<Reply(const Command&)> firmware = [](const Command&) { return Reply{}; };
  TranslatingSpace space;
  std::uint64_t now_ns = 1'000'000;
  bool counts_health = true;
  std::vector<Command> commands;         // in the order of serving
  std::vector<std::string> complaints;   // what the driver did wrong
  std::vector<std::uint32_t> doorbells;  // values of cmd_dbell

 private:
  static constexpr std::size_t kBarBytes = 16 * kPageBytes;
  static constexpr std::uint32_t kSlots = 32;

  static std::uint64_t now(const void* self) noexcept {
    return static_cast<const ScriptedDevice*>(self)->now_ns;
  }
  static void relax(void* self, std::uint64_t until_ns) noexcept {
    static_cast<ScriptedDevice*>(self)->step(until_ns);
  }
  [[nodiscard]] std::byte* register_at(std::size_t offset) const {
    return const_cast<std::byte*>(bar_.data()) + bar_offset_ + offset;
  }
  [[nodiscard]] std::byte* entry_at(std::uint32_t slot) const;
  void step(std::uint64_t until_ns);
  void take_doorbell();
  [[nodiscard]] Command fetch(std::uint32_t slot);
  void finish(std::uint32_t slot, const Reply& reply);
  void check(bool holds, const std::string& complaint) {
    if (!holds) complaints.push_back(complaint);
  }

  std::vector<std::byte> bar_ = std::vector<std::byte>(kBarBytes + kPageBytes);
  std::size_t bar_offset_ = 0;
  std::uint32_t pending_ = 0;  // bit n: slot n has been rung and not served
  std::map<std::uint64_t, std::pair<std::uint32_t, Reply>> due_;  // by time
};

}  // namespace portcullis::testing
