// SPDX-License-Identifier: BSD-3-Clause
#include "model/mailbox.hpp"

#include <algorithm>
#include <array>

#include "model/reserved.hpp"
#include "prm/enums.hpp"
#include "prm/signature.hpp"

namespace portcullis::model {
namespace {

using prm::cmd_if_box;
using prm::cmd_queue_entry;
using prm::DeliveryStatus;

using Block = std::array<std::byte, cmd_if_box::bytes>;

/// The bits below a pointer field, down to bit 0 of its dword. The layouts call them reserved; a
/// device names them a misaligned pointer.
template <class L, prm::Name Path>
std::uint32_t bits_below(std::span<const std::byte, L::bytes> bytes) {
  constexpr prm::Place kPlace = prm::place<L, Path>;
  constexpr unsigned kBits = 32 - kPlace.offset % 32 - kPlace.width;
  constexpr std::size_t kLast = kPlace.offset / 32 * 4 + 3;
  const std::uint32_t low = std::to_integer<std::uint32_t>(bytes[kLast]) |
                            std::to_integer<std::uint32_t>(bytes[kLast - 1]) << 8;
  return low & ((1u << kBits) - 1);
}

DeliveryStatus misaligned(Direction direction) {
  return direction == Direction::Input ? DeliveryStatus::IN_PTR_ALIGN_ERR
                                       : DeliveryStatus::OUT_PTR_ALIGN_ERR;
}

DeliveryStatus too_short(Direction direction) {
  return direction == Direction::Input ? DeliveryStatus::IN_LENGTH_ERR
                                       : DeliveryStatus::OUT_LENGTH_ERR;
}

DeliveryStatus check_block(prm::ConstView<cmd_if_box> block, const Chain& chain,
                           std::uint32_t number) {
  if (chain.verify_signatures && chain.direction == Direction::Input &&
      !prm::block_signature_is_valid(block))
    return DeliveryStatus::SIGNAT_ERR;
  if (block.get<"token">() != chain.token) return DeliveryStatus::TOK_ERR;
  if (block.get<"block_number">() != number) return DeliveryStatus::BAD_BLK_NUM_ERR;
  if (bits_below<cmd_if_box, "next_pointer_31_10">(block.all()) != 0)
    return misaligned(chain.direction);
  if (!reserved_bits_clear<cmd_if_box>(block.all())) return DeliveryStatus::RES_FLD_NOT_CLR_ERR;
  return DeliveryStatus::OK;
}

Iova next_of(prm::ConstView<cmd_if_box> block) {
  return std::uint64_t{block.get<"next_pointer_63_32">()} << 32 | block.get<"next_pointer_31_10">()
                                                                      << 10;
}

}  // namespace

Chain chain_of(prm::ConstView<cmd_queue_entry> entry, Direction direction, bool verify_signatures) {
  Chain chain;
  chain.direction = direction;
  chain.token = static_cast<std::uint8_t>(entry.get<"token">());
  chain.verify_signatures = verify_signatures;
  if (direction == Direction::Input) {
    chain.length = entry.get<"input_length">();
    chain.first = std::uint64_t{entry.get<"input_mailbox_pointer_63_32">()} << 32 |
                  entry.get<"input_mailbox_pointer_31_9">() << 9 |
                  bits_below<cmd_queue_entry, "input_mailbox_pointer_31_9">(entry.all());
  } else {
    chain.length = entry.get<"output_length">();
    chain.first = std::uint64_t{entry.get<"output_mailbox_pointer_63_32">()} << 32 |
                  entry.get<"output_mailbox_pointer_31_9">() << 9 |
                  bits_below<cmd_queue_entry, "output_mailbox_pointer_31_9">(entry.all());
  }
  return chain;
}

DeliveryStatus walk(Dma& dma, const Chain& chain, std::vector<Iova>& blocks,
                    std::vector<std::byte>* data) {
  // The header has two dwords on either side.
  if (chain.length < prm::cmd_in::bytes || chain.length > kLongestMessage)
    return too_short(chain.direction);
  if (chain.length <= prm::kCmdInlineBytes) return DeliveryStatus::OK;
  if (chain.first % prm::kCmdDataBlockBytes != 0) return misaligned(chain.direction);
  const std::size_t rest = chain.length - prm::kCmdInlineBytes;
  Iova at = chain.first;
  Block block;
  for (std::size_t done = 0; done < rest; done += prm::kCmdDataBlockBytes) {
    // mcx_create_sq of OpenBSD's if_mcx.c announces a list of pages twice as long as it is, in
    // mailboxes for the one, and runs on cards: they ask for no block before they need it.
    if (at == 0 && chain.direction == Direction::Input) break;
    if (at == 0) return too_short(chain.direction);
    if (!dma.read(at, block)) return DeliveryStatus::FW_ERR;
    const prm::ConstView<cmd_if_box> view{block};
    if (const auto status = check_block(view, chain, static_cast<std::uint32_t>(blocks.size()));
        status != DeliveryStatus::OK)
      return status;
    blocks.push_back(at);
    if (data != nullptr) {
      const auto part = std::span(block).first(std::min(prm::kCmdDataBlockBytes, rest - done));
      data->insert(data->end(), part.begin(), part.end());
    }
    at = next_of(view);
  }
  return DeliveryStatus::OK;
}

bool write_chain(Dma& dma, std::span<const Iova> blocks, std::span<const std::byte> data,
                 Signing signing) {
  Block block;
  for (const Iova at : blocks) {
    if (!dma.read(at, block)) return false;
    const auto part = data.first(std::min(data.size(), prm::kCmdDataBlockBytes));
    std::ranges::copy(part, block.begin());
    data = data.subspan(part.size());
    const prm::View<cmd_if_box> view{block};
    if (signing != Signing::None) prm::sign_block(view);
    if (signing == Signing::Wrong)
      view.put<"signature">(static_cast<std::uint8_t>(~view.get<"signature">()));
    if (!dma.write(at, block)) return false;
  }
  return true;
}

}  // namespace portcullis::model
