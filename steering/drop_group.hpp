// SPDX-License-Identifier: BSD-3-Clause
//
// Entries of one shape: a root table with one group in it, an index for each lease, and the input
// of SET_FLOW_TABLE_ENTRY prebuilt, so that a revoke writes an index and a value and sends it. The
// message is 832 bytes, 16 in the queue entry and the rest in two mailbox blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/view.hpp"
#include "steering/drop_rule.hpp"
#include "steering/flow_table.hpp"
#include "steering/shape.hpp"

namespace portcullis::steering {

class DropGroup {
 public:
  struct Options {
    prm::FlowTableType domain = prm::FlowTableType::RDMA_RX;
    Shape shape = Shape::DstQp;
    std::uint32_t entries = 1;
  };
  /// Table, group and the function's root; no entry yet. What was made is gone again after a
  /// failure.
  [[nodiscard]] static Result<DropGroup> create(const pmd::Context& context,
                                                const Options& options);
  /// The same without the root, by `deadline_ns` (device clock; none: each command has the
  /// function's own): no packet meets it before make_root().
  [[nodiscard]] static Result<DropGroup> create_apart(
      const pmd::Context& context, const Options& options,
      std::optional<std::uint64_t> deadline_ns = std::nullopt);
  DropGroup(DropGroup&&) noexcept = default;
  DropGroup& operator=(DropGroup&&) = delete;
  ~DropGroup();

  /// SET_FLOW_TABLE_ROOT, for the whole function or for one underlay QP. After a failure destroy()
  /// takes back what may have happened.
  [[nodiscard]] Result<void> make_root(std::uint32_t underlay_qpn = prm::kNoUnderlayQpn,
                                       std::optional<std::uint64_t> deadline_ns = std::nullopt) {
    return table_.make_root(underlay_qpn, deadline_ns);
  }
  /// SET_FLOW_TABLE_ENTRY at index target.slot; FWD_DEST leads to `tirn`. OutOfResources for an
  /// index past the group, Busy where an entry is known to stand there.
  [[nodiscard]] Result<void> set(const DropTarget& target, prm::FlowAction action,
                                 std::uint64_t deadline_ns, std::uint32_t tirn = 0);
  /// The same with op_mod modify, of the action and where it leads: the entry there changes.
  [[nodiscard]] Result<void> modify(const DropTarget& target, prm::FlowAction action,
                                    std::uint64_t deadline_ns, std::uint32_t tirn = 0);
  /// DELETE_FLOW_TABLE_ENTRY of what set() put there or may have put there; nothing there is done.
  [[nodiscard]] Result<void> remove(std::uint32_t index, std::uint64_t deadline_ns);
  [[nodiscard]] bool has(std::uint32_t index) const noexcept {
    return index < state_.size() && state_[index] != State::Empty;
  }
  /// Entries, group and table, in this order; the first error. Goes on after a refusal, and stops
  /// where the device does not answer: nobody waits for every entry of a dead one.
  [[nodiscard]] Result<void> destroy(std::optional<std::uint64_t> deadline_ns = std::nullopt);

  [[nodiscard]] Shape shape() const noexcept { return shape_; }

 private:
  /// Doubtful: a command on it failed, so the device may have the entry or not.
  enum class State : std::uint8_t { Empty, Set, Doubtful };

  DropGroup(const pmd::Context& context, Shape shape, FlowTable table, FlowGroup group,
            std::uint32_t entries);
  /// What becomes of a packet that the entry matches.
  struct Fate {
    prm::FlowAction action;
    std::uint32_t tirn;
  };
  [[nodiscard]] Result<void> send(const DropTarget& target, const Fate& fate,
                                  prm::SetFteOpMod op_mod, std::uint64_t deadline_ns);
  [[nodiscard]] Result<void> run_set(const Fate& fate, std::uint64_t deadline_ns);
  [[nodiscard]] Result<void> check_index(std::uint32_t index) const;

  const pmd::Context* context_;
  Shape shape_;
  FlowTable table_;
  FlowGroup group_;
  prm::Buffer<prm::set_fte_in> template_;
  std::vector<State> state_;  // by index
  bool given_up_ = false;     // destroy() failed: the destructor asks no more
};

}  // namespace portcullis::steering
