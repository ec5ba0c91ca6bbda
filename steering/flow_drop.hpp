// SPDX-License-Identifier: BSD-3-Clause
//
// The DROP entries of a function's leases: which shape, found at bring-up, and what a revoke does
// with it. Set-up tries the shapes that the capabilities offer, or all of them, puts each to the
// self-test, and keeps the best: lease scope before function scope, one that stops running
// connections before one that does not. A function-scope entry hits every tenant, so it is
// installed only while no other lease is ACTIVE, or where that was allowed, and taken out again
// before the next lease is served. On a NIC that its kernel driver keeps it hits every process of
// the host, and is not even tried unless that was allowed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_path.hpp"
#include "steering/drop_group.hpp"
#include "steering/drop_rule.hpp"
#include "steering/self_test.hpp"
#include "steering/shape.hpp"

namespace portcullis::steering {

/// Which shapes set-up looks at.
struct Choice {
  enum class Kind : std::uint8_t { Off, Offered, Try, One };
  Kind kind = Kind::Offered;
  Shape shape = Shape::DstQp;  // of One
};
/// "off", "offered", "try" or a shape.
[[nodiscard]] Result<Choice> parse_choice(std::string_view text);
[[nodiscard]] std::string_view name(const Choice& choice) noexcept;

/// Where nobody chose: nothing, unless the entry must stand from the grant on.
[[nodiscard]] constexpr Choice choice_for(EntryPlan entry) noexcept {
  return {entry == EntryPlan::AtRevoke ? Choice::Kind::Off : Choice::Kind::Offered};
}

class FlowDrop final : public DropRule {
 public:
  struct Options {
    Choice choice = {};
    std::uint32_t slots = 1;  // of the lease table
    bool allow_function_drop = false;
    pmd::RocePath loopback = {};
    std::uint64_t quiet_ms = 20;
  };
  /// Sets up, or says once in `log` why there is no steering, and then is null: a function without
  /// it serves leases as well. `context` must outlive it.
  [[nodiscard]] static std::unique_ptr<FlowDrop> set_up_or_say(const pmd::Context& context,
                                                               const Options& options,
                                                               const LogSink& log);
  /// The same; the error names what was tried.
  [[nodiscard]] static Result<std::unique_ptr<FlowDrop>> set_up(const pmd::Context& context,
                                                                const Options& options,
                                                                const LogSink& log);

  [[nodiscard]] Result<bool> prepare(const DropTarget& target, std::uint64_t deadline_ns) override;
  [[nodiscard]] Result<void> install(const DropTarget& target, std::uint64_t deadline_ns) override;
  [[nodiscard]] Result<void> remove(const DropTarget& target, std::uint64_t deadline_ns) override;

  /// Without it every function-scope entry is skipped unless allowed.
  void set_active_count(const std::function<std::uint32_t()>& active) override { active_ = active; }
  [[nodiscard]] Shape shape() const noexcept { return group_.shape(); }
  [[nodiscard]] const SelfTestVerdict& verdict() const noexcept { return verdict_; }
  /// "RDMA_RX dst-qp (scope lease), verified: stops new and running connections".
  [[nodiscard]] std::string describe() const;

 private:
  FlowDrop(const Options& options, DropGroup group, const SelfTestVerdict& verdict)
      : options_(options), group_(std::move(group)), verdict_(verdict) {}
  [[nodiscard]] bool drops_for_others() const noexcept;
  [[nodiscard]] Result<void> check_scope() const;
  [[nodiscard]] Result<void> lift_entries(std::uint64_t deadline_ns);

  Options options_;
  DropGroup group_;
  SelfTestVerdict verdict_;
  bool may_modify_ = false;  // op_mod modify of SET_FLOW_TABLE_ENTRY
  std::function<std::uint32_t()> active_;
};

}  // namespace portcullis::steering
