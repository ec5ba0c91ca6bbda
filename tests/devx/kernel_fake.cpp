// SPDX-License-Identifier: BSD-3-Clause
#include "tests/devx/kernel_fake.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "devx/command_table.hpp"
#include "pmd/command_tail.hpp"
#include "pmd/events.hpp"
#include "prm/command_fields.hpp"
#include "prm/doorbell.hpp"
#include "prm/eqe.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/user_context_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;

/// devx_obj_build_destroy_cmd: whatever else its input has, an id ends at byte 12.
std::vector<std::byte> destroy_by_id(Opcode opcode, std::span<const std::byte> out) {
  constexpr std::size_t kBytes = 16;
  std::vector<std::byte> command(kBytes);
  command[0] = static_cast<std::byte>(prm::number(opcode) >> 8);
  command[1] = static_cast<std::byte>(prm::number(opcode));
  std::ranges::copy(out.subspan(devx::kNewIdAt + 1, 3), command.begin() + devx::kNewIdAt + 1);
  return command;
}

template <class L>
std::vector<std::byte> bytes_of(const prm::Buffer<L>& command) {
  return {command.all().begin(), command.all().end()};
}

std::vector<std::byte> destroy_table(std::span<const std::byte> out) {
  prm::Buffer<prm::destroy_flow_table_in> in;
  in.put<"opcode">(Opcode::DESTROY_FLOW_TABLE).put<"table_type">(prm::FlowTableType::RDMA_RX);
  in.put<"table_id">(prm::ConstView<prm::create_flow_table_out>::at(out).get<"table_id">());
  return bytes_of(in);
}

std::vector<std::byte> destroy_group(std::span<const std::byte> created,
                                     std::span<const std::byte> out) {
  prm::Buffer<prm::destroy_flow_group_in> in;
  in.put<"opcode">(Opcode::DESTROY_FLOW_GROUP).put<"table_type">(prm::FlowTableType::RDMA_RX);
  in.put<"table_id">(prm::ConstView<prm::create_flow_group_in>::at(created).get<"table_id">());
  in.put<"group_id">(prm::ConstView<prm::create_flow_group_out>::at(out).get<"group_id">());
  return bytes_of(in);
}

std::vector<std::byte> delete_entry(std::span<const std::byte> created) {
  const auto made = prm::ConstView<prm::set_fte_in>::at(created);
  prm::Buffer<prm::delete_fte_in> in;
  in.put<"opcode">(Opcode::DELETE_FLOW_TABLE_ENTRY).put<"table_type">(prm::FlowTableType::RDMA_RX);
  in.put<"table_id">(made.get<"table_id">()).put<"flow_index">(made.get<"flow_index">());
  return bytes_of(in);
}

/// devx_obj_build_destroy_cmd.
std::vector<std::byte> destroyer_of(std::span<const std::byte> in, std::span<const std::byte> out) {
  static const std::unordered_map<Opcode, Opcode> destroyers{
      {Opcode::ALLOC_PD, Opcode::DEALLOC_PD},
      {Opcode::CREATE_MKEY, Opcode::DESTROY_MKEY},
      {Opcode::CREATE_CQ, Opcode::DESTROY_CQ},
      {Opcode::CREATE_QP, Opcode::DESTROY_QP},
      {Opcode::ALLOC_Q_COUNTER, Opcode::DEALLOC_Q_COUNTER},
      {Opcode::ALLOC_TRANSPORT_DOMAIN, Opcode::DEALLOC_TRANSPORT_DOMAIN}};
  switch (prm::opcode_of(in)) {
    case Opcode::CREATE_FLOW_TABLE:
      return destroy_table(out);
    case Opcode::CREATE_FLOW_GROUP:
      return destroy_group(in, out);
    case Opcode::SET_FLOW_TABLE_ENTRY:
      return delete_entry(in);
    default:
      return destroy_by_id(destroyers.at(prm::opcode_of(in)), out);
  }
}

/// The queue of a completion vector: create_map_eq of mlx5/core/eq.c makes it everybody's.
std::uint8_t create_shared_eq(const pmd::Context& context, Iova entries) {
  constexpr std::uint32_t kLogEntries = 6;  // a page of them
  prm::Buffer<prm::create_eq_in> in;
  in.set<"opcode", prm::number(Opcode::CREATE_EQ)>();
  in.put<"uid">(prm::kSharedResourceUid);
  in.put<"eq_context_entry.log_eq_size">(kLogEntries);
  in.put<"eq_context_entry.uar_page">(context.uar->index());
  const auto out =
      pmd::run_with_tail<prm::create_eq_out>(*context.commands, in, std::vector{entries});
  return static_cast<std::uint8_t>(out.value().get<"eq_number">());
}

}  // namespace

KernelFake::KernelFake(std::vector<std::string> behaviours)
    : model_(model::Model::create(
                 {.behaviours = std::move(behaviours), .execution = model::Execution::Polled})
                 .value()),
      core_(*model_),
      hca_(pmd::Hca::bring_up(model_->device(), {}).value()),
      rules_(hca_->context()),
      eq_memory_(DmaMemory::create(*hca_->context().device.dma, kPageBytes).value()),
      eqn_(create_shared_eq(hca_->context(), eq_memory_.iova())) {}

std::size_t KernelFake::umems() const {
  const std::scoped_lock lock(mutex_);
  return umems_.size();
}

std::vector<Opcode> KernelFake::seen() const {
  const std::scoped_lock lock(mutex_);
  return seen_;
}

void KernelFake::set_gate(std::function<int(Opcode)> gate) {
  const std::scoped_lock lock(mutex_);
  gate_ = std::move(gate);
}

void KernelFake::set_late_gate(std::function<void(Opcode)> gate) {
  const std::scoped_lock lock(mutex_);
  late_gate_ = std::move(gate);
}

void KernelFake::set_unmap_is_final(bool is_final) {
  const std::scoped_lock lock(mutex_);
  unmap_is_final_ = is_final;
}

void KernelFake::break_down() {
  const std::scoped_lock lock(mutex_);
  broken_ = true;
}

void KernelFake::answer_subscriptions_with(int error) {
  const std::scoped_lock lock(mutex_);
  subscription_error_ = error;
}

std::size_t KernelFake::rules() const {
  const std::scoped_lock lock(mutex_);
  return rules_.count();
}

std::size_t KernelFake::tables_made() const {
  const std::scoped_lock lock(mutex_);
  return rules_.tables_made();
}

void KernelFake::answer_rules_with(int error) {
  const std::scoped_lock lock(mutex_);
  rule_error_ = error;
}

void KernelFake::sort_events() {
  while (const auto event = hca_->next_event()) {
    const auto* const of_qp = std::get_if<pmd::QpEvent>(&*event);
    if (of_qp == nullptr || !subscribed_.contains({prm::number(of_qp->qpn), of_qp->type})) continue;
    prm::Buffer<prm::eqe> eqe;
    eqe.put<"event_type">(of_qp->type);
    prm::Buffer<prm::qp_events> data;
    data.put<"qpn_rqn_sqn">(of_qp->qpn);
    std::ranges::copy(data.all(), eqe.bytes<"event_data">().begin());
    std::ranges::copy(eqe.all(), eqes_.emplace_back().begin());
  }
}

/// mlx5_internal_err_ret_value: what only gives back is "done", everything else is aborted.
int KernelFake::answer_by_itself(Opcode opcode, std::span<std::byte> out) {
  static const std::set<Opcode> done{Opcode::DESTROY_MKEY,
                                     Opcode::DESTROY_CQ,
                                     Opcode::DESTROY_QP,
                                     Opcode::DEALLOC_Q_COUNTER,
                                     Opcode::DEALLOC_PD,
                                     Opcode::DEALLOC_TRANSPORT_DOMAIN,
                                     Opcode::QP_2ERR,
                                     Opcode::QP_2RST,
                                     Opcode::DESTROY_UMEM,
                                     Opcode::SET_FLOW_TABLE_ENTRY,
                                     Opcode::DELETE_FLOW_TABLE_ENTRY,
                                     Opcode::DESTROY_FLOW_GROUP,
                                     Opcode::DESTROY_FLOW_TABLE};
  constexpr std::byte kAborted{0xfe};  // MLX5_DRIVER_STATUS_ABORTED
  if (done.contains(opcode)) return 0;
  out[0] = kAborted;
  return ENOLINK;
}

namespace {

/// mlx5_ib_devx_create.
std::uint32_t create_context(pmd::CommandChannel& commands) {
  prm::Buffer<prm::create_uctx_in> in;
  in.set<"opcode", prm::number(Opcode::CREATE_UCTX)>();
  return static_cast<std::uint32_t>(
      pmd::run<prm::create_uctx_out>(commands, in).value().get<"uid">());
}

/// MLX5_SET(general_obj_in_cmd_hdr, cmd_in, uid, uid) of mlx5_ib/devx.c, whatever the command is.
std::vector<std::byte> in_name_of(std::uint32_t uid, std::span<const std::byte> command) {
  std::vector<std::byte> in(command.begin(), command.end());
  static_cast<void>(prm::View<prm::general_obj_in_cmd_hdr>::at(in).try_set<"uid">(uid));
  return in;
}

}  // namespace

int KernelFake::run(std::uint32_t uid, std::span<const std::byte> command,
                    std::span<std::byte> out) {
  const std::vector<std::byte> in = in_name_of(uid, command);
  std::unique_lock lock(mutex_);
  const Opcode opcode = prm::opcode_of(in);
  seen_.push_back(opcode);
  const auto gate = gate_;
  lock.unlock();  // a gate may hold a command for long, and others go on
  if (const int refused = gate ? gate(opcode) : 0; refused != 0) return refused;
  lock.lock();
  if (broken_) return answer_by_itself(opcode, out);
  pmd::CommandChannel& commands = *hca_->context().commands;
  const auto done =
      commands.execute(in, out, pmd::SlotClass::Common, commands.default_deadline_ns());
  const auto late_gate = late_gate_;
  lock.unlock();
  if (late_gate) late_gate(opcode);
  return done ? 0 : EREMOTEIO;
}

class KernelFake::Made final : public devx::Object {
 public:
  Made(KernelFake& kernel, std::uint32_t uid, std::uint32_t id, std::vector<std::byte> destroy)
      : kernel_(&kernel), uid_(uid), id_(id), destroy_(std::move(destroy)) {}
  int modify(std::span<const std::byte> in, std::span<std::byte> out) override {
    return kernel_->run(uid_, in, out);
  }
  int query(std::span<const std::byte> in, std::span<std::byte> out) override {
    return kernel_->run(uid_, in, out);
  }
  int subscribe(std::span<const std::uint16_t> event_types) override {
    const std::scoped_lock lock(kernel_->mutex_);
    for (const std::uint16_t type : event_types) kernel_->subscribed_.insert({id_, type});
    return kernel_->subscription_error_;
  }
  int destroy() override {
    std::array<std::byte, 16> out{};
    return kernel_->run(uid_, destroy_, out);
  }
  void leave() noexcept override {}

  /// is_flow_dest of mlx5_ib/fs.c, as far as get_dests takes one in RDMA_RX: the table's id.
  [[nodiscard]] std::optional<std::uint32_t> flow_table() const {
    if (prm::opcode_of(destroy_) != Opcode::DESTROY_FLOW_TABLE) return std::nullopt;
    return prm::ConstView<prm::destroy_flow_table_in>::at(destroy_).get<"table_id">();
  }

 private:
  KernelFake* kernel_;
  std::uint32_t uid_;
  std::uint32_t id_;
  std::vector<std::byte> destroy_;
};

class KernelFake::Led final : public devx::Rule {
 public:
  Led(KernelFake& kernel, std::uint32_t rule) noexcept : kernel_(&kernel), rule_(rule) {}
  Led(const Led&) = delete;
  Led& operator=(const Led&) = delete;
  ~Led() override { static_cast<void>(destroy()); }
  /// mlx5_ib_destroy_flow: void of what the device says, and a broken one is not asked.
  int destroy() override {
    const std::scoped_lock lock(kernel_->mutex_);
    if (std::exchange(is_there_, false) && !kernel_->broken_) kernel_->rules_.remove(rule_);
    return 0;
  }
  void leave() noexcept override { is_there_ = false; }

 private:
  KernelFake* kernel_;
  std::uint32_t rule_;
  bool is_there_ = true;
};

/// UVERBS_HANDLER(MLX5_IB_METHOD_CREATE_FLOW), with a matcher of RDMA_RX and one object of DevX.
int KernelFake::lead(const devx::Match& match, const devx::Object& table,
                     std::unique_ptr<devx::Rule>& rule) {
  std::unique_lock lock(mutex_);
  const auto gate = gate_;
  lock.unlock();
  if (const int refused = gate ? gate(Opcode::SET_FLOW_TABLE_ENTRY) : 0; refused != 0)
    return refused;
  lock.lock();
  if (rule_error_ != 0) return rule_error_;
  const auto to = dynamic_cast<const Made&>(table).flow_table();
  if (!to) return EINVAL;
  std::uint32_t made = 0;
  // Of a broken NIC SET_FLOW_TABLE_ENTRY is done, and the kernel notes a rule.
  if (const int error = broken_ ? 0 : rules_.add(match, *to, made); error != 0) return error;
  rule = std::make_unique<Led>(*this, made);
  return 0;
}

class KernelFake::Process final : public devx::Provider {
 public:
  explicit Process(KernelFake& kernel)
      : kernel_(&kernel), uid_(create_context(kernel.commands())) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// mlx5_ib_devx_destroy. What the process left keeps its context.
  ~Process() override {
    prm::Buffer<prm::destroy_uctx_in> in;
    in.set<"opcode", prm::number(Opcode::DESTROY_UCTX)>();
    in.put<"uid">(uid_);
    const std::scoped_lock lock(kernel_->mutex_);
    static_cast<void>(pmd::run<prm::destroy_uctx_out>(kernel_->commands(), in));
  }

  class Page final : public devx::UarPage {
   public:
    Page(KernelFake& kernel, std::uint32_t uid, std::uint32_t index) noexcept
        : kernel_(&kernel), uid_(uid), index_(index) {}
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    ~Page() override {
      prm::Buffer<prm::dealloc_uar_in> in;
      in.set<"opcode", prm::number(Opcode::DEALLOC_UAR)>();
      in.put<"uid">(uid_).put<"uar">(index_);
      const std::scoped_lock lock(kernel_->mutex_);
      static_cast<void>(pmd::run<prm::dealloc_uar_out>(kernel_->commands(), in));
    }
    [[nodiscard]] std::uint32_t index() const noexcept override { return index_; }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept override {
      return kernel_->hca_->context().device.bar.subspan(prm::uar_offset(index_),
                                                         prm::kUarPageBytes);
    }

   private:
    KernelFake* kernel_;
    std::uint32_t uid_;
    std::uint32_t index_;
  };

  int create(std::span<const std::byte> in, std::span<std::byte> out,
             std::unique_ptr<devx::Object>& object) override {
    const int error = kernel_->run(uid_, in, out);
    if (error != 0) return error;
    object = std::make_unique<Made>(*kernel_, uid_, devx::id_at(out, devx::kNewIdAt),
                                    destroyer_of(in, out));
    return 0;
  }
  int lead(const devx::Match& match, devx::Object& table,
           std::unique_ptr<devx::Rule>& rule) override {
    return kernel_->lead(match, table, rule);
  }
  int general(std::span<const std::byte> in, std::span<std::byte> out) override {
    return kernel_->run(uid_, in, out);
  }

  Result<devx::UmemId> register_memory(std::span<std::byte> memory) override {
    const std::scoped_lock lock(kernel_->mutex_);
    const pmd::Context& context = kernel_->hca_->context();
    PORTCULLIS_TRY_ASSIGN(const Iova iova, context.device.dma->map(memory));
    constexpr std::uint64_t kReadAndWrite = 3;  // MLX5_MTT_PERM_RW
    std::vector<std::uint64_t> list;
    for (std::size_t at = 0; at < memory.size(); at += kPageBytes)
      list.push_back((iova + at) | kReadAndWrite);
    prm::Buffer<prm::create_umem_in> in;
    in.set<"opcode", prm::number(Opcode::CREATE_UMEM)>();
    in.put<"umem.num_of_mtt">(list.size()).put<"uid">(uid_);
    PORTCULLIS_TRY_ASSIGN(const auto out,
                          pmd::run_with_tail<prm::create_umem_out>(*context.commands, in, list));
    const auto id = static_cast<std::uint32_t>(out.get<"umem_id">());
    kernel_->umems_[id] = {iova, memory.size()};
    return devx::UmemId{id};
  }
  Result<void> deregister_memory(devx::UmemId umem) override {
    const std::scoped_lock lock(kernel_->mutex_);
    const pmd::Context& context = kernel_->hca_->context();
    prm::Buffer<prm::destroy_umem_in> in;
    in.set<"opcode", prm::number(Opcode::DESTROY_UMEM)>();
    in.put<"umem_id">(static_cast<std::uint32_t>(umem)).put<"uid">(uid_);
    // Of a broken NIC the kernel takes DESTROY_UMEM for done, and unmaps the pages.
    if (!kernel_->broken_) PORTCULLIS_TRY(pmd::run<prm::destroy_umem_out>(*context.commands, in));
    const auto [iova, bytes] = kernel_->umems_.at(static_cast<std::uint32_t>(umem));
    kernel_->umems_.erase(static_cast<std::uint32_t>(umem));
    return context.device.dma->unmap(iova, bytes);
  }
  Result<std::unique_ptr<devx::UarPage>> allocate_uar() override {
    const std::scoped_lock lock(kernel_->mutex_);
    prm::Buffer<prm::alloc_uar_in> in;
    in.set<"opcode", prm::number(Opcode::ALLOC_UAR)>();
    in.put<"uid">(uid_);
    PORTCULLIS_TRY_ASSIGN(const auto out, pmd::run<prm::alloc_uar_out>(kernel_->commands(), in));
    return std::make_unique<Page>(*kernel_, uid_, out.get<"uar">());
  }
  Result<std::uint8_t> eqn() override { return kernel_->eqn_; }
  [[nodiscard]] std::string firmware_version() const override {
    return kernel_->hca_->firmware_version();
  }
  bool next_event(std::span<std::byte, prm::kEqeBytes> eqe) override {
    const std::scoped_lock lock(kernel_->mutex_);
    kernel_->sort_events();
    if (kernel_->eqes_.empty()) return false;
    std::ranges::copy(kernel_->eqes_.front(), eqe.begin());
    kernel_->eqes_.pop_front();
    return true;
  }
  bool is_lost() override {
    const std::scoped_lock lock(kernel_->mutex_);
    return kernel_->broken_;
  }
  Result<void> check_unmap_is_final() override {
    const std::scoped_lock lock(kernel_->mutex_);
    if (kernel_->unmap_is_final_) return {};
    return fail(Errc::Unsupported, "an unmap does not keep this NIC from memory");
  }

 private:
  KernelFake* kernel_;
  std::uint32_t uid_;
};

std::unique_ptr<devx::Provider> KernelFake::open() { return std::make_unique<Process>(*this); }

}  // namespace portcullis::testing
