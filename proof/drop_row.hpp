// SPDX-License-Identifier: BSD-3-Clause
//
// The DROP entries of the floor document, sections 3.1 and 3.2, row by row: by bth_dst_qp with the
// QP's number and with two that are not, by bth_opcode 0x0A with WRITEs that have it and WRITEs
// that have not; each put in before traffic or under it. steering_bench asks what the entry alone
// does, revoke_bench and floor_bench take it as the third step of plan seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "pmd/context.hpp"
#include "steering/drop_group.hpp"
#include "steering/drop_rule.hpp"
#include "steering/shape.hpp"

namespace portcullis::proof {

enum class Install : std::uint8_t {
  Pre,  // before the client's first packet
  Mid,  // under its traffic
};
[[nodiscard]] std::string_view name(Install install) noexcept;

struct DropRow {
  std::string_view name;  // as the floor document has it: "bth_dst_qp=0"
  steering::Shape shape{};
  std::optional<prm::QpNumber> qpn = std::nullopt;  // instead of the QP's own
  bool has_long_writes = false;                     // of several packets, none of them 0x0A
};
[[nodiscard]] std::span<const DropRow> drop_rows() noexcept;
/// "bth_dst_qp=qpn, ..".
[[nodiscard]] std::string drop_row_names();
/// InvalidArgument names the text and what is accepted.
[[nodiscard]] Result<DropRow> parse_drop_row(std::string_view text);

/// A row and when its entry is put in.
struct DropTrial {
  DropRow row;
  Install install = Install::Mid;
};
/// "drop,bth_dst_qp=0,install=mid".
[[nodiscard]] std::string name(const DropTrial& trial);

/// The entry of a trial as a rule of leases: Pre has it dropping from the grant on.
class RowDrop final : public steering::DropRule {
 public:
  /// For lease slots 0 to `slots` - 1. `context` must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<RowDrop>> create(const pmd::Context& context,
                                                               const DropTrial& trial,
                                                               std::uint32_t slots);

  [[nodiscard]] Result<bool> prepare(const steering::DropTarget& target,
                                     std::uint64_t deadline_ns) override;
  [[nodiscard]] Result<void> install(const steering::DropTarget& target,
                                     std::uint64_t deadline_ns) override;
  [[nodiscard]] Result<void> remove(const steering::DropTarget& target,
                                    std::uint64_t deadline_ns) override;

 private:
  RowDrop(const DropTrial& trial, steering::DropGroup group)
      : trial_(trial), group_(std::move(group)) {}
  [[nodiscard]] Result<void> put(steering::DropTarget target, std::uint64_t deadline_ns);

  DropTrial trial_;
  steering::DropGroup group_;
};

}  // namespace portcullis::proof
