// SPDX-License-Identifier: BSD-3-Clause
#include "proof/drop_row.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace portcullis::proof {
namespace {

using steering::Shape;

constexpr prm::QpNumber kPatternQpn{0xaaaaaa};

constexpr std::array kRows{
    DropRow{"bth_dst_qp=qpn", Shape::DstQp},
    DropRow{"bth_dst_qp=0", Shape::DstQp, prm::QpNumber{0}},
    DropRow{"bth_dst_qp=0xAAAAAA", Shape::DstQp, kPatternQpn},
    DropRow{"bth_opcode=0x0A+one-packet", Shape::Opcode},
    DropRow{"bth_opcode=0x0A+several-packets", Shape::Opcode, std::nullopt, true},
};

}  // namespace

std::string_view name(Install install) noexcept { return install == Install::Pre ? "pre" : "mid"; }

std::span<const DropRow> drop_rows() noexcept { return kRows; }

std::string drop_row_names() {
  std::string text;
  for (const DropRow& row : kRows) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

Result<DropRow> parse_drop_row(std::string_view text) {
  const auto* found = std::ranges::find(kRows, text, &DropRow::name);
  if (found != kRows.end()) return *found;
  return fail(Errc::InvalidArgument,
              "DROP entry '" + std::string(text) + "'; accepted are " + drop_row_names());
}

std::string name(const DropTrial& trial) {
  return "drop," + std::string(trial.row.name) + ",install=" + std::string(name(trial.install));
}

Result<std::unique_ptr<RowDrop>> RowDrop::create(const pmd::Context& context,
                                                 const DropTrial& trial, std::uint32_t slots) {
  PORTCULLIS_TRY_ASSIGN(auto group, steering::DropGroup::create(
                                        context, {.shape = trial.row.shape, .entries = slots}));
  return std::unique_ptr<RowDrop>(new RowDrop(trial, std::move(group)));
}

Result<void> RowDrop::put(steering::DropTarget target, std::uint64_t deadline_ns) {
  if (trial_.row.qpn) target.qpn = *trial_.row.qpn;
  return group_.set(target, prm::FlowAction::DROP, deadline_ns);
}

Result<bool> RowDrop::prepare(const steering::DropTarget& target, std::uint64_t deadline_ns) {
  if (trial_.install == Install::Mid) return false;
  PORTCULLIS_TRY(put(target, deadline_ns));
  return true;
}

Result<void> RowDrop::install(const steering::DropTarget& target, std::uint64_t deadline_ns) {
  if (trial_.install == Install::Pre) return {};
  return put(target, deadline_ns);
}

Result<void> RowDrop::remove(const steering::DropTarget& target, std::uint64_t deadline_ns) {
  return group_.remove(target.slot, deadline_ns);
}

}  // namespace portcullis::proof
