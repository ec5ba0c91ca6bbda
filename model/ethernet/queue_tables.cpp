// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/queue_tables.hpp"

#include <bit>
#include <utility>

#include "model/request.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kNoNumber = 0xf00001,
  kNoSuchTable,
  kNoSuchRq,
  kInUse,
  kNotOffered,
  kSize,
  kShortList,
  kModifyMask,
};

}  // namespace

Verdict QueueTables::read(prm::ConstView<prm::rqtc> context, std::span<const std::byte> list,
                          std::uint32_t most, std::vector<std::uint32_t>& queues) const {
  // Linux always writes MLX5_RQTC_LIST_Q_TYPE_RQ there, 0.
  if (context.get<"list_q_type">() != 0 || context.get<"rq_vhca_id_format">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint32_t count = context.get<"rqt_actual_size">();
  // create_rqt of Snabb's connectx.lua: "Hardware requires number of hash buckets to be a power of
  // 2".
  if (!std::has_single_bit(count) || count > most)
    return refuse(CommandStatus::BAD_PARAM_ERR, kSize);
  if (list.size() < count * prm::rq_num::bytes)
    return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t rqn =
        prm::ConstView<prm::rq_num>::at(list, i * prm::rq_num::bytes).get<"rq_num">();
    if (!deps_.has_rq(deps_.context, rqn)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchRq);
    queues.push_back(rqn);
  }
  return {};
}

Verdict QueueTables::create(prm::ConstView<prm::rqtc> context, std::span<const std::byte> list,
                            std::uint32_t& number) {
  Table table;
  table.most = context.get<"rqt_max_size">();
  if (table.most == 0 || table.most > 1U << kLogMaxSize)
    return refuse(CommandStatus::BAD_PARAM_ERR, kSize);
  if (const Verdict bad = read(context, list, table.most, table.queues); !bad.ok()) return bad;
  const auto fresh = ids_.allocate();
  if (!fresh) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  number = *fresh;
  for (const std::uint32_t rqn : table.queues) deps_.rqs->add(rqn);
  tables_.emplace(number, std::move(table));
  return {};
}

Verdict QueueTables::modify(prm::ConstView<prm::modify_rqt_in> in,
                            std::span<const std::byte> list) {
  const auto found = tables_.find(in.get<"rqtn">());
  if (found == tables_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (in.get<"bitmask.rqn_list">() == 0) return refuse(CommandStatus::BAD_PARAM_ERR, kModifyMask);
  std::vector<std::uint32_t> queues;
  const Verdict bad =
      read(prm::ConstView<prm::rqtc>::at(in.bytes<"ctx">()), list, found->second.most, queues);
  if (!bad.ok()) return bad;
  for (const std::uint32_t rqn : queues) deps_.rqs->add(rqn);
  for (const std::uint32_t rqn : std::exchange(found->second.queues, std::move(queues)))
    deps_.rqs->drop(rqn);
  return {};
}

Verdict QueueTables::query(std::uint32_t number, prm::View<prm::rqtc> context,
                           std::span<std::byte> list) const {
  const auto found = tables_.find(number);
  if (found == tables_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  const Table& table = found->second;
  static_cast<void>(context.try_set<"rqt_max_size">(table.most));
  static_cast<void>(context.try_set<"rqt_actual_size">(table.queues.size()));
  for (std::size_t i = 0; i < table.queues.size(); ++i) {
    prm::Buffer<prm::rq_num> entry;
    entry.put<"rq_num">(table.queues[i]);
    put_in_tail(list, i * prm::rq_num::bytes, entry.all());
  }
  return {};
}

Verdict QueueTables::destroy(std::uint32_t number) {
  const auto found = tables_.find(number);
  if (found == tables_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchTable);
  if (references_.any(number)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  for (const std::uint32_t rqn : found->second.queues) deps_.rqs->drop(rqn);
  tables_.erase(found);
  ids_.give_back(number);
  return {};
}

std::uint32_t QueueTables::pick(std::uint32_t number, std::uint32_t hash) const noexcept {
  const std::vector<std::uint32_t>& queues = tables_.at(number).queues;
  return queues[hash & (queues.size() - 1)];
}

void QueueTables::clear() noexcept {
  tables_.clear();
  references_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
