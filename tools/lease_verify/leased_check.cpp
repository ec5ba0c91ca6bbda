// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/leased_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "client/advice.hpp"
#include "program/output_file.hpp"
#include "tools/lease_words.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using Json = nlohmann::ordered_json;
using service::exchange::Grant;

constexpr std::uint64_t kContractNs = kNsPerSecond;
/// How long the word of the end may be behind the queue pair's. A second is the contract's; on top
/// of it comes what a busy host takes to run this side's thread.
constexpr std::uint64_t kWordMs = 5'000;
constexpr std::uint32_t kAdviceMs = 2'000;

double ms(std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

/// `later` may be the earlier one by a little, where two threads looked at the clock.
std::string since(std::uint64_t earlier, std::uint64_t later) {
  return fmt::format("{:.3f} ms", later >= earlier ? ms(later - earlier) : -ms(earlier - later));
}

std::string_view opcode_of(Op op) noexcept {
  switch (op) {
    case Op::Write:
      return "IBV_WR_RDMA_WRITE";
    case Op::Read:
      return "IBV_WR_RDMA_READ";
    case Op::FetchAdd:
      return "IBV_WR_ATOMIC_FETCH_AND_ADD";
    case Op::CompareSwap:
      return "IBV_WR_ATOMIC_CMP_AND_SWP";
  }
  return "?";
}

std::string how_text(const wire::RevokeAnswer& answer) {
  std::string text = outcome_text(answer.outcome, answer.memory, answer.failed_mask);
  if (answer.outcome != wire::Outcome::NotFound)
    text += fmt::format(", ended by {}", wire::name(answer.cause));
  return text;
}

Json how_json(wire::Outcome outcome, wire::Memory memory, wire::Cause cause) {
  return {{"outcome", wire::name(outcome)},
          {"memory", wire::name(memory)},
          {"cause", wire::name(cause)}};
}

/// A revoke that everything is over for: the outcome once more, and what it says of the requests
/// that were under way.
Result<void> ask_for_advice(LeasedLease& lease, const RevokeObservation& seen, Op op,
                            const World& world, Json& told) {
  const auto how = lease.end();
  world.print(fmt::format("{:14} {}", "outcome", how ? how_text(*how) : how.error().text));
  if (!seen.unanswered) {
    world.print(fmt::format("{:14} none is needed: nothing was under way", "advice"));
    return {};
  }
  const wire::RevokeAnswer nothing{.outcome = wire::Outcome::NotFound};
  const std::uint32_t rkey = seen.unanswered->rkey;
  PORTCULLIS_TRY_ASSIGN(auto dump, client::read_dump_of(send_queue(seen, op), rkey));
  PORTCULLIS_TRY_ASSIGN(const std::string advice,
                        client::advise(std::move(dump), rkey, how ? *how : nothing, kAdviceMs));
  told["advice"] = Json::parse(advice);
  for (const Json& one : told["advice"]) {
    const std::string reason = one.value("reason", "");
    world.print(fmt::format("{:14} request {}, {}: {}{}", "advice", one.at("wr_id").dump(),
                            one.at("opcode").get<std::string>(),
                            one.at("advice").get<std::string>(),
                            reason.empty() ? "" : " (" + reason + ")"));
  }
  return {};
}

class LeasedCheck {
 public:
  LeasedCheck(const Options& options, const World& world, Requester& requester, LeasedLease& lease)
      : options_(&options), world_(&world), requester_(&requester), lease_(&lease) {}

  Result<Verdict> run() {
    PORTCULLIS_TRY(requester_->connect(lease_->grant()));
    PORTCULLIS_TRY_ASSIGN(const auto challenge, lease_->meet_challenge(*requester_, world_->stop));
    if (challenge)
      world_->print(fmt::format("{:14} met after {:.3f} ms", "challenge", ms(*challenge)));
    packets_before_ = challenge ? 1 : 0;
    return options_->revoke_test || options_->leased->cooperate ? check_revoke() : check_data();
  }

 private:
  Result<Verdict> check_data() {
    PORTCULLIS_TRY_ASSIGN(const bool is_good,
                          run_data_check(*options_, *world_, *requester_, lease_->grant()));
    const std::uint64_t asked_ns = Clock::wall().now_ns();
    PORTCULLIS_TRY_ASSIGN(const auto how, lease_->end());
    const std::uint64_t took_ns = Clock::wall().now_ns() - asked_ns;
    const bool is_in_time = took_ns <= kContractNs;
    world_->print(fmt::format("{:14} {}, {:.3f} ms after it was given back", "outcome",
                              how_text(how), ms(took_ns)));
    world_->print(fmt::format("{:14} 1 s contract {}", "verdict", is_in_time ? "met" : "NOT met"));
    // Who else ended it did so while it was being checked: whatever was found, it held no more.
    if (!is_good || how.cause != wire::Cause::Holder) return Verdict::Wrong;
    return is_in_time ? Verdict::Good : Verdict::ContractMissed;
  }

  Result<Verdict> check_revoke() {
    const Grant& grant = lease_->grant();
    const Budget budget{grant.timeout, grant.retry};
    LeasedRevoke revoke;
    PORTCULLIS_TRY_ASSIGN(revoke, watch());
    for (const std::string& line : revoke.seen.facts(budget, options_->revoke.op))
      world_->print(line);
    for (const std::string& line : revoke.lines()) world_->print(line);
    Json told = revoke.seen.object(budget, options_->revoke.op);
    revoke.add_to(told);
    PORTCULLIS_TRY(ask_for_advice(*lease_, revoke.seen, options_->revoke.op, *world_, told));
    world_->print(fmt::format("{:14} {}", "verdict", revoke.verdict_text()));
    write_json(options_->json_file, file_text(told));
    return revoke.verdict();
  }

  Result<LeasedRevoke> watch() {
    RevokeTestOptions revoke = options_->revoke;
    revoke.stop = world_->stop;
    revoke.packets_before = packets_before_;
    if (options_->leased->cooperate) revoke.may_post = [this] { return lease_->may_post(); };
    std::unique_ptr<Revoker> revoker;
    if (const auto after_ms = options_->leased->revoke_after_ms) {
      PORTCULLIS_TRY_ASSIGN(revoker, Revoker::start(options_->leased->server, *lease_, *after_ms));
    }
    LeasedRevoke found{
        .seen = {}, .cooperates = options_->leased->cooperate, .ended = {}, .asked = {}};
    PORTCULLIS_TRY_ASSIGN(found.seen, watch_revoke(*requester_, lease_->grant(), revoke));
    // Nobody's revoke was seen: then there is no word to wait for.
    found.ended = lease_->wait_for_end(found.seen.found_ns() ? kWordMs : 0);
    if (revoker) found.asked = revoker->finish();
    return found;
  }

  const Options* options_;
  const World* world_;
  Requester* requester_;
  LeasedLease* lease_;
  std::uint32_t packets_before_ = 0;
};

}  // namespace

std::optional<std::uint64_t> LeasedRevoke::unknown_for_ns() const noexcept {
  const auto found = seen.found_ns();
  if (!found) return std::nullopt;
  if (asked && asked->asked_ns <= *found) return *found - asked->asked_ns;
  return seen.told_after_ns();
}

bool LeasedRevoke::goes_on() const noexcept {
  return (cooperates ? seen.last_post_ns : seen.last_success_post_ns) > ended->at_ns;
}

std::string LeasedRevoke::what_is_wrong() const {
  if (!seen.found_ns()) return "the lease was not revoked in this time";
  if (!ended) return "no word of the lease's end came";
  if (!is_word_of_end())
    return "the server could not be reached, and nobody knows how the lease ended";
  if (asked && asked->answer && asked->answer->outcome == wire::Outcome::NotFound)
    return "the server did not find the lease that it was to revoke";
  if (!goes_on()) return "";
  return cooperates ? "a request was posted behind the word of the end"
                    : "a request that was posted behind the word of the end succeeded";
}

Verdict LeasedRevoke::verdict() const {
  if (!what_is_wrong().empty()) return Verdict::Wrong;
  if (asked && (!asked->answer || asked->answered_ns - asked->asked_ns > kContractNs))
    return Verdict::ContractMissed;
  const std::uint64_t unknown_ns = unknown_for_ns().value_or(0);
  if (unknown_ns > kRegressionBudgetNs) return Verdict::BudgetMissed;
  return unknown_ns > kPropertyNs ? Verdict::PropertyMissed : Verdict::Good;
}

std::string LeasedRevoke::verdict_text() const {
  if (const std::string wrong = what_is_wrong(); !wrong.empty()) return "WRONG: " + wrong;
  const auto met = [](bool is_met) { return is_met ? "met" : "NOT met"; };
  std::string text =
      asked ? fmt::format("1 s contract {}, ",
                          met(asked->answer && asked->answered_ns - asked->asked_ns <= kContractNs))
            : "1 s contract: who asked for the revoke knows, ";
  const auto unknown_ns = unknown_for_ns();
  if (!unknown_ns) return text + "no success before the end to count from";
  return text + fmt::format("sub-second property {}, 2000 ms budget {}: {:.3f} ms from the {}",
                            met(*unknown_ns <= kPropertyNs),
                            met(*unknown_ns <= kRegressionBudgetNs), ms(*unknown_ns),
                            asked && asked->asked_ns <= *seen.found_ns()
                                ? "revoke's being asked for"
                                : "last success");
}

std::vector<std::string> LeasedRevoke::lines() const {
  std::vector<std::string> text;
  if (asked)
    text.push_back(fmt::format(
        "{:14} asked for at {}, {} after {}", "revoke", since(seen.started_ns, asked->asked_ns),
        asked->answer ? how_text(*asked->answer) : asked->answer.error().text,
        since(asked->asked_ns, asked->answered_ns)));
  if (!is_word_of_end()) {
    text.push_back(fmt::format("{:14} {}", "word of it",
                               ended ? "none: the server could not be reached" : "none"));
    return text;
  }
  const wire::EndedNotice& body = ended->how.body;
  text.push_back(fmt::format("{:14} at {}: {} {}, ended by {}", "word of it",
                             since(seen.started_ns, ended->at_ns), wire::name(ended->how.notice),
                             outcome_text(body.outcome, body.memory, body.failed_mask),
                             wire::name(body.cause)));
  text.push_back(fmt::format(
      "{:14} {}", "behind it",
      goes_on() ? what_is_wrong()
                : (cooperates ? "nothing was posted" : "nothing that was posted succeeded")));
  return text;
}

void LeasedRevoke::add_to(Json& object) const {
  object["cooperates"] = cooperates;
  object["last_post_ns"] = seen.last_post_ns;
  object["last_success_post_ns"] = seen.last_success_post_ns;
  if (is_word_of_end()) {
    const wire::EndedNotice& body = ended->how.body;
    object["word"] = how_json(body.outcome, body.memory, body.cause);
    object["word"]["at_ns"] = ended->at_ns;
  }
  if (asked) {
    object["asked_ns"] = asked->asked_ns;
    object["answered_ns"] = asked->answered_ns;
  }
  if (const auto unknown_ns = unknown_for_ns()) object["unknown_for_ns"] = *unknown_ns;
  object["status_of_program"] = static_cast<int>(verdict());
  object["verdict"] = verdict_text();
}

std::string send_queue(const RevokeObservation& seen, Op op) {
  const Unanswered& left = *seen.unanswered;
  auto requests = Json::array();
  for (std::uint64_t i = 0; i < left.requests; ++i) {
    Json one{{"wr_id", i + 1},
             {"opcode", opcode_of(op)},
             {"rkey", left.rkey},
             {"remote_addr", left.remote_addr},
             {"length", sizeof(std::uint64_t)},
             {"qp_num", left.qp_num}};
    if (op == Op::FetchAdd) one["compare_add"] = 1;
    // Behind the failure nobody asked for a completion.
    if (i == 0) one["status"] = prm::name(seen.failure->status);
    requests.push_back(std::move(one));
  }
  const Json region{{"rkey", left.rkey}, {"environment", "quiet"}, {"consumer", "polls"}};
  return Json{{"regions", Json::array({region})}, {"work_requests", std::move(requests)}}.dump();
}

Result<Verdict> run_leased(const Options& options, const World& world) {
  if (!options.json_file.empty())
    PORTCULLIS_TRY(program::named("--json", program::check_output(options.json_file)));
  PORTCULLIS_TRY_ASSIGN(const auto requester, world.open_requester(options));
  world.print(fmt::format("{:14} {}", "client", requester->description()));
  PORTCULLIS_TRY_ASSIGN(const auto lease, LeasedLease::open(*options.leased, requester->request(),
                                                            options.wait_ms, world.stop));
  world.print(lease_line(lease->grant()) + ", " + name_text(lease->id(), lease->epoch()));
  return LeasedCheck(options, world, *requester, *lease).run();
}

}  // namespace portcullis::tools::lease_verify
