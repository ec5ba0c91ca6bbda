// SPDX-License-Identifier: BSD-3-Clause
#include "model/steering/header_contexts.hpp"

#include <utility>

#include "model/transport/headers.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;
using prm::ReformatType;

enum Refusal : std::uint32_t {
  kDomain = 0x620001,
  kCount,
  kShortList,
  kAction,
  kType,
  kHeaderSize,
  kNoIds,
};

constexpr std::size_t kActionBytes = prm::set_action_in::bytes;

}  // namespace

/// Linux asks for one of the first two where it knows the tunnel, and for the third otherwise
/// (reformat_type in mlx5/core/en/tc_tun_*.c).
bool is_wrap(ReformatType type) noexcept {
  return type == ReformatType::L2_TO_VXLAN || type == ReformatType::L2_TO_NVGRE ||
         type == ReformatType::L2_TO_L2_TUNNEL || type == ReformatType::L2_TO_L3_TUNNEL;
}

Verdict HeaderContexts::allocate_changes(prm::ConstView<prm::alloc_modify_header_context_in> in,
                                         std::span<const std::byte> list, std::uint32_t& id) {
  HeaderChanges changes;
  changes.type = prm::FlowTableType{static_cast<std::uint8_t>(in.get<"table_type">())};
  if (changes.type != prm::FlowTableType::NIC_RX && changes.type != prm::FlowTableType::NIC_TX)
    return refuse(CommandStatus::BAD_PARAM_ERR, kDomain);
  const std::uint32_t count = in.get<"num_of_actions">();
  if (count > kMaxActions) return refuse(CommandStatus::BAD_PARAM_ERR, kCount);
  if (list.size() < count * kActionBytes) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto action = read_header_action(list.subspan(i * kActionBytes).first<kActionBytes>());
    if (!action) return refuse(CommandStatus::BAD_PARAM_ERR, kAction);
    changes.actions.push_back(*action);
  }
  const auto fresh = change_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  changes_.emplace(id, std::move(changes));
  return {};
}

Verdict HeaderContexts::allocate_reformat(prm::ConstView<prm::packet_reformat_context_in> context,
                                          std::span<const std::byte> more, std::uint32_t& id) {
  PacketReformat reformat;
  reformat.type = ReformatType{static_cast<std::uint8_t>(context.get<"reformat_type">())};
  if ((!is_wrap(reformat.type) && reformat.type != ReformatType::L3_TUNNEL_TO_L2) ||
      context.get<"reformat_param_0">() != 0 || context.get<"reformat_param_1">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kType);
  const std::size_t size = context.get<"reformat_data_size">();
  // Whatever is made of a frame begins with it, and is a frame.
  if (size < kEthernetBytes || size > kMaxHeaderBytes)
    return refuse(CommandStatus::BAD_PARAM_ERR, kHeaderSize);
  const auto first = context.bytes<"reformat_data">();
  if (more.size() < size - first.size()) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  const auto rest = more.first(size - first.size());
  reformat.header.assign(first.begin(), first.end());
  reformat.header.insert(reformat.header.end(), rest.begin(), rest.end());
  const auto fresh = reformat_ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoIds);
  id = *fresh;
  reformats_.emplace(id, std::move(reformat));
  return {};
}

const HeaderChanges* HeaderContexts::changes(std::uint32_t id) const noexcept {
  const auto found = changes_.find(id);
  return found == changes_.end() ? nullptr : &found->second;
}

const PacketReformat* HeaderContexts::reformat(std::uint32_t id) const noexcept {
  const auto found = reformats_.find(id);
  return found == reformats_.end() ? nullptr : &found->second;
}

void HeaderContexts::free_changes(std::uint32_t id) {
  if (changes_.erase(id) != 0) change_ids_.give_back(id);
}

void HeaderContexts::free_reformat(std::uint32_t id) {
  if (reformats_.erase(id) != 0) reformat_ids_.give_back(id);
}

void HeaderContexts::clear() {
  changes_.clear();
  reformats_.clear();
  change_ids_.clear();
  reformat_ids_.clear();
}

}  // namespace portcullis::model
