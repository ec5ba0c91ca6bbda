// SPDX-License-Identifier: BSD-3-Clause
#include "steering/self_test.hpp"

#include "steering/loopback_pair.hpp"

namespace portcullis::steering {
namespace {

constexpr std::uint64_t kFirst = 0x706f727463756c01;  // what each WRITE leaves in the word
constexpr std::uint64_t kSecond = 0x706f727463756c02;

/// Puts an entry in, posts `value`, listens, takes the entry out, listens again.
class Trial {
 public:
  Trial(const pmd::Context& context, DropGroup& group, LoopbackPair& pair,
        const SelfTestOptions& options) noexcept
      : context_(&context), group_(&group), pair_(&pair), options_(&options) {}

  /// Whether the entry silenced the WRITE.
  [[nodiscard]] Result<bool> run(std::uint64_t value) {
    const DropTarget target = pair_->target(options_->index);
    PORTCULLIS_TRY(group_->set(target, prm::FlowAction::DROP, deadline_ns()));
    const Result<bool> silent = is_silent(value);
    const Result<void> removed = group_->remove(target.slot, deadline_ns());
    if (!silent) return silent;
    PORTCULLIS_TRY(removed);
    if (!*silent) return false;
    PORTCULLIS_TRY_ASSIGN(const auto late, pair_->outcome(options_->patience_ms * kNsPerMs));
    recovered_ = late == prm::WcStatus::SUCCESS && pair_->word() == value;
    return true;
  }
  [[nodiscard]] bool recovered() const noexcept { return recovered_; }

 private:
  [[nodiscard]] Result<bool> is_silent(std::uint64_t value) {
    PORTCULLIS_TRY(pair_->post(value));
    PORTCULLIS_TRY_ASSIGN(const auto early, pair_->outcome(options_->quiet_ms * kNsPerMs));
    if (!early) return pair_->word() != value;
    if (*early == prm::WcStatus::SUCCESS) return false;
    return fail(Errc::DeviceFailed, "steering self-test: the WRITE over loopback ended with " +
                                        std::string(prm::name(*early)));
  }
  [[nodiscard]] std::uint64_t deadline_ns() const {
    return context_->commands->default_deadline_ns();
  }

  const pmd::Context* context_;
  DropGroup* group_;
  LoopbackPair* pair_;
  const SelfTestOptions* options_;
  bool recovered_ = false;
};

}  // namespace

std::string describe(const SelfTestVerdict& verdict) {
  if (!verdict.stops_new) return "unverified: a WRITE over loopback passed the entry";
  if (!verdict.recovers) return "unverified: nothing passed once the entry was gone either";
  return verdict.stops_running ? "verified: stops new and running connections"
                               : "verified: stops new connections, not running ones";
}

Result<SelfTestVerdict> self_test(const pmd::Context& context, DropGroup& group,
                                  const SelfTestOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(context, options.loopback));
  SelfTestVerdict verdict;
  Trial fresh(context, group, *pair, options);
  PORTCULLIS_TRY_ASSIGN(verdict.stops_new, fresh.run(kFirst));
  verdict.recovers = fresh.recovered();
  if (!verdict.verified()) return verdict;
  Trial running(context, group, *pair, options);
  PORTCULLIS_TRY_ASSIGN(verdict.stops_running, running.run(kSecond));
  verdict.recovers = !verdict.stops_running || running.recovered();
  return verdict;
}

}  // namespace portcullis::steering
