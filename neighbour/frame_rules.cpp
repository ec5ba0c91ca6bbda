// SPDX-License-Identifier: BSD-3-Clause
#include "neighbour/frame_rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/cells.hpp"
#include "neighbour/headers.hpp"
#include "pmd/command_channel.hpp"
#include "pmd/command_tail.hpp"
#include "prm/opcodes.hpp"
#include "prm/view.hpp"

namespace portcullis::neighbour {
namespace {

// struct mlx5_ifc_ipv4_layout_bits, and a v4-mapped address: the last four of the sixteen bytes.
constexpr std::size_t kIpv4 = 12;

prm::Buffer<prm::fte_match_param> of_ethertype(std::uint16_t ethertype) {
  prm::Buffer<prm::fte_match_param> value;
  value.put<"outer_headers.ethertype">(ethertype);
  return value;
}

}  // namespace

Result<FrameRules> FrameRules::create(const pmd::Context& context,
                                      std::span<const pmd::Gid> addresses, std::uint32_t tirn) {
  Match icmp = of_ethertype(kEthertypeIpv4);
  icmp.put<"outer_headers.ip_protocol">(kProtocolIcmp);
  std::vector<Match> pings;
  for (const pmd::Gid& each : addresses) {
    if (!each.is_ipv4()) continue;
    pings.push_back(icmp);
    std::ranges::copy(std::span(each.bytes).subspan<kIpv4>(),
                      pings.back().bytes<"outer_headers.dst_ipv4_dst_ipv6">().begin() + kIpv4);
  }
  const auto size = static_cast<std::uint32_t>(pings.size() + 2);
  PORTCULLIS_TRY_ASSIGN(steering::FlowTable table,
                        steering::FlowTable::create(
                            context, prm::FlowTableType::NIC_RX,
                            {.log_size = static_cast<std::uint32_t>(std::bit_width(size - 1))}));
  FrameRules rules(context, std::move(table), tirn);
  Match mask = of_ethertype(0xffff);
  if (!pings.empty()) {
    PORTCULLIS_TRY(rules.add(mask, std::array{of_ethertype(kEthertypeArp)}));
    Match with_dest = mask;
    with_dest.set<"outer_headers.ip_protocol", 0xff>();
    std::ranges::fill(
        std::span(with_dest.bytes<"outer_headers.dst_ipv4_dst_ipv6">()).subspan<kIpv4>(),
        std::byte{0xff});
    PORTCULLIS_TRY(rules.add(with_dest, pings));
  }
  if (pings.size() < addresses.size()) {
    Match icmpv6 = of_ethertype(kEthertypeIpv6);
    icmpv6.put<"outer_headers.ip_protocol">(kProtocolIcmpv6);
    mask.set<"outer_headers.ip_protocol", 0xff>();
    PORTCULLIS_TRY(rules.add(mask, std::array{icmpv6}));
  }
  PORTCULLIS_TRY(rules.table_.make_root());
  return rules;
}

FrameRules::~FrameRules() {
  while (entries_ > 0) {
    prm::Buffer<prm::delete_fte_in> in;
    in.put<"opcode">(prm::Opcode::DELETE_FLOW_TABLE_ENTRY).put<"table_type">(table_.domain());
    in.put<"table_id">(table_.id()).put<"flow_index">(--entries_);
    (void)pmd::run<prm::delete_fte_out>(*context_->commands, in);
  }
}

Result<void> FrameRules::add(const Match& mask, std::span<const Match> values) {
  const steering::FlowGroup::Range range{entries_,
                                         entries_ + static_cast<std::uint32_t>(values.size()) - 1};
  PORTCULLIS_TRY_ASSIGN(
      steering::FlowGroup group,
      steering::FlowGroup::create(*context_, table_, range,
                                  prm::number(prm::MatchCriteria::OUTER_HEADERS),
                                  prm::ConstView<prm::fte_match_param>(mask.all())));
  groups_.push_back(std::move(group));
  for (const Match& value : values) PORTCULLIS_TRY(set_entry(groups_.back().id(), value));
  return {};
}

Result<void> FrameRules::set_entry(std::uint32_t group, const Match& value) {
  prm::Buffer<prm::dest_format_struct> to;
  to.put<"destination_type">(prm::FlowDestination::TIR).put<"destination_id">(tirn_);
  std::uint64_t raw;
  static_assert(sizeof raw == prm::dest_format_struct::bytes);
  std::memcpy(&raw, to.all().data(), sizeof raw);
  prm::Buffer<prm::set_fte_in> in;
  in.put<"opcode">(prm::Opcode::SET_FLOW_TABLE_ENTRY).put<"table_type">(table_.domain());
  in.put<"table_id">(table_.id()).put<"flow_index">(entries_);
  in.put<"flow_context.group_id">(group).put<"flow_context.action">(prm::FlowAction::FWD_DEST);
  in.set<"flow_context.destination_list_size", 1>();
  std::ranges::copy(value.all(), in.bytes<"flow_context.match_value">().begin());
  PORTCULLIS_TRY(
      pmd::run_with_tail<prm::set_fte_out>(*context_->commands, in, std::array{cells::be64(raw)}));
  ++entries_;
  return {};
}

}  // namespace portcullis::neighbour
