// SPDX-License-Identifier: BSD-3-Clause
#include "tools/failover_check/commands.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <ostream>
#include <utility>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "failover/explore/chart.hpp"
#include "failover/explore/estimate.hpp"
#include "failover/protocols/policies.hpp"
#include "failover/protocols/table.hpp"
#include "failover/protocols/text.hpp"
#include "failover/report/json_report.hpp"
#include "program/input_file.hpp"
#include "program/output_file.hpp"
#include "tools/failover_check/capture.hpp"
#include "tools/failover_check/verify_log.hpp"

namespace portcullis::tools::failover_check {

using namespace failover;

int refuse(const Streams& io, const Error& error) {
  io.err << "failover-check: " << error.text << '\n';
  return kExitBad;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  return program::write_output(path, text);
}

Result<ExploreOptions> explorer_options(const SearchOptions& search, const Streams& io) {
  ExploreOptions options;
  if (search.set != "exact" && search.set != "fingerprint")
    return fail(Errc::InvalidArgument,
                fmt::format("set is '{}', accepted are exact, fingerprint", search.set));
  constexpr double kMostGb = 1e6;
  const bool is_amount = search.memory_gb >= 0 && search.memory_gb <= kMostGb;  // not for a NaN
  if (!is_amount)
    return fail(Errc::InvalidArgument,
                fmt::format("memory-gb is {}, accepted are 0 (all there is) to {:.0f}",
                            search.memory_gb, kMostGb));
  options.set = search.set == "exact" ? SetKind::Exact : SetKind::Fingerprint;
  options.uses_symmetry = search.uses_symmetry;
  options.threads = search.threads;
  options.seed = search.seed;
  const std::uint64_t available = available_memory_bytes();
  if (search.memory_gb > 0)
    options.memory_limit_bytes = static_cast<std::uint64_t>(search.memory_gb * 1e9);
  else if (available > 0)  // where it cannot be read the kernel will say when there is no more
    options.memory_limit_bytes = available / 10 * 9;
  options.leave_bytes = available / 20;  // others may grow meanwhile
  options.stop = &io.stop;
  options.progress = [&io, printed = 0.0](const Progress& p) mutable {
    constexpr double kOften = 10;  // seconds: each second until then, every tenth from then on
    if (p.seconds > kOften && p.seconds - printed < kOften) return;
    printed = p.seconds;
    io.err << fmt::format(
                  "  {:.0f} s: {:.2f} million states, {:.2f} million waiting, depth {}, "
                  "{:.0f} MB\n",
                  p.seconds, static_cast<double>(p.states) / 1e6,
                  static_cast<double>(p.frontier) / 1e6, p.depth,
                  static_cast<double>(p.bytes) / 1e6)
           << std::flush;
  };
  return options;
}

Result<std::string> read_file(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 32U;
  return program::read_input(path == "-" ? "/dev/stdin" : path, kMostBytes);
}

namespace {

/// A chart beside the table, when a folder was given.
Result<void> draw(const ListCommand& command, const std::string& name, const Machine& machine,
                  const Trace& trace) {
  if (command.svg_dir.empty()) return {};
  return write_file(command.svg_dir + "/" + name + ".svg", trace_svg(machine, trace, name));
}

Result<void> draw_protocol(const ListCommand& command, const ProtocolVerdict& row) {
  if (command.svg_dir.empty() || row.judged.verdict() != Verdict::Refuted) return {};
  const auto trace = shortest_violation(*row.machine, false, ~std::uint64_t{0});
  if (!trace) return {};
  return draw(command, fmt::format("{}-{}", row.model.name, name_of(row.parameters.environment)),
              *row.machine, *trace);
}

std::string protocols_heading(const Parameters& parameters) {
  return fmt::format(
      "late {}, duplicates {}, timeouts {}, deaths {}\n"
      "{:<21} {:<14} {:<8} {:<23} {:>5} {:>9} {:>7}\n",
      parameters.limits.late, parameters.limits.duplicates, parameters.limits.timeouts,
      parameters.limits.deaths, "protocol", "environment", "verdict", "what breaks", "depth",
      "states", "cut");
}

std::string protocol_line(const ProtocolVerdict& row) {
  const Exploration& e = row.judged.explored;
  const bool is_whole = e.ending == Ending::Complete;
  const std::string note = is_whole && !row.judged.progress ? " progress not looked at" : "";
  return fmt::format("{:<21} {:<14} {:<8} {:<23} {:>5} {:>9} {:>7}{}", row.model.name,
                     name_of(row.parameters.environment), name_of(row.judged.verdict()),
                     is_whole ? "" : name_of(e.violation), e.depth, e.states,
                     is_whole ? fmt::format("{}", e.cut) : "-", note);
}

std::string bits_text(std::uint64_t policy, unsigned decisions) {
  std::string text;
  for (unsigned decision = 0; decision < decisions; ++decision)
    text += (policy >> decision & 1U) != 0 ? 'R' : '-';
  return text;
}

Result<bool> print_policies(const ListCommand& command, const PolicyModel& model,
                            nlohmann::ordered_json& json, const Streams& io) {
  PORTCULLIS_TRY_ASSIGN(const PolicyRun run, refute_all_policies(model.name));
  if (!command.search.is_json)
    io.out << fmt::format("{}: views: {}; {} tables, {}\n", model.name, model.views,
                          run.verdicts.size(),
                          run.all_refuted() ? "all refuted" : "NOT all refuted");
  for (const PolicyVerdict& verdict : run.verdicts) {
    const std::string table = bits_text(verdict.policy, run.decisions);
    PORTCULLIS_TRY(
        draw(command, fmt::format("{}-{}", model.name, table), run.machine, verdict.trace));
    if (command.search.is_json) {
      json.push_back({{"model", model.name},
                      {"views", model.views},
                      {"table", table},
                      {"verdict", verdict.violation == Violation::None ? "safe" : "refuted"},
                      {"violation", name_of(verdict.violation)},
                      {"depth", verdict.trace.steps.size()},
                      {"states", verdict.states},
                      {"trace", to_json(run.machine, verdict.trace)}});
    } else {
      io.out << fmt::format(" table {}:\n{}", table, trace_text(run.machine, verdict.trace));
    }
  }
  return run.all_refuted();
}

std::string provisos_text(const std::vector<std::vector<Proviso>>& one_of) {
  std::string text;
  for (const auto& provisos : one_of) {
    text += text.empty() ? " " : ", or ";
    for (std::size_t i = 0; i < provisos.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : " and ", name_of(provisos[i]));
  }
  return text;
}

std::string conditions_text(const std::vector<Requirement>& conditions) {
  std::string text;
  for (const Requirement& condition : conditions) {
    text +=
        fmt::format("{}{}", text.empty() ? "  takes for granted: " : ", ", name_of(condition.kind));
    for (const std::size_t request : condition.requests)
      text += fmt::format(" work_requests[{}]", request);
  }
  return text.empty() ? text : text + "\n";
}

void print_advice(const OutstandingRequest& request, const Classification& c, const Streams& io) {
  io.out << fmt::format(
      "wr_id {} ({}, line {}): {}{}\n  {}{}\n{}", request.wr_id, name_of_request(request),
      request.line, name_of(c.advice), provisos_text(c.one_of), c.reason,
      c.lemma.empty() ? "" : fmt::format(" [{}]", c.lemma), conditions_text(c.conditions));
  if (c.trace) io.out << "  what a repost can do:\n" << trace_text(*c.machine, *c.trace);
  const BufferAdvice& buffer = c.buffer;
  if (buffer.answer == BufferAdvice::Answer::None) return;
  io.out << fmt::format("  its buffer: {}{}\n  {}\n{}", name_of(buffer.answer),
                        provisos_text(buffer.one_of), buffer.reason,
                        conditions_text(buffer.conditions));
  if (buffer.trace)
    io.out << "  what a reuse of it can do:\n" << trace_text(*buffer.machine, *buffer.trace);
}

}  // namespace

namespace {

Result<void> write_texts(const ListCommand& command, const Streams& io) {
  for (const ModelInfo& model : models()) {
    ProtocolText text{
        std::string(model.name), std::string(model.idea), std::string(model.assumption), {}};
    Parameters parameters = raised_to_model(model, command.search.parameters);
    for (const Environment environment :
         {Environment::Quiet, Environment::Reuse, Environment::OtherWriters, Environment::Aba}) {
      parameters.environment = environment;
      PORTCULLIS_TRY_ASSIGN(Scenario scenario, make_model(model.name, parameters));
      text.environments.push_back({name_of(environment), std::move(scenario)});
    }
    const std::string path = fmt::format("{}/{}.json", command.texts_dir, model.name);
    PORTCULLIS_TRY(write_file(path, write_protocol(text)));
    io.out << path << '\n';
  }
  return {};
}

}  // namespace

int run_protocols(const ListCommand& command, const Streams& io) {
  if (!command.texts_dir.empty()) {
    const auto written = write_texts(command, io);
    return written ? kExitFine : refuse(io, written.error());
  }
  const auto options = explorer_options(command.search, io);
  if (!options) return refuse(io, options.error());
  auto json = nlohmann::ordered_json::array();
  bool is_first = true;
  Result<void> drawn;
  const auto each = [&](const ProtocolVerdict& row) {
    if (drawn) drawn = draw_protocol(command, row);
    if (!command.search.is_json) {
      if (std::exchange(is_first, false)) io.out << protocols_heading(command.search.parameters);
      io.out << protocol_line(row) << '\n' << std::flush;
      return;
    }
    auto object = failover::to_json(row.machine->scenario, name_of(row.parameters.environment));
    object["assumption"] = row.model.assumption;
    add_judged(object, row.machine->scenario, row.judged);
    json.push_back(std::move(object));
  };
  const auto rows = protocol_table(command.search.parameters, *options, each);
  if (!rows) return refuse(io, rows.error());
  if (!drawn) return refuse(io, drawn.error());
  if (command.search.is_json)
    io.out << json.dump(2) << '\n';
  else
    io.out << "cut: end states in which a client has no timeout left; what it would do next is "
              "not looked at, --timeouts shows more\n";
  const bool is_whole = rows->size() == models().size() * 4;
  if (!is_whole) io.err << "failover-check: stopped before the table was complete\n";
  return is_whole ? kExitFine : kExitStopped;
}

int run_policies(const ListCommand& command, const Streams& io) {
  std::vector<PolicyModel> wanted;
  for (const PolicyModel& model : policy_models())
    if (command.model.empty() || model.name == command.model) wanted.push_back(model);
  if (wanted.empty()) return refuse(io, refute_all_policies(command.model).error());
  auto json = nlohmann::ordered_json::array();
  bool all_refuted = true;
  for (const PolicyModel& model : wanted) {
    if (io.stop) {
      io.err << "failover-check: stopped before all models were explored\n";
      return kExitStopped;
    }
    const auto refuted = print_policies(command, model, json, io);
    if (!refuted) return refuse(io, refuted.error());
    all_refuted = all_refuted && *refuted;
  }
  if (command.search.is_json) io.out << json.dump(2) << '\n';
  return all_refuted ? kExitFine : kExitRefuted;
}

namespace {

Result<void> check_words(const ImportCommand& command) {
  if (!command.captured_at.empty() && command.captured_at != "sender" &&
      command.captured_at != "elsewhere")
    return fail(
        Errc::InvalidArgument,
        fmt::format("captured-at is '{}', accepted are sender, elsewhere", command.captured_at));
  if (command.consumer != "polls" && command.consumer != "notified")
    return fail(Errc::InvalidArgument,
                fmt::format("consumer is '{}', accepted are polls, notified", command.consumer));
  PORTCULLIS_TRY(environment_named(command.environment));
  return {};
}

Result<Capture> imported(const ImportCommand& command) {
  PORTCULLIS_TRY(check_words(command));
  PORTCULLIS_TRY_ASSIGN(const std::string bytes, read_file(command.path));
  const std::string file = command.path == "-" ? "standard input" : command.path;
  if (!is_log(bytes)) {
    if (command.captured_at.empty())
      return fail(
          Errc::InvalidArgument,
          fmt::format("{}: a capture needs --captured-at, accepted are sender, elsewhere", file));
    return read_capture(bytes, file, command.captured_at == "sender", command.sender);
  }
  if (!command.captured_at.empty() || !command.sender.empty())
    return fail(Errc::InvalidArgument,
                fmt::format("{}: a log was not captured; it is accepted without {}", file,
                            command.captured_at.empty() ? "--sender" : "--captured-at"));
  return read_verify_log(bytes, file);
}

void tell_of_import(const Capture& capture, bool is_capture, const Streams& io) {
  io.err << fmt::format(
      "failover-check: {} requests from the first outstanding one on; {} completed before are left "
      "out",
      capture.requests.size(), capture.answered_before);
  if (is_capture)
    io.err << fmt::format(
        "; {} request packets are another's; {} frames are no RoCEv2 of a reliable connection",
        capture.of_others, capture.other_frames);
  io.err << '\n';
  if (capture.unseen_before > 0)
    io.err << fmt::format(
        "failover-check: {} gaps between their PSNs, answered too; what was sent there is not "
        "captured\n",
        capture.unseen_before);
  if (capture.again_after_answer > 0)
    io.err << fmt::format(
        "failover-check: {} packets, the first in frame {}, are as what was answered here before, "
        "and taken for sent again; if a connection began anew with them, its requests are not in "
        "the dump\n",
        capture.again_after_answer, capture.first_again);
  if (capture.dropped > 0)
    io.err << fmt::format(
        "failover-check: {} frames were dropped while this was captured, says the file; a request "
        "among them that no later one of its QP follows is not in the dump\n",
        capture.dropped);
  for (const Renumbered& one : capture.renumbered)
    io.err << fmt::format(
        "failover-check: QP {} of {} is {} in the dump, its own number is taken\n", one.qpn,
        one.responder, one.qp_num);
}

}  // namespace

int run_import(const ImportCommand& command, const Streams& io) {
  const auto capture = imported(command);
  if (!capture) return refuse(io, capture.error());
  io.out << dump_of(*capture, {command.environment, command.consumer, command.is_fenced});
  tell_of_import(*capture, !command.captured_at.empty(), io);
  return kExitFine;
}

int run_classify(const ListCommand& command, const Streams& io) {
  const auto text = read_file(command.path);
  if (!text) return refuse(io, text.error());
  const auto dump = read_dump(*text, command.path == "-" ? "standard input" : command.path);
  if (!dump) return refuse(io, dump.error());
  const auto advice =
      classify(*dump, &io.stop, command.uses_rules ? Effort::Rules : Effort::Explore);
  if (!advice) return refuse(io, advice.error());
  if (io.stop) {  // what was not reached would read as no-advice
    io.err << "failover-check: stopped before all requests were explored; no advice is printed\n";
    return kExitStopped;
  }
  auto json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < dump->size(); ++i) {
    const OutstandingRequest& request = (*dump)[i];
    const Classification& c = (*advice)[i];
    // By its place in the dump: nothing keeps two requests from having one wr_id.
    const std::string name = fmt::format("request-{}-wr-{}", i, request.wr_id);
    Result<void> drawn;
    if (c.trace) drawn = draw(command, name, *c.machine, *c.trace);
    if (drawn && c.buffer.trace)
      drawn = draw(command, name + "-buffer", *c.buffer.machine, *c.buffer.trace);
    if (!drawn) return refuse(io, drawn.error());
    if (command.search.is_json)
      json.push_back(to_json(request, c));
    else
      print_advice(request, c, io);
  }
  if (command.search.is_json) io.out << json.dump(2) << '\n';
  return kExitFine;
}

}  // namespace portcullis::tools::failover_check
