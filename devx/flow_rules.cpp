// SPDX-License-Identifier: BSD-3-Clause
#include "devx/flow_rules.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "prm/command_fields.hpp"
#include "prm/flow_cap.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/hca_cap.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/view.hpp"

namespace portcullis::devx {
namespace {

constexpr std::uint32_t kRdmaRx = prm::number(prm::FlowTableType::RDMA_RX);

struct Criterion {
  std::uint8_t enable = 0;
  std::array<std::byte, prm::fte_match_param::bytes> mask{};
};

}  // namespace

/// Whoever makes an entry holds it, so that the object lives while a rule is made.
struct FlowRules::Table {
  std::unique_ptr<Object> object;
  std::map<std::uint32_t, Criterion> criteria;  // by group_id
  std::atomic<std::uint32_t> entries = 0;
};

class FlowRules::MadeTable final : public Object {
 public:
  explicit MadeTable(std::shared_ptr<Table> table) noexcept : table_(std::move(table)) {}
  int modify(std::span<const std::byte> in, std::span<std::byte> out) override {
    return table_->object->modify(in, out);
  }
  int query(std::span<const std::byte> in, std::span<std::byte> out) override {
    return table_->object->query(in, out);
  }
  int subscribe(std::span<const std::uint16_t> event_types) override {
    return table_->object->subscribe(event_types);
  }
  int destroy() override { return table_->object->destroy(); }
  void leave() noexcept override { table_->object->leave(); }

 private:
  std::shared_ptr<Table> table_;
};

/// An entry and, in a root, the rule that leads to it. The rule goes first: no packet may be led to
/// a place that has nothing to say about it.
class FlowRules::MadeEntry final : public Object {
 public:
  MadeEntry(std::shared_ptr<Table> table, std::unique_ptr<Object> entry) noexcept
      : table_(std::move(table)), entry_(std::move(entry)) {
    ++table_->entries;
  }
  MadeEntry(const MadeEntry&) = delete;
  MadeEntry& operator=(const MadeEntry&) = delete;
  ~MadeEntry() override {
    rule_.reset();
    if (!is_gone_) --table_->entries;
  }
  [[nodiscard]] int lead(Provider& provider, const Match& match) {
    return provider.lead(match, *table_->object, rule_);
  }

  int modify(std::span<const std::byte> in, std::span<std::byte> out) override {
    return entry_->modify(in, out);
  }
  int query(std::span<const std::byte> in, std::span<std::byte> out) override {
    return entry_->query(in, out);
  }
  int subscribe(std::span<const std::uint16_t> event_types) override {
    return entry_->subscribe(event_types);
  }
  int destroy() override {
    if (rule_ != nullptr)
      if (const int error = rule_->destroy(); error != 0) return error;
    rule_.reset();
    if (const int error = entry_->destroy(); error != 0) return error;
    if (!std::exchange(is_gone_, true)) --table_->entries;
    return 0;
  }
  void leave() noexcept override {
    if (rule_ != nullptr) rule_->leave();
    entry_->leave();
  }

 private:
  std::shared_ptr<Table> table_;
  std::unique_ptr<Object> entry_;
  std::unique_ptr<Rule> rule_;
  bool is_gone_ = false;
};

int FlowRules::create(std::span<const std::byte> in, std::span<std::byte> out,
                      std::unique_ptr<Object>& object) {
  switch (prm::opcode_of(in)) {
    case prm::Opcode::CREATE_FLOW_TABLE:
      return create_table(in, out, object);
    case prm::Opcode::CREATE_FLOW_GROUP:
      return create_group(in, out, object);
    case prm::Opcode::SET_FLOW_TABLE_ENTRY:
      return create_entry(in, out, object);
    default:
      return provider_->create(in, out, object);
  }
}

int FlowRules::ask_level() {
  const std::scoped_lock lock(mutex_);
  if (level_ != 0) return 0;
  prm::Buffer<prm::query_hca_cap_in> in;
  prm::Buffer<prm::query_hca_cap_out> out;
  in.put<"opcode">(prm::Opcode::QUERY_HCA_CAP);
  in.put<"op_mod">(prm::cap_op_mod(prm::CapType::FLOW_TABLE, prm::CapMode::GET_CUR));
  if (const int error = provider_->general(in.all(), out.all()); error != 0) return error;
  const auto page = prm::ConstView<prm::flow_table_nic_cap>::at(out.bytes<"capability">());
  const std::uint32_t most = page.get<"flow_table_properties_nic_receive_rdma.max_ft_level">();
  if (most < 2) return EOPNOTSUPP;
  level_ = most - 1;
  return 0;
}

std::shared_ptr<FlowRules::Table> FlowRules::find(std::uint32_t table_id) {
  const std::scoped_lock lock(mutex_);
  const auto found = tables_.find(table_id);
  return found == tables_.end() ? nullptr : found->second;
}

int FlowRules::create_table(std::span<const std::byte> in, std::span<std::byte> out,
                            std::unique_ptr<Object>& object) {
  if (in.size() != prm::create_flow_table_in::bytes ||
      out.size() < prm::create_flow_table_out::bytes)
    return EINVAL;
  if (prm::ConstView<prm::create_flow_table_in>::at(in).get<"table_type">() != kRdmaRx)
    return EOPNOTSUPP;
  if (const int error = ask_level(); error != 0) return error;
  std::vector<std::byte> raised(in.begin(), in.end());
  const auto asked = prm::View<prm::create_flow_table_in>::at(raised);
  if (!asked.try_set<"flow_table_context.level">(level_)) return EOVERFLOW;
  auto table = std::make_shared<Table>();
  if (const int error = provider_->create(raised, out, table->object); error != 0) return error;
  const std::uint32_t id = prm::ConstView<prm::create_flow_table_out>::at(out).get<"table_id">();
  object = std::make_unique<MadeTable>(table);
  const std::scoped_lock lock(mutex_);
  tables_.insert_or_assign(id, std::move(table));
  return 0;
}

int FlowRules::create_group(std::span<const std::byte> in, std::span<std::byte> out,
                            std::unique_ptr<Object>& object) {
  if (in.size() != prm::create_flow_group_in::bytes ||
      out.size() < prm::create_flow_group_out::bytes)
    return EINVAL;
  const auto asked = prm::ConstView<prm::create_flow_group_in>::at(in);
  const std::shared_ptr<Table> table = find(asked.get<"table_id">());
  if (table == nullptr) return ENOENT;
  if (const int error = provider_->create(in, out, object); error != 0) return error;
  Criterion criterion{.enable = static_cast<std::uint8_t>(asked.get<"match_criteria_enable">())};
  std::ranges::copy(asked.bytes<"match_criteria">(), criterion.mask.begin());
  const std::scoped_lock lock(mutex_);
  table->criteria.insert_or_assign(
      prm::ConstView<prm::create_flow_group_out>::at(out).get<"group_id">(), criterion);
  return 0;
}

int FlowRules::create_entry(std::span<const std::byte> in, std::span<std::byte> out,
                            std::unique_ptr<Object>& object) {
  if (in.size() < prm::set_fte_in::bytes) return EINVAL;
  const auto asked = prm::ConstView<prm::set_fte_in>::at(in);
  const std::shared_ptr<Table> table = find(asked.get<"table_id">());
  if (table == nullptr) return ENOENT;
  Criterion criterion;
  bool is_led = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto group = table->criteria.find(asked.get<"flow_context.group_id">());
    if (group == table->criteria.end()) return ENOENT;
    criterion = group->second;
    is_led = root_ == table;
  }
  std::unique_ptr<Object> bare;
  if (const int error = provider_->create(in, out, bare); error != 0) return error;
  auto entry = std::make_unique<MadeEntry>(table, std::move(bare));
  int error = 0;
  if (is_led)
    error = entry->lead(*provider_, {.criteria = criterion.enable,
                                     .mask = criterion.mask,
                                     .value = asked.bytes<"flow_context.match_value">()});
  if (error == 0 || entry->destroy() != 0) object = std::move(entry);
  return error;
}

int FlowRules::anchor(Table& table) {
  prm::Buffer<prm::fte_match_param> mask;
  mask.set<"misc_parameters.bth_dst_qp", 0xffffff>();
  const prm::Buffer<prm::fte_match_param> queue_pair_0;
  const int error = provider_->lead({.criteria = prm::number(prm::MatchCriteria::MISC_PARAMETERS),
                                     .mask = mask.all(),
                                     .value = queue_pair_0.all()},
                                    *table.object, anchor_);
  return error == EPERM ? error : 0;
}

int FlowRules::set_root(std::span<const std::byte> in) {
  if (in.size() != prm::set_flow_table_root_in::bytes) return EINVAL;
  const auto asked = prm::ConstView<prm::set_flow_table_root_in>::at(in);
  if (asked.get<"table_type">() != kRdmaRx || asked.get<"underlay_qpn">() != prm::kNoUnderlayQpn)
    return EOPNOTSUPP;
  const std::unique_lock call(rooting_, std::try_to_lock);
  if (!call.owns_lock()) return EBUSY;
  const bool is_set = asked.get<"op_mod">() == prm::number(prm::FlowTableRootOpMod::SET);
  const std::shared_ptr<Table> next = is_set ? find(asked.get<"table_id">()) : nullptr;
  if (is_set && next == nullptr) return ENOENT;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& table : {root_, next})
      if (table != nullptr && table->entries != 0) return EBUSY;
    root_ = next;
  }
  int error = anchor_ == nullptr ? 0 : anchor_->destroy();
  if (error == 0) anchor_.reset();
  if (error == 0 && next != nullptr) error = anchor(*next);
  if (error == 0) return 0;
  const std::scoped_lock lock(mutex_);
  root_ = nullptr;
  return error;
}

void FlowRules::end(bool is_answered) {
  if (anchor_ != nullptr && !is_answered) anchor_->leave();
  anchor_.reset();
}

}  // namespace portcullis::devx
