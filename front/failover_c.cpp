// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/failover.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "base/json.hpp"
#include "failover/classify/dump.hpp"
#include "failover/explore/deadline.hpp"
#include "failover/protocols/text.hpp"
#include "failover/report/json_report.hpp"

namespace portcullis {
namespace {

/// For portcullis_text_free(); null when there is no memory.
char* copied(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

struct Answer {
  portcullis_status status = PORTCULLIS_DONE;
  std::string text;
};

Result<Answer> classified(const char* dump_json, const portcullis_limits& limits,
                          failover::Effort effort) {
  const failover::Deadline deadline(limits.milliseconds);
  PORTCULLIS_TRY_ASSIGN(const auto dump, failover::read_dump(dump_json, "dump"));
  PORTCULLIS_TRY_ASSIGN(const auto advice, failover::classify(dump, &deadline.flag(), effort));
  const bool is_stopped = deadline.flag();
  auto json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < dump.size(); ++i)
    json.push_back(failover::to_json(dump[i], advice[i]));
  return Answer{is_stopped ? PORTCULLIS_STOPPED : PORTCULLIS_DONE, json.dump(2)};
}

Result<Answer> checked(const char* protocol_json, const char* environment,
                       const portcullis_limits& limits) {
  constexpr std::uint64_t kMemory = 1 << 30;
  const failover::Deadline deadline(limits.milliseconds);
  PORTCULLIS_TRY_ASSIGN(const auto protocol, failover::read_protocol(protocol_json, "protocol"));
  PORTCULLIS_TRY_ASSIGN(auto named, protocol.named(environment == nullptr ? "" : environment));
  PORTCULLIS_TRY_ASSIGN(const auto machine, failover::compile(std::move(named.scenario)));
  failover::ExploreOptions options;
  options.threads = limits.threads == 0 ? 1 : limits.threads;
  options.memory_limit_bytes = limits.memory_bytes == 0 ? kMemory : limits.memory_bytes;
  options.stop = &deadline.flag();
  PORTCULLIS_TRY_ASSIGN(const auto judged, failover::judge_protocol(machine, options));
  auto json = failover::to_json(machine.scenario, named.environment);
  json["threads"] = options.threads;
  failover::add_judged(json, machine.scenario, judged);
  bool is_whole = judged.verdict() != failover::Verdict::Stopped;
  if (judged.explored.ending == failover::Ending::Violated) {
    const auto trace = failover::shortest_violation(
        machine, false, options.memory_limit_bytes / failover::kTraceStateBytes, options.stop);
    if (trace) json["trace"] = failover::to_json(machine, *trace);
    if (!trace)
      json["not_judged"].push_back("trace");  // refuted, by a run that was not sought to its end
    is_whole = trace.has_value();
  } else if (judged.verdict() == failover::Verdict::Hangs && judged.progress) {
    json["trace"] = failover::to_json(machine, judged.progress->hang);
  }
  return Answer{is_whole ? PORTCULLIS_DONE : PORTCULLIS_STOPPED, json.dump(2)};
}

/// No exception passes into C.
template <class Call>
portcullis_status answer(const char* json, const portcullis_limits* limits, char** text,
                         const Call& call) noexcept {
  if (text == nullptr) return PORTCULLIS_REFUSED;
  *text = nullptr;
  try {
    if (json == nullptr) {
      *text = copied("no JSON: a null pointer; a text is accepted");
      return PORTCULLIS_REFUSED;
    }
    const Result<Answer> found = call(limits == nullptr ? portcullis_limits{} : *limits);
    *text = copied(found ? found->text : one_line(found.error().text));
    if (*text == nullptr) return PORTCULLIS_REFUSED;
    return found ? found->status : PORTCULLIS_REFUSED;
  } catch (const std::exception& failure) {
    *text = copied(failure.what());
    return PORTCULLIS_REFUSED;
  }
}

}  // namespace
}  // namespace portcullis

using namespace portcullis;

portcullis_status portcullis_classify(const char* dump_json, const portcullis_limits* limits,
                                      char** text) {
  return answer(dump_json, limits, text, [&](const portcullis_limits& given) {
    return classified(dump_json, given, failover::Effort::Explore);
  });
}

portcullis_status portcullis_classify_by_rules(const char* dump_json, char** text) {
  return answer(dump_json, nullptr, text, [&](const portcullis_limits& given) {
    return classified(dump_json, given, failover::Effort::Rules);
  });
}

portcullis_status portcullis_check(const char* protocol_json, const char* environment,
                                   const portcullis_limits* limits, char** text) {
  return answer(protocol_json, limits, text, [&](const portcullis_limits& given) {
    return checked(protocol_json, environment, given);
  });
}

void portcullis_text_free(char* text) { std::free(text); }
