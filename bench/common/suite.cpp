// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "base/json.hpp"
#include "bench/common/context.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/common/open_session.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::bench {
namespace {

constexpr std::uint64_t kVirtualRuns = 3;  // one would do; three show that it is one value

/// A way to run the series: which device, on which clock.
struct Execution {
  attach::DeviceSpec device;
  std::string clock;  // "virtual", "wall", or "process"
  [[nodiscard]] bool is_virtual() const { return clock == "virtual"; }
};

Result<std::vector<Execution>> executions_of(const Suite& suite, const Options& options) {
  const std::string& text = options.device;
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device(text));
  const auto* asked = std::get_if<model::Options>(&spec.kind);
  const bool is_chosen = text.find("execution=") != std::string::npos;
  const auto with = [&](model::Execution execution, const char* clock) {
    model::Options options = *asked;
    options.execution = execution;
    return Execution{attach::DeviceSpec{options}, clock};
  };
  if (suite.timebase == Timebase::Process) {
    if (asked == nullptr || asked->execution == model::Execution::Polled)
      return fail(Errc::InvalidArgument, "--device " + text +
                                             ": this program measures the stepped model; "
                                             "model[,..] without execution=polled is accepted");
    return std::vector{with(model::Execution::Stepped, "process")};
  }
  if (asked == nullptr) return std::vector{Execution{spec, "wall"}};
  // A sweep waits for more than a budget of 8 s a run: on the wall clock only when asked for.
  if (is_chosen ? asked->execution == model::Execution::Stepped : options.is_sweep)
    return std::vector{with(model::Execution::Stepped, "virtual")};
  if (is_chosen) return std::vector{with(model::Execution::Polled, "wall")};
  return std::vector{with(model::Execution::Stepped, "virtual"),
                     with(model::Execution::Polled, "wall")};
}

std::string clocks_of(const std::vector<Execution>& executions) {
  if (executions.size() > 1) return "virtual and wall, in the name of each series";
  if (executions.front().clock == "process") return "wall, of this process";
  return executions.front().clock;
}

/// Takes the samples of one series on one execution, in Google Benchmark's loop.
class Runner {
 public:
  Runner(SeriesPlan plan, Execution execution, Report& report)
      : plan_(std::move(plan)), execution_(std::move(execution)), report_(&report) {}

  [[nodiscard]] std::string name() const {
    return fmt::format("{}/clock:{}", plan_.name, execution_.clock);
  }
  [[nodiscard]] std::uint64_t runs() const {
    return execution_.is_virtual() ? kVirtualRuns : plan_.wall_samples;
  }

  void operator()(benchmark::State& state) const {
    Series series{name(), picture(), execution_.is_virtual(), {}};
    std::unique_ptr<proof::Session> session;
    Sampler sampler;
    for ([[maybe_unused]] auto _ : state) {
      const auto time = sample(session, sampler);
      if (!time) {
        give_up(state, time.error());
        return;
      }
      state.SetIterationTime(static_cast<double>(time->value_or(0)) / 1e9);
      if (*time) series.latency.record(**time);
    }
    set_counters(state, series.latency);
    if (plan_.annotate) plan_.annotate(state);
    report_->add(series);
  }

 private:
  [[nodiscard]] std::string picture() const {
    return fmt::format("{}{}{} clock", plan_.picture, plan_.picture.empty() ? "" : ", ",
                       execution_.clock);
  }

  [[nodiscard]] attach::DeviceSpec device() const {
    attach::DeviceSpec spec = execution_.device;
    auto* emulated = std::get_if<model::Options>(&spec.kind);
    if (emulated != nullptr && !plan_.model_behaviour.empty())
      emulated->behaviours.push_back(plan_.model_behaviour);
    return spec;
  }

  /// On the virtual clock every run starts from nothing, so that it is the same run.
  Result<std::optional<std::uint64_t>> sample(std::unique_ptr<proof::Session>& session,
                                              Sampler& sampler) const {
    PORTCULLIS_TRY(check_not_interrupted());
    if (execution_.is_virtual() || !sampler) {
      sampler = nullptr;
      session.reset();
      PORTCULLIS_TRY_ASSIGN(session, open_session(device()));
      PORTCULLIS_TRY_ASSIGN(sampler, plan_.prepare(*session));
    }
    return sampler();
  }

  /// One series that cannot be measured ends none of the others.
  void give_up(benchmark::State& state, const Error& error) const {
    state.SkipWithError(error.text.c_str());
    if (plan_.give_up) plan_.give_up(name(), error);
    report_->add_failure({name(), error.text});
  }

  SeriesPlan plan_;
  Execution execution_;
  Report* report_;
};

std::string json_path(const Options& options, const ProgramInfo& info) {
  return fmt::format("{}/{}.json", options.out_dir, info.name);
}

/// Google Benchmark does not notice a file that it cannot fill.
Result<void> check_whole(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  if (auto parsed = parse_json(text.str(), path); !parsed)
    return fail(Errc::System, parsed.error().text + "; the file is not whole: is the disk full?");
  return {};
}

/// Hands Google Benchmark its own arguments, with defaults that the user's, behind, override.
Result<void> start_benchmark(const CommandLine& line, const ProgramInfo& info) {
  // Google Benchmark keeps argv[0] for its own output.
  static std::vector<std::string> arguments;
  arguments = {info.name, "--benchmark_counters_tabular=true"};
  if (!line.options.out_dir.empty()) {
    const std::string path = json_path(line.options, info);
    PORTCULLIS_TRY(make_directory(line.options.out_dir));
    // Google Benchmark would write through a link, and ends the program where it cannot open it.
    PORTCULLIS_TRY(trace::open_recording(path));
    arguments.push_back("--benchmark_out=" + path);
    arguments.emplace_back("--benchmark_out_format=json");
  }
  arguments.insert(arguments.end(), line.benchmark.begin(), line.benchmark.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, pointers.data());
  if (count > 1)
    return fail(Errc::InvalidArgument,
                fmt::format("{}: Google Benchmark does not know it; --benchmark_help lists what it "
                            "accepts",
                            pointers[1]));
  return {};
}

Result<void> write_report(const Report& report, const Suite& suite, const Options& options,
                          const RunContext& context) {
  if (options.out_dir.empty()) return {};
  PORTCULLIS_TRY_ASSIGN(const auto files, report.write(options.out_dir, suite.info.name,
                                                       suite.title, subtitle_of(context)));
  fmt::print("{} files written to {}\n", files.size(), options.out_dir);
  return check_whole(json_path(options, suite.info));
}

void register_series(const Suite& suite, const Options& options,
                     const std::vector<Execution>& executions, Report& report) {
  for (const SeriesPlan& series : suite.series(options))
    for (const Execution& execution : executions) {
      if (series.needs_wall_clock && execution.is_virtual()) continue;
      const Runner runner(series, execution, report);
      benchmark::RegisterBenchmark(runner.name().c_str(), runner)
          ->UseManualTime()
          ->Iterations(static_cast<benchmark::IterationCount>(runner.runs()));
    }
}

/// What is said and written at the end, of the series that have a result.
Result<void> finish(const Suite& suite, const Options& options, const RunContext& context,
                    const Report& report) {
  fmt::print("\n{}\n{}", subtitle_of(context), report.table());
  auto concluded = suite.conclude ? suite.conclude(report) : Result<void>();
  auto written = write_report(report, suite, options, context);
  PORTCULLIS_TRY(concluded);
  return written;
}

/// Names what has no result; the exit status.
int name_failures(const Suite& suite, const Report& report) {
  std::fflush(stdout);
  std::size_t interrupted = 0;
  for (const NotMeasured& failure : report.failures()) {
    if (failure.reason == kInterrupted)
      ++interrupted;
    else
      fmt::print(stderr, "{}: not measured: {}: {}\n", suite.info.name, failure.name,
                 failure.reason);
  }
  if (is_interrupted())
    fmt::print(stderr, "{}: interrupted; {} series not measured\n", suite.info.name, interrupted);
  if (is_interrupted()) return program::kInterruptedStatus;
  if (report.failures().empty()) return 0;
  return report.series().empty() ? kNothingMeasuredStatus : kSomeNotMeasuredStatus;
}

Result<int> run(const CommandLine& line, const Suite& suite) {
  const Options& options = line.options;
  PORTCULLIS_TRY_ASSIGN(const auto executions, executions_of(suite, options));
  const attach::DeviceSpec& spec = executions.front().device;
  // What is wrong with the card is told before the EAL can stumble over it.
  PORTCULLIS_TRY_ASSIGN(const auto eal, spec.start_eal(line.eal));
  const std::vector<std::string> findings = find_lcore_faults(spec);
  for (const std::string& finding : findings)
    fmt::print(stderr, "{}: {}\n", suite.info.name, finding);

  RunContext context;
  {  // a device that cannot be had is refused before anything runs
    PORTCULLIS_TRY_ASSIGN(const auto session, open_session(spec));
    context = describe_run(options, spec, *session, clocks_of(executions), findings);
  }
  PORTCULLIS_TRY(start_benchmark(line, suite.info));
  for (const auto& [key, value] : context) benchmark::AddCustomContext(key, value);

  Report report;
  for (const ReferenceLine& reference : suite.references) report.add_reference(reference);
  register_series(suite, options, executions, report);
  heed_interrupts();
  if (benchmark::RunSpecifiedBenchmarks() == 0)
    return fail(Errc::InvalidArgument, "--benchmark_filter: no series has such a name");
  const auto finished = finish(suite, options, context, report);
  const int status = name_failures(suite, report);
  PORTCULLIS_TRY(finished);
  return status;
}

int run_caught(int argc, char** argv, const Suite& suite) {
  auto line = parse_command_line(suite.info, argc, argv);
  if (line && line->text) {
    fmt::print("{}", *line->text);
    return 0;
  }
  const Result<int> done = line ? run(*line, suite) : Result<int>(forward_error(std::move(line)));
  if (done) return *done;
  std::fflush(stdout);
  fmt::print(stderr, "{}: {}\n", suite.info.name, done.error().text);
  return kNothingMeasuredStatus;
}

}  // namespace

int run_suite(int argc, char** argv, const Suite& suite) {
  return program::run_main(suite.info.name, [&] { return run_caught(argc, argv, suite); });
}

}  // namespace portcullis::bench
