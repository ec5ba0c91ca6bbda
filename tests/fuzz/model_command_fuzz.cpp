// SPDX-License-Identifier: BSD-3-Clause
//
// Commands that any driver might give the model, with mailboxes: contexts, lists of pages, flow
// tables, keys, on objects that there are and on others. Each gets its entry back, and a reset
// gives back a function that works. libFuzzer drives it in the asan build; elsewhere
// corpus_test.cpp runs the corpus once.
//
// An input is a row of commands: a byte that says which of all opcodes, one of op_mod, one of the
// input's length beyond 16 in 8 bytes, one of how many patches; then the patches: a byte of which
// dword, one of what kind, and four of the value.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "tests/model/mini_driver.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::model::testing;

constexpr std::size_t kHeader = 4;
constexpr std::size_t kPatch = 6;
constexpr std::size_t kMostCommands = 64;
constexpr std::size_t kMostOutBytes = 4096 + 16;
constexpr std::size_t kMemoryPages = 16;
constexpr std::size_t kNumbers = 8;

enum class Patch : std::uint8_t { Value, Number, Address, Object };
constexpr std::uint8_t kPatches = 4;

void require(bool held) {
  if (!held) std::abort();
}

#define PORTCULLIS_FUZZ_OPCODE(id, value, text) prm::Opcode::id,
constexpr std::array kOpcodes{PORTCULLIS_PRM_OPCODES(PORTCULLIS_FUZZ_OPCODE)};
#undef PORTCULLIS_FUZZ_OPCODE

class Target {
 public:
  Target() : memory_((driver_.bring_up(), driver_.allocate(kMemoryPages * kPageBytes))) {
    numbers_.fill(driver_.alloc_pd());
    numbers_.front() = driver_.alloc_uar();
  }

  void run(std::span<const std::uint8_t> header, std::span<const std::uint8_t> patches) {
    constexpr std::size_t kShortest = 16;
    constexpr std::size_t kUnit = 8;
    std::vector<std::byte> in(kShortest + header[2] * kUnit);
    for (; patches.size() >= kPatch; patches = patches.subspan(kPatch))
      apply(patches.first<kPatch>(), in);
    const auto view = prm::View<prm::cmd_in>::at(in);
    view.put<"opcode">(kOpcodes[header[0] % kOpcodes.size()]);
    view.put<"op_mod">(header[1]);
    const Answer answer = driver_.execute(in, kMostOutBytes);
    require(answer.returned);
    if (answer.ok()) note_number(answer.out);
  }

  /// TEARDOWN_HCA or DISABLE_HCA may have been among them.
  void finish() {
    require(driver_.device().function->reset().has_value());
    driver_.bring_up();
    require(driver_.alloc_pd() != 0);
  }

 private:
  void apply(std::span<const std::uint8_t, kPatch> patch, std::vector<std::byte>& in) {
    const std::size_t at = patch[0] * sizeof(std::uint32_t);
    const std::uint32_t value = std::uint32_t{patch[2]} << 24 | std::uint32_t{patch[3]} << 16 |
                                std::uint32_t{patch[4]} << 8 | patch[5];
    switch (static_cast<Patch>(patch[1] % kPatches)) {
      case Patch::Value:
        return put(in, at, value);
      case Patch::Number:
        return put(in, at, numbers_[value % kNumbers] | (value & 0xff000000U));
      case Patch::Object:
        return put(in, at, numbers_[value % kNumbers] << 8 | (value >> 24));
      case Patch::Address: {
        const Iova page = memory_.iova() + value % kMemoryPages * kPageBytes;
        put(in, at, static_cast<std::uint32_t>(page >> 32));
        return put(in, at + sizeof(std::uint32_t), static_cast<std::uint32_t>(page));
      }
    }
  }
  static void put(std::vector<std::byte>& in, std::size_t at, std::uint32_t value) {
    if (at + sizeof value > in.size()) return;
    for (std::size_t i = 0; i < sizeof value; ++i)
      in[at + i] = static_cast<std::byte>(value >> (24 - 8 * i));
  }
  /// Where the outputs of CREATE_* and ALLOC_* have the number of what they made.
  void note_number(std::span<const std::byte> out) {
    constexpr std::size_t kAt = 8;
    constexpr std::uint32_t kNumberBits = 0xffffffU;
    if (out.size() < kAt + 4) return;
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
      number = number << 8 | static_cast<std::uint8_t>(out[kAt + i]);
    if ((number & kNumberBits) == 0) return;
    numbers_[next_++ % kNumbers] = number & kNumberBits;
  }

  MiniDriver driver_;
  DmaBuffer memory_;
  std::array<std::uint32_t, kNumbers> numbers_{};
  std::size_t next_ = 2;  // 0 is the UAR, 1 the PD, until others take their places
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Target target;
  std::span<const std::uint8_t> left(data, size);
  for (std::size_t i = 0; i < kMostCommands && left.size() >= kHeader; ++i) {
    const auto header = left.first(kHeader);
    const std::size_t bytes = std::min(left.size() - kHeader, header[3] * kPatch);
    target.run(header, left.subspan(kHeader, bytes));
    left = left.subspan(kHeader + bytes);
  }
  target.finish();
  return 0;
}
