// SPDX-License-Identifier: BSD-3-Clause
//
// Flow tables on a NIC whose kernel driver keeps the root of every domain. Tables, groups and
// entries are objects of DevX like any other (devx_is_obj_create_cmd); SET_FLOW_TABLE_ROOT is no
// command of a process's. In its place every entry of a table that is to be a root gets a rule of
// the kernel's own, in its first table of RDMA_RX, with the entry's criterion and value: it leads
// what the entry is for into the table, where the entry decides. Nobody else's packets go there.
// One rule more, for queue pair 0, which RoCE has not, stands as long as the table is to be a root:
// the kernel makes its own table, root and group with the first rule and takes them away with the
// last (_get_flow_table and put_flow_table of mlx5_ib/fs.c), and a revoke is to wait for neither.
//
// get_dests of mlx5_ib/fs.c lets a rule of RDMA_RX lead to a flow table of DevX, and to no other
// end of ours: not to DROP. Such a rule takes CAP_NET_RAW (UVERBS_HANDLER(MLX5_IB_METHOD_CREATE_
// FLOW)). The device wants that a rule leads upwards, and the kernel's tables have the low levels
// (rdma_rx_root_fs of mlx5/core/fs_core.c), so a table of ours gets the last level but one, as
// mlx5dr_fw_create_recalc_cs_ft of mlx5/core/steering gives its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "devx/provider.hpp"

namespace portcullis::devx {

class FlowRules {
 public:
  /// `provider` must outlive it and every object that it made.
  explicit FlowRules(Provider& provider) noexcept : provider_(&provider) {}

  /// Provider::create(), of whatever command. After an error `object` is set only when the entry
  /// was made, its rule was not, and the device did not take the entry back.
  [[nodiscard]] int create(std::span<const std::byte> in, std::span<std::byte> out,
                           std::unique_ptr<Object>& object);
  /// SET_FLOW_TABLE_ROOT. EOPNOTSUPP for another domain and for an underlay QP, EBUSY while entries
  /// stand in the table, since a root comes before them and goes after them, and while another of
  /// these calls has not returned. EPERM where no rule may be made; a device that has something
  /// against this one is asked again by the entries. After an error of a rule no table is the root.
  [[nodiscard]] int set_root(std::span<const std::byte> in);
  /// What still stands goes, or is left to the kernel where the device does not answer.
  void end(bool is_answered);

 private:
  struct Table;
  class MadeTable;
  class MadeEntry;

  [[nodiscard]] int create_table(std::span<const std::byte> in, std::span<std::byte> out,
                                 std::unique_ptr<Object>& object);
  [[nodiscard]] int create_group(std::span<const std::byte> in, std::span<std::byte> out,
                                 std::unique_ptr<Object>& object);
  [[nodiscard]] int create_entry(std::span<const std::byte> in, std::span<std::byte> out,
                                 std::unique_ptr<Object>& object);
  /// Of a table of ours: the last but one that RDMA_RX has; an errno when the device says none.
  [[nodiscard]] int ask_level();
  [[nodiscard]] int anchor(Table& table);
  [[nodiscard]] std::shared_ptr<Table> find(std::uint32_t table_id);

  Provider* provider_;
  std::mutex mutex_;         // of all that follows, and of what is in a Table
  std::uint32_t level_ = 0;  // 0: not asked
  std::map<std::uint32_t, std::shared_ptr<Table>> tables_;  // by table_id; one that is gone stays
                                                            // until its number is given anew
  std::shared_ptr<Table> root_;
  std::mutex rooting_;            // whoever is in set_root() holds it
  std::unique_ptr<Rule> anchor_;  // the rule for queue pair 0
};

}  // namespace portcullis::devx
