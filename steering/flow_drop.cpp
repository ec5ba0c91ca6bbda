// SPDX-License-Identifier: BSD-3-Clause
#include "steering/flow_drop.hpp"

#include <utility>
#include <vector>

#include "steering/flow_caps.hpp"

namespace portcullis::steering {
namespace {

/// A shape that could be set up, and what the self-test said of it.
struct Candidate {
  Shape shape{};
  SelfTestVerdict verdict;
};

int rank(const Candidate& candidate) noexcept {
  const bool lease = scope(candidate.shape) == Scope::Lease;
  const bool verified = candidate.verdict.verified();
  return (verified ? 4 : 0) + (lease ? 2 : 0) + (candidate.verdict.stops_running ? 1 : 0);
}

std::vector<Shape> shapes_of(const Choice& choice, const DomainCaps& caps) {
  if (choice.kind == Choice::Kind::One) return {choice.shape};
  std::vector<Shape> shapes;
  for (const Shape shape : kShapes)
    if (choice.kind == Choice::Kind::Try || is_offered(shape, caps)) shapes.push_back(shape);
  return shapes;
}

DropGroup::Options group_options(const FlowDrop::Options& options, Shape shape) {
  // One index more than there are slots: the self-test's.
  return {.shape = shape, .entries = options.slots + 1};
}

Result<SelfTestVerdict> try_shape(const pmd::Context& context, const FlowDrop::Options& options,
                                  Shape shape) {
  // Its NIC serves processes that are not ours, and the self-test would stop them too.
  if (context.is_kept && scope(shape) == Scope::Function && !options.allow_function_drop)
    return fail(Errc::Unsupported,
                "it drops for every process on a NIC that its kernel driver keeps; not tried "
                "(--allow-function-drop)");
  PORTCULLIS_TRY_ASSIGN(DropGroup group, DropGroup::create(context, group_options(options, shape)));
  SelfTestOptions test;
  test.loopback = options.loopback;
  test.index = options.slots;
  test.quiet_ms = options.quiet_ms;
  auto verdict = self_test(context, group, test);
  const Result<void> gone = group.destroy();
  if (verdict && !gone) return tl::unexpected(gone.error());
  return verdict;
}

}  // namespace

Result<Choice> parse_choice(std::string_view text) {
  if (text == "off") return Choice{Choice::Kind::Off};
  if (text == "offered") return Choice{Choice::Kind::Offered};
  if (text == "try") return Choice{Choice::Kind::Try};
  const auto shape = parse_shape(text);
  if (shape) return Choice{Choice::Kind::One, *shape};
  Error error = shape.error();
  error.text = error.text.replace(0, std::string_view("steering shape").size(), "steering") +
               ", off, offered, try";
  return tl::unexpected(std::move(error));
}

std::string_view name(const Choice& choice) noexcept {
  switch (choice.kind) {
    case Choice::Kind::Off:
      return "off";
    case Choice::Kind::Offered:
      return "offered";
    case Choice::Kind::Try:
      return "try";
    case Choice::Kind::One:
      return name(choice.shape);
  }
  return "unknown choice";
}

Result<std::unique_ptr<FlowDrop>> FlowDrop::set_up(const pmd::Context& context,
                                                   const Options& options, const LogSink& log) {
  PORTCULLIS_TRY_ASSIGN(const DomainCaps caps, query_domain(context, prm::FlowTableType::RDMA_RX));
  if (!caps.ft_support && options.choice.kind == Choice::Kind::Offered)
    return fail(Errc::Unsupported,
                "the capability ft_support of RDMA_RX is 0; --steering=try asks the device");
  std::optional<Candidate> best;
  std::string refusals;
  for (const Shape shape : shapes_of(options.choice, caps)) {
    const auto verdict = try_shape(context, options, shape);
    const std::string line = std::string(name(shape)) + ": " +
                             (verdict ? steering::describe(*verdict) : verdict.error().text);
    if (log) log("steering RDMA_RX " + line);
    refusals += (refusals.empty() ? "" : "; ") + line;
    if (!verdict) continue;
    const Candidate candidate{shape, *verdict};
    if (!best || rank(candidate) > rank(*best)) best = candidate;
  }
  if (!best) return fail(Errc::Unsupported, "no shape of RDMA_RX could be set up: " + refusals);
  PORTCULLIS_TRY_ASSIGN(DropGroup group,
                        DropGroup::create(context, group_options(options, best->shape)));
  std::unique_ptr<FlowDrop> drop(new FlowDrop(options, std::move(group), best->verdict));
  drop->may_modify_ = caps.flow_modify_en || options.choice.kind == Choice::Kind::Try;
  return drop;
}

std::unique_ptr<FlowDrop> FlowDrop::set_up_or_say(const pmd::Context& context,
                                                  const Options& options, const LogSink& log) {
  if (options.choice.kind == Choice::Kind::Off) return nullptr;
  auto made = set_up(context, options, {});
  if (log) log("steering: " + (made ? (*made)->describe() : "none, " + made.error().text));
  return made ? *std::move(made) : nullptr;
}

/// Where nobody has allowed it.
bool FlowDrop::drops_for_others() const noexcept {
  return scope(group_.shape()) == Scope::Function && !options_.allow_function_drop;
}

Result<void> FlowDrop::check_scope() const {
  if (!drops_for_others()) return {};
  // The lease that is being fenced is not ACTIVE any more.
  if (active_ && active_() == 0) return {};
  return fail(Errc::Busy, "steering: shape " + std::string(name(group_.shape())) +
                              " drops for the whole function and " +
                              (active_ ? std::to_string(active_()) : "perhaps") +
                              " other leases are ACTIVE; step skipped (--allow-function-drop)");
}

/// They are of leases that were fenced, and no outcome rests on an entry.
Result<void> FlowDrop::lift_entries(std::uint64_t deadline_ns) {
  for (std::uint32_t slot = 0; slot < options_.slots; ++slot)
    PORTCULLIS_TRY(group_.remove(slot, deadline_ns));
  return {};
}

Result<bool> FlowDrop::prepare(const DropTarget& target, std::uint64_t deadline_ns) {
  if (drops_for_others()) PORTCULLIS_TRY(lift_entries(deadline_ns));
  if (target.entry == EntryPlan::AtRevoke) return false;
  if (target.entry == EntryPlan::Underlay)
    return fail(Errc::Unsupported, "steering: RDMA_RX entries are no underlay");
  // It would let every lease's packets pass, whatever drops them further down.
  if (scope(group_.shape()) == Scope::Function)
    return fail(Errc::Unsupported, "steering: shape " + std::string(name(group_.shape())) +
                                       " is the whole function's; an ALLOW entry takes one of a "
                                       "lease");
  if (target.entry == EntryPlan::AllowModify && !may_modify_)
    return fail(Errc::Unsupported,
                "steering: the capability flow_modify_en of RDMA_RX is 0; --steering=try asks the "
                "device");
  PORTCULLIS_TRY(group_.set(target, prm::FlowAction::ALLOW, deadline_ns));
  return true;
}

Result<void> FlowDrop::install(const DropTarget& target, std::uint64_t deadline_ns) {
  PORTCULLIS_TRY(check_scope());
  if (target.entry == EntryPlan::AllowModify && group_.has(target.slot))
    return group_.modify(target, prm::FlowAction::DROP, deadline_ns);
  if (target.entry == EntryPlan::AllowReplace)
    PORTCULLIS_TRY(group_.remove(target.slot, deadline_ns));
  return group_.set(target, prm::FlowAction::DROP, deadline_ns);
}

Result<void> FlowDrop::remove(const DropTarget& target, std::uint64_t deadline_ns) {
  return group_.remove(target.slot, deadline_ns);
}

std::string FlowDrop::describe() const {
  return "RDMA_RX " + std::string(name(group_.shape())) + " (scope " +
         std::string(name(scope(group_.shape()))) + "), " + steering::describe(verdict_);
}

}  // namespace portcullis::steering
