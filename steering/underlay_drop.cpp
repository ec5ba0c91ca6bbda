// SPDX-License-Identifier: BSD-3-Clause
#include "steering/underlay_drop.hpp"

#include <utility>

#include "prm/enums.hpp"
#include "steering/flow_caps.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::steering {
namespace {

constexpr std::uint64_t kBefore = 0x706f727463756c11;  // what each WRITE leaves in the word
constexpr std::uint64_t kAfter = 0x706f727463756c12;
constexpr std::uint32_t kLogCompletions = 0;  // nothing is ever received
constexpr std::uint32_t kIndex = 0;           // each table has one entry, whatever the slot

tl::unexpected<Error> forbidden(const std::string& why) {
  return fail(Errc::Unsupported, "steering: no underlay here: " + why);
}

Result<void> check_offered(const pmd::Context& context) {
  const pmd::Capabilities& caps = context.caps;
  if (caps.port_type != prm::number(prm::PortType::IB))
    return forbidden("port_type is " + std::to_string(caps.port_type) +
                     " (Ethernet), and Linux sets a root with underlay_qpn on InfiniBand ports (0) "
                     "alone");
  const auto is_zero = [](const char* name) {
    return forbidden("the capability " + std::string(name) + " is 0");
  };
  if (caps.log_max_transport_domain == 0) return is_zero("log_max_transport_domain");
  if (caps.log_max_rq == 0) return is_zero("log_max_rq");
  if (caps.log_max_tir == 0) return is_zero("log_max_tir");
  PORTCULLIS_TRY_ASSIGN(const DomainCaps domain, query_domain(context, prm::FlowTableType::NIC_RX));
  if (!domain.ft_support) return is_zero("ft_support of NIC_RX");
  // Without it Linux sets no root (connect_flow_table of mlx5/core/fs_core.c).
  if (!domain.modify_root) return is_zero("modify_root of NIC_RX");
  if (!domain.bth_dst_qp) return is_zero("bth_dst_qp of NIC_RX");
  if (!domain.flow_modify_en) return is_zero("flow_modify_en of NIC_RX");
  return {};
}

}  // namespace

UnderlayDrop::UnderlayDrop(const pmd::Context& context, pmd::ProtectionDomain pd,
                           pmd::CompletionQueue cq, pmd::TransportDomain domain,
                           std::uint32_t slots)
    : context_(&context),
      pd_(std::move(pd)),
      cq_(std::move(cq)),
      domain_(std::move(domain)),
      attachments_(slots + std::size_t{1}) {}

Result<std::unique_ptr<UnderlayDrop>> UnderlayDrop::set_up(const pmd::Context& context,
                                                           const Options& options) {
  if (context.is_kept)
    return forbidden("a root of a QP's own is set by the kernel driver that keeps this NIC alone");
  if (!options.try_anyway) PORTCULLIS_TRY(check_offered(context));
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogCompletions));
  PORTCULLIS_TRY_ASSIGN(auto domain, pmd::TransportDomain::create(context));
  std::unique_ptr<UnderlayDrop> drop(
      new UnderlayDrop(context, std::move(pd), std::move(cq), std::move(domain), options.slots));
  PORTCULLIS_TRY(drop->judge(options));
  return drop;
}

Result<void> UnderlayDrop::attach(Attachment& made, prm::QpNumber qpn,
                                  std::uint64_t deadline_ns) const {
  PORTCULLIS_TRY_ASSIGN(auto target,
                        pmd::ReceiveTarget::create(*context_, domain_, pd_, cq_, deadline_ns));
  made.target.emplace(std::move(target));
  // By default one entry, on the QP's number.
  PORTCULLIS_TRY_ASSIGN(
      auto group,
      DropGroup::create_apart(*context_, {.domain = prm::FlowTableType::NIC_RX}, deadline_ns));
  made.group.emplace(std::move(group));
  PORTCULLIS_TRY(made.group->make_root(prm::number(qpn), deadline_ns));
  return made.group->set({.slot = kIndex, .qpn = qpn}, prm::FlowAction::ALLOW, deadline_ns);
}

Result<void> UnderlayDrop::check_slot(std::uint32_t slot) const {
  if (slot < attachments_.size()) return {};
  return fail(Errc::OutOfResources, "steering: slot " + std::to_string(slot) +
                                        "; underlays are for 0 to " +
                                        std::to_string(attachments_.size() - 1));
}

Result<bool> UnderlayDrop::prepare(const DropTarget& target, std::uint64_t deadline_ns) {
  PORTCULLIS_TRY(check_slot(target.slot));
  auto& attachment = attachments_[target.slot];
  if (attachment)
    return fail(Errc::Busy, "steering: slot " + std::to_string(target.slot) + " has its underlay");
  // Kept from the first command on: what cannot be taken back now is a later remove()'s.
  auto attached = attach(attachment.emplace(), target.qpn, deadline_ns);
  if (attached) return true;
  // A device that let the deadline pass is asked no more.
  if (attached.error().code != Errc::Timeout) (void)remove(target, deadline_ns);
  return forward_error(std::move(attached));
}

Result<void> UnderlayDrop::install(const DropTarget& target, std::uint64_t deadline_ns) {
  PORTCULLIS_TRY(check_slot(target.slot));
  auto& attachment = attachments_[target.slot];
  if (!attachment || !attachment->group || !attachment->group->has(kIndex))
    return fail(Errc::NotFound, "steering: slot " + std::to_string(target.slot) +
                                    " got no underlay when the lease was granted");
  return attachment->group->modify({.slot = kIndex, .qpn = target.qpn}, prm::FlowAction::FWD_DEST,
                                   deadline_ns, attachment->target->tirn());
}

Result<void> UnderlayDrop::remove(const DropTarget& target, std::uint64_t deadline_ns) {
  PORTCULLIS_TRY(check_slot(target.slot));
  auto& attachment = attachments_[target.slot];
  if (!attachment) return {};
  if (attachment->group) PORTCULLIS_TRY(attachment->group->destroy(deadline_ns));
  if (attachment->target) PORTCULLIS_TRY(attachment->target->destroy(deadline_ns));
  attachment.reset();
  return {};
}

Result<void> UnderlayDrop::judge(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(*context_, options.loopback));
  const DropTarget target = pair->target(options.slots);
  auto judged = judge_on(*pair, target, options);
  // Whatever came out: the root goes before the QP that it stands on.
  auto removed = remove(target, context_->commands->default_deadline_ns());
  return judged ? removed : judged;
}

/// A connection that is attached before its first packet, and stopped while it runs.
Result<void> UnderlayDrop::judge_on(LoopbackPair& pair, const DropTarget& target,
                                    const Options& options) {
  SelfTestOptions test;
  test.quiet_ms = options.quiet_ms;
  const auto deadline_ns = [this] { return context_->commands->default_deadline_ns(); };
  PORTCULLIS_TRY(prepare(target, deadline_ns()));
  PORTCULLIS_TRY(pair.post(kBefore));
  PORTCULLIS_TRY_ASSIGN(const auto passed, pair.outcome(test.patience_ms * kNsPerMs));
  if (passed != prm::WcStatus::SUCCESS)
    return fail(Errc::DeviceFailed,
                "steering: a WRITE over loopback does not pass an underlay that allows it");
  const Stop underlay{[&] { return install(target, deadline_ns()); },
                      [&] { return remove(target, deadline_ns()); }};
  PORTCULLIS_TRY_ASSIGN(const Trial trial, try_write(pair, underlay, kAfter, test));
  // It is attached before the first packet always, so what stops runs.
  verdict_ = {trial.silenced, trial.silenced, trial.recovered};
  return {};
}

std::string UnderlayDrop::describe() const {
  return "underlay of NIC_RX (scope lease), " + steering::describe(verdict_);
}

}  // namespace portcullis::steering
