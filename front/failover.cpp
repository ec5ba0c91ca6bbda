// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/failover.hpp>

#include <utility>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "failover/explore/chart.hpp"
#include "failover/semantics/label.hpp"
#include "front/one_line.hpp"

namespace portcullis {
namespace {

Advice advice_of(failover::Advice advice) {
  switch (advice) {
    case failover::Advice::Repost:
      return Advice::Repost;
    case failover::Advice::Never:
      return Advice::Never;
    case failover::Advice::OnlyIf:
      return Advice::OnlyIf;
    case failover::Advice::NoAdvice:
      return Advice::NoAdvice;
  }
  return Advice::NoAdvice;
}

std::vector<Condition> conditions_of(const std::vector<failover::Requirement>& all) {
  std::vector<Condition> told;
  for (const failover::Requirement& one : all)
    told.push_back({failover::name_of(one.kind), one.requests});
  return told;
}

std::vector<std::vector<std::string>> names_of(
    const std::vector<std::vector<failover::Proviso>>& lists) {
  std::vector<std::vector<std::string>> told;
  for (const auto& provisos : lists) {
    auto& all = told.emplace_back();
    for (const failover::Proviso proviso : provisos) all.emplace_back(failover::name_of(proviso));
  }
  return told;
}

BufferAdvice advice_of(const failover::BufferAdvice& found) {
  using Found = failover::BufferAdvice::Answer;
  BufferAdvice told;
  if (found.answer == Found::Reuse) told.answer = BufferAdvice::Answer::Reuse;
  if (found.answer == Found::OnlyIf) told.answer = BufferAdvice::Answer::OnlyIf;
  if (found.answer == Found::NoAdvice) told.answer = BufferAdvice::Answer::NoAdvice;
  told.conditions = conditions_of(found.conditions);
  told.one_of = names_of(found.one_of);
  told.reason = one_line(found.reason);
  told.shared_with = found.shared_with;
  if (found.trace) told.counterexample = failover::trace_text(*found.machine, *found.trace);
  return told;
}

RequestAdvice advice_of(const failover::OutstandingRequest& request,
                        const failover::Classification& found) {
  RequestAdvice told;
  told.wr_id = request.wr_id;
  told.opcode = request.opcode ? failover::name_of(*request.opcode) : request.opcode_name;
  told.advice = advice_of(found.advice);
  told.conditions = conditions_of(found.conditions);
  told.one_of = names_of(found.one_of);
  told.reason = one_line(found.reason);
  told.lemma = found.lemma;
  told.states = found.states;
  told.is_by_rule = found.is_by_rule;
  if (found.trace) told.counterexample = failover::trace_text(*found.machine, *found.trace);
  told.buffer = advice_of(found.buffer);
  return told;
}

Result<std::vector<RequestAdvice>> advice_of(
    const std::vector<failover::OutstandingRequest>& requests, failover::Effort effort,
    const std::atomic<bool>* stop) {
  PORTCULLIS_TRY_ASSIGN(const auto found, in_one_line(failover::classify(requests, stop, effort)));
  std::vector<RequestAdvice> advice;
  for (std::size_t i = 0; i < requests.size(); ++i)
    advice.push_back(advice_of(requests[i], found[i]));
  return advice;
}

}  // namespace

struct [[gnu::visibility("hidden")]] Dump::Impl {
  std::vector<failover::OutstandingRequest> requests;
};

Result<Dump> Dump::parse(std::string_view json, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(auto requests, in_one_line(failover::read_dump(json, file)));
  return Dump(std::make_shared<const Impl>(Impl{std::move(requests)}));
}

std::size_t Dump::size() const noexcept { return impl_->requests.size(); }

std::string_view name(Advice advice) noexcept {
  switch (advice) {
    case Advice::Repost:
      return failover::name_of(failover::Advice::Repost);
    case Advice::Never:
      return failover::name_of(failover::Advice::Never);
    case Advice::OnlyIf:
      return failover::name_of(failover::Advice::OnlyIf);
    case Advice::NoAdvice:
      return failover::name_of(failover::Advice::NoAdvice);
  }
  return "?";
}

Result<std::vector<RequestAdvice>> classify(const Dump& dump, const std::atomic<bool>* stop) {
  return advice_of(dump.impl().requests, failover::Effort::Explore, stop);
}

Result<std::vector<RequestAdvice>> classify_by_rules(const Dump& dump) {
  return advice_of(dump.impl().requests, failover::Effort::Rules, nullptr);
}

}  // namespace portcullis
