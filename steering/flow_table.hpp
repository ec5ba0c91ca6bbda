// SPDX-License-Identifier: BSD-3-Clause
//
// Flow tables and their groups: a table of one domain, a group of it with one criterion. Move-only,
// undone on destruction, the group before its table. Field by field as mlx5_cmd_create_flow_table
// and mlx5_cmd_create_flow_group of mlx5/core/fs_cmd.c fill them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/view.hpp"

namespace portcullis::steering {

class FlowTable {
 public:
  struct Options {
    std::uint32_t log_size = 0;  // 2^log_size entries
    std::uint32_t level = 0;
  };
  /// CREATE_FLOW_TABLE; a packet that no entry matches goes on as if there were no table.
  /// Malformed when the answer is success and names no table. Here and below `deadline_ns` (device
  /// clock) is of all commands; none: each has the function's own.
  [[nodiscard]] static Result<FlowTable> create(
      const pmd::Context& context, prm::FlowTableType domain, const Options& options,
      std::optional<std::uint64_t> deadline_ns = std::nullopt);
  FlowTable(FlowTable&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        domain_(other.domain_),
        id_(other.id_),
        underlay_qpn_(other.underlay_qpn_),
        may_be_root_(other.may_be_root_),
        given_up_(other.given_up_) {}
  FlowTable& operator=(FlowTable&&) = delete;
  ~FlowTable() {
    if (!given_up_) (void)destroy();
  }

  [[nodiscard]] prm::FlowTableType domain() const noexcept { return domain_; }
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// SET_FLOW_TABLE_ROOT: the table takes effect, for the whole function or for one underlay QP.
  /// When nobody knows whether it did, the table may be a root from here on.
  [[nodiscard]] Result<void> make_root(std::uint32_t underlay_qpn = prm::kNoUnderlayQpn,
                                       std::optional<std::uint64_t> deadline_ns = std::nullopt);
  /// SET_FLOW_TABLE_ROOT with op_mod disconnect, if it may be a root; DESTROY_FLOW_TABLE once that
  /// is known to be over. Done twice is done.
  [[nodiscard]] Result<void> destroy(std::optional<std::uint64_t> deadline_ns = std::nullopt);
  /// The destructor does not try (again): the device does not answer.
  void give_up() noexcept { given_up_ = true; }

 private:
  FlowTable(const pmd::Context& context, prm::FlowTableType domain, std::uint32_t id) noexcept
      : context_(&context), domain_(domain), id_(id) {}
  [[nodiscard]] Result<void> set_root(prm::FlowTableRootOpMod op_mod, std::uint64_t deadline_ns);

  const pmd::Context* context_ = nullptr;  // null: gone
  prm::FlowTableType domain_{};
  std::uint32_t id_ = 0;
  std::uint32_t underlay_qpn_ = prm::kNoUnderlayQpn;
  bool may_be_root_ = false;
  bool given_up_ = false;
};

class FlowGroup {
 public:
  struct Range {
    std::uint32_t start = 0;
    std::uint32_t end = 0;  // inclusive
  };
  /// CREATE_FLOW_GROUP: entries of `range` compare what `mask` has, in the sections that
  /// `criteria_enable` (match_criteria_enable) names. `table` must outlive it.
  [[nodiscard]] static Result<FlowGroup> create(const pmd::Context& context, const FlowTable& table,
                                                Range range, std::uint32_t criteria_enable,
                                                prm::ConstView<prm::fte_match_param> mask,
                                                std::optional<std::uint64_t> deadline_ns = {});
  FlowGroup(FlowGroup&& other) noexcept
      : context_(std::exchange(other.context_, nullptr)),
        domain_(other.domain_),
        table_(other.table_),
        id_(other.id_),
        given_up_(other.given_up_) {}
  FlowGroup& operator=(FlowGroup&&) = delete;
  ~FlowGroup() {
    if (!given_up_) (void)destroy();
  }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// DESTROY_FLOW_GROUP; the device refuses while entries stand in it. Done twice is done.
  [[nodiscard]] Result<void> destroy(std::optional<std::uint64_t> deadline_ns = std::nullopt);
  /// The destructor does not try (again): the device does not answer.
  void give_up() noexcept { given_up_ = true; }

 private:
  FlowGroup(const pmd::Context& context, const FlowTable& table, std::uint32_t id) noexcept
      : context_(&context), domain_(table.domain()), table_(table.id()), id_(id) {}

  const pmd::Context* context_ = nullptr;  // null: gone
  prm::FlowTableType domain_{};
  std::uint32_t table_ = 0;
  std::uint32_t id_ = 0;
  bool given_up_ = false;
};

}  // namespace portcullis::steering
