// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures of the command interface; see the header for the rule and its source.
#include "prm/signature.hpp"

namespace portcullis::prm {

namespace {

constexpr std::uint8_t kValid = 0xff;

/// Everything of a block after its data.
auto control_part(std::span<const std::byte, cmd_if_box::bytes> block) noexcept {
  return block.subspan(place<cmd_if_box, "mailbox_data">.width / 8);
}

}  // namespace

std::uint8_t xor8(std::span<const std::byte> bytes) noexcept {
  std::uint64_t words = 0;  // eight sums side by side: a mailbox has 576 bytes
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    words ^= word;
  }
  std::uint8_t sum = fold_xor(words);
  for (const std::byte b : bytes) sum ^= std::to_integer<std::uint8_t>(b);
  return sum;
}

void sign_block(View<cmd_if_box> block) noexcept {
  // The control signature covers neither itself nor the block's.
  const unsigned control =
      xor8(control_part(block.all())) ^ block.get<"ctrl_signature">() ^ block.get<"signature">();
  block.put<"ctrl_signature">(static_cast<std::uint8_t>(~control));
  const unsigned all = xor8(block.all()) ^ block.get<"signature">();
  block.put<"signature">(static_cast<std::uint8_t>(~all));
}

bool block_signature_is_valid(ConstView<cmd_if_box> block) noexcept {
  // verify_block_sig: everything after the data but the block's own signature, then the whole.
  return xor8(control_part(block.all()).first(control_part(block.all()).size() - 1)) == kValid &&
         xor8(block.all()) == kValid;
}

}  // namespace portcullis::prm
