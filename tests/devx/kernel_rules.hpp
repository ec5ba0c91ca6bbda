// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's own flow table of RDMA_RX, with the rules that processes asked for, as
// mlx5_ib/fs.c keeps it: made with the first rule (_get_flow_table), a root in front of everything,
// a group for each criterion (alloc_auto_flow_group of mlx5/core/fs_core.c), and gone with the last
// rule (put_flow_table). Two rules alike get an entry each here; Linux gives them one entry with
// two destinations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "devx/provider.hpp"
#include "pmd/context.hpp"
#include "steering/flow_table.hpp"

namespace portcullis::testing {

class KernelRules {
 public:
  /// Of the kernel's own tables: rdma_rx_root_fs has none of a process's higher.
  static constexpr std::uint32_t kLevel = 27;

  explicit KernelRules(const pmd::Context& context) noexcept : context_(&context) {}

  /// mlx5_add_flow_rules; 0 or an errno, by cmd_status_to_err where the device refuses.
  int add(const devx::Match& match, std::uint32_t table_id, std::uint32_t& rule);
  /// mlx5_del_flow_rules, which says nothing of how it went.
  void remove(std::uint32_t rule);
  [[nodiscard]] std::size_t count() const noexcept { return used_.size(); }
  [[nodiscard]] std::size_t tables_made() const noexcept { return tables_made_; }

 private:
  struct Group {
    std::uint8_t criteria = 0;
    std::vector<std::byte> mask;
    std::uint32_t first = 0;
    steering::FlowGroup group;
  };
  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<Group*> group_for(const devx::Match& match);
  [[nodiscard]] Result<void> set(const Group& group, std::uint32_t index, const devx::Match& match,
                                 std::uint32_t table_id) const;

  const pmd::Context* context_;
  std::optional<steering::FlowTable> table_;
  std::vector<Group> groups_;  // destroyed before the table
  std::size_t tables_made_ = 0;
  std::set<std::uint32_t> used_;  // indices
};

}  // namespace portcullis::testing
