// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/transport/flow_root.hpp"

#include <gtest/gtest.h>

namespace portcullis::model::testing {
namespace {

template <class L>
prm::ConstView<L> view(const prm::Buffer<L>& in) {
  return prm::ConstView<L>(in.all());
}

}  // namespace

Place make_root(Host& host, prm::FlowTableType type, const Match& mask, const Match& value,
                std::span<const std::byte> to, std::uint32_t underlay) {
  constexpr std::uint32_t kLogSize = 4;
  FlowTables& flows = host.flows();
  Place place{type, 0};
  const auto table = table_command(type, kLogSize);
  EXPECT_TRUE(flows
                  .create_table(type,
                                prm::ConstView<prm::flow_table_context>::at(
                                    table.bytes<"flow_table_context">()),
                                place.table)
                  .ok());
  std::uint32_t group = 0;
  EXPECT_TRUE(flows.create_group(view(group_command(place, 0, 0, mask)), group).ok());
  const auto dropping = entry_command(place, group, 0, value);
  const auto entry = to.empty() ? dropping : forwarding(dropping);
  EXPECT_TRUE(flows.set_entry(view(entry), to).ok());
  const auto root = root_command(place, prm::FlowTableRootOpMod::SET, underlay);
  EXPECT_TRUE(flows.set_root(view(root)).ok());
  return place;
}

}  // namespace portcullis::model::testing
