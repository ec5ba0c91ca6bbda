// SPDX-License-Identifier: BSD-3-Clause
#include "steering/self_test.hpp"

#include "steering/loopback_pair.hpp"

namespace portcullis::steering {
namespace {

constexpr std::uint64_t kFirst = 0x706f727463756c01;  // what each WRITE leaves in the word
constexpr std::uint64_t kSecond = 0x706f727463756c02;

}  // namespace

std::string describe(const SelfTestVerdict& verdict) {
  if (!verdict.stops_new) return "unverified: a WRITE over loopback passed the entry";
  if (!verdict.recovers) return "unverified: nothing passed once the entry was gone either";
  return verdict.stops_running ? "verified: stops new and running connections"
                               : "verified: stops new connections, not running ones";
}

Result<Trial> try_write(LoopbackPair& pair, const Stop& stop, std::uint64_t value,
                        const SelfTestOptions& options) {
  const auto is_silent = [&]() -> Result<bool> {
    PORTCULLIS_TRY(pair.post(value));
    PORTCULLIS_TRY_ASSIGN(const auto early, pair.outcome(options.quiet_ms * kNsPerMs));
    if (!early) return pair.word() != value;
    if (*early == prm::WcStatus::SUCCESS) return false;
    return fail(Errc::DeviceFailed,
                "a WRITE over loopback ended with " + std::string(prm::name(*early)));
  };
  // What put() failed half way through goes the same way.
  const Result<bool> silent = stop.put().and_then(is_silent);
  const Result<void> taken = stop.take();
  if (!silent) return tl::unexpected(silent.error());
  PORTCULLIS_TRY(taken);
  if (!*silent) return Trial{};
  PORTCULLIS_TRY_ASSIGN(const auto late, pair.outcome(options.patience_ms * kNsPerMs));
  return Trial{true, late == prm::WcStatus::SUCCESS && pair.word() == value};
}

Result<SelfTestVerdict> self_test(const pmd::Context& context, DropGroup& group,
                                  const SelfTestOptions& options) {
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(context, options.loopback));
  const auto deadline_ns = [&context] { return context.commands->default_deadline_ns(); };
  const DropTarget target = pair->target(options.index);
  const Stop entry{[&] { return group.set(target, prm::FlowAction::DROP, deadline_ns()); },
                   [&] { return group.remove(target.slot, deadline_ns()); }};
  PORTCULLIS_TRY_ASSIGN(const Trial fresh, try_write(*pair, entry, kFirst, options));
  SelfTestVerdict verdict{.stops_new = fresh.silenced, .recovers = fresh.recovered};
  if (!verdict.verified()) return verdict;
  PORTCULLIS_TRY_ASSIGN(const Trial running, try_write(*pair, entry, kSecond, options));
  verdict.stops_running = running.silenced;
  verdict.recovers = !running.silenced || running.recovered;
  return verdict;
}

}  // namespace portcullis::steering
