// SPDX-License-Identifier: BSD-3-Clause
//
// The function's NIC_RX table while the port answers its neighbours: what a host is asked goes to
// one TIR, and everything else goes on as if there were no table. A packet of RoCE is UDP and meets
// none of these rules.
//
//   ARP       ethertype
//   ICMP      ethertype, IP protocol, destination: one entry an IPv4 address
//   ICMPv6    ethertype, next header: a solicitation goes to a group
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/gid.hpp"
#include "prm/flow_commands.hpp"
#include "steering/flow_table.hpp"

namespace portcullis::neighbour {

class FrameRules {
 public:
  /// Table, groups, entries, and the table as the root of NIC_RX. What was made is gone again after
  /// a failure. `context` must outlive it.
  [[nodiscard]] static Result<FrameRules> create(const pmd::Context& context,
                                                 std::span<const pmd::Gid> addresses,
                                                 std::uint32_t tirn);
  FrameRules(FrameRules&& other) noexcept
      : context_(other.context_),
        table_(std::move(other.table_)),
        groups_(std::move(other.groups_)),
        tirn_(other.tirn_),
        entries_(std::exchange(other.entries_, 0)) {}
  FrameRules& operator=(FrameRules&&) = delete;
  ~FrameRules();

 private:
  using Match = prm::Buffer<prm::fte_match_param>;
  FrameRules(const pmd::Context& context, steering::FlowTable table, std::uint32_t tirn) noexcept
      : context_(&context), table_(std::move(table)), tirn_(tirn) {}
  /// A group behind those there are, with an entry for each of `values`.
  [[nodiscard]] Result<void> add(const Match& mask, std::span<const Match> values);
  [[nodiscard]] Result<void> set_entry(std::uint32_t group, const Match& value);

  const pmd::Context* context_;
  steering::FlowTable table_;
  std::vector<steering::FlowGroup> groups_;
  std::uint32_t tirn_;
  std::uint32_t entries_ = 0;
};

}  // namespace portcullis::neighbour
