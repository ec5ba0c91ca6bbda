// SPDX-License-Identifier: BSD-3-Clause
#include "devx/command_table.hpp"

#include <algorithm>
#include <array>

#include "prm/counter_commands.hpp"
#include "prm/flow_commands.hpp"
#include "prm/layout.hpp"

namespace portcullis::devx {
namespace {

using prm::Opcode;

// query_q_counter_in ends in 24 reserved bits and the set's number.
constexpr std::size_t kQCounterAt = prm::query_q_counter_in::bytes - 4;

/// The four bytes that a field ends with.
template <class L, prm::Name Path>
constexpr std::size_t kDwordOf = prm::place<L, Path>.offset / 32 * 4;

constexpr std::size_t kTableAt = kDwordOf<prm::set_fte_in, "table_id">;
static_assert(kTableAt == kDwordOf<prm::destroy_flow_table_in, "table_id"> &&
              kTableAt == kDwordOf<prm::create_flow_group_in, "table_id"> &&
              kTableAt == kDwordOf<prm::destroy_flow_group_in, "table_id"> &&
              kTableAt == kDwordOf<prm::delete_fte_in, "table_id">);
constexpr std::size_t kGroupAt = kDwordOf<prm::destroy_flow_group_in, "group_id">;
constexpr std::size_t kIndexAt = kDwordOf<prm::set_fte_in, "flow_index">;
static_assert(kIndexAt == kDwordOf<prm::delete_fte_in, "flow_index">);

constexpr std::array kHandlings{
    Handling{Opcode::QUERY_HCA_CAP, Call::General},
    Handling{Opcode::QUERY_ADAPTER, Call::General},
    Handling{Opcode::QUERY_ISSI, Call::General},
    Handling{Opcode::QUERY_HCA_VPORT_CONTEXT, Call::General},
    Handling{Opcode::QUERY_NIC_VPORT_CONTEXT, Call::General},
    Handling{Opcode::QUERY_ROCE_ADDRESS, Call::General},
    Handling{Opcode::QUERY_VPORT_STATE, Call::General},
    Handling{Opcode::ALLOC_PD, Call::Create, Kind::Pd},
    Handling{Opcode::DEALLOC_PD, Call::Destroy, Kind::Pd},
    Handling{Opcode::CREATE_MKEY, Call::Create, Kind::Mkey},
    Handling{Opcode::QUERY_MKEY, Call::Query, Kind::Mkey},
    Handling{Opcode::DESTROY_MKEY, Call::Destroy, Kind::Mkey},
    Handling{Opcode::CREATE_CQ, Call::Create, Kind::Cq},
    Handling{Opcode::DESTROY_CQ, Call::Destroy, Kind::Cq},
    Handling{Opcode::CREATE_QP, Call::Create, Kind::Qp},
    Handling{Opcode::RST2INIT_QP, Call::Modify, Kind::Qp},
    Handling{Opcode::INIT2INIT_QP, Call::Modify, Kind::Qp},
    Handling{Opcode::INIT2RTR_QP, Call::Modify, Kind::Qp},
    Handling{Opcode::RTR2RTS_QP, Call::Modify, Kind::Qp},
    Handling{Opcode::RTS2RTS_QP, Call::Modify, Kind::Qp},
    Handling{Opcode::QP_2ERR, Call::Modify, Kind::Qp},
    Handling{Opcode::QP_2RST, Call::Modify, Kind::Qp},
    Handling{Opcode::QUERY_QP, Call::Query, Kind::Qp},
    Handling{Opcode::DESTROY_QP, Call::Destroy, Kind::Qp},
    Handling{Opcode::ALLOC_Q_COUNTER, Call::Create, Kind::QCounter},
    Handling{Opcode::QUERY_Q_COUNTER, Call::Query, Kind::QCounter, kQCounterAt},
    Handling{Opcode::DEALLOC_Q_COUNTER, Call::Destroy, Kind::QCounter},
    Handling{Opcode::ALLOC_TRANSPORT_DOMAIN, Call::Create, Kind::TransportDomain},
    Handling{Opcode::DEALLOC_TRANSPORT_DOMAIN, Call::Destroy, Kind::TransportDomain},
    Handling{Opcode::CREATE_FLOW_TABLE, Call::Create, Kind::FlowTable},
    Handling{Opcode::DESTROY_FLOW_TABLE, Call::Destroy, Kind::FlowTable, kTableAt},
    Handling{Opcode::CREATE_FLOW_GROUP, Call::Create, Kind::FlowGroup, 0, kTableAt},
    Handling{Opcode::DESTROY_FLOW_GROUP, Call::Destroy, Kind::FlowGroup, kGroupAt, kTableAt},
    Handling{Opcode::SET_FLOW_TABLE_ENTRY, Call::SetEntry, Kind::FlowEntry, kIndexAt, kTableAt},
    Handling{Opcode::DELETE_FLOW_TABLE_ENTRY, Call::Destroy, Kind::FlowEntry, kIndexAt, kTableAt},
    Handling{Opcode::SET_FLOW_TABLE_ROOT, Call::SetRoot},
    Handling{Opcode::ALLOC_UAR, Call::AllocateUar},
    Handling{Opcode::DEALLOC_UAR, Call::FreeUar},
};

}  // namespace

const Handling* handling_of(prm::Opcode opcode) noexcept {
  const auto* const found = std::ranges::find(kHandlings, opcode, &Handling::opcode);
  return found == kHandlings.end() ? nullptr : found;
}

bool may_be_faked(const Handling& how) noexcept {
  return how.call == Call::Destroy || how.call == Call::SetEntry || how.call == Call::SetRoot ||
         how.opcode == Opcode::QP_2ERR || how.opcode == Opcode::QP_2RST;
}

std::uint32_t id_at(std::span<const std::byte> message, std::size_t at) noexcept {
  if (message.size() < at + 4) return 0;
  std::uint32_t id = 0;
  for (const std::byte part : message.subspan(at + 1, 3))
    id = id << 8 | std::to_integer<std::uint32_t>(part);
  return id;
}

}  // namespace portcullis::devx
