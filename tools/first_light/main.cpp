// SPDX-License-Identifier: BSD-3-Clause
//
// first-light: everything that is asked of a card on which nobody has run this driver, and what
// that says of each hypothesis.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attach/open_device.hpp"
#include "light/compare.hpp"
#include "light/steps.hpp"
#include "pmd/eal.hpp"
#include "program/input_file.hpp"
#include "program/log_line.hpp"
#include "program/output_file.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"
#include "tools/first_light/at_command.hpp"
#include "tools/first_light/keeping.hpp"
#include "tools/first_light/options.hpp"
#include "tools/first_light/page.hpp"
#include "tools/first_light/report.hpp"
#include "trace/bundle.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::tools::first_light;

std::atomic<bool> stop_asked{false};

/// Of "model,profile=FILE"; empty for what has none.
std::string profile_in(const std::string& device) {
  constexpr std::string_view kProfile = ",profile=";
  const std::size_t at = device.find(kProfile);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kProfile.size();
  return device.substr(begin, device.find(',', begin) - begin);
}

/// What cannot be written at the end, or is read, is refused before the work.
Result<void> check_files(const Options& options) {
  std::vector<std::string> inputs = options.bundles;
  inputs.push_back(options.dmesg);
  inputs.push_back(profile_in(options.device));
  PORTCULLIS_TRY(
      program::check_outputs({{"--bundle", options.bundle}, {"--html", options.html}}, inputs));
  for (const std::string* const path : {&options.bundle, &options.html})
    if (!path->empty()) PORTCULLIS_TRY(program::check_output(*path));
  return {};
}

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

/// How many bytes.
Result<std::size_t> write_bundle(const std::string& path, const light::Facts& facts,
                                 const Keeping& keeping) {
  PORTCULLIS_TRY_ASSIGN(const std::string bytes, trace::pack(keeping.bundle(facts)));
  PORTCULLIS_TRY(program::write_output(path, bytes));
  return bytes.size();
}

/// Each is tried, whatever becomes of the other; what was found has been printed by then. False: an
/// error was told for one.
bool write_files(const Options& options, const light::Facts& facts, const Keeping& keeping) {
  std::string wrong;
  if (!options.bundle.empty()) {
    const auto bytes = write_bundle(options.bundle, facts, keeping);
    if (bytes)
      print(fmt::format("bundle: {} ({} bytes{}{})\n", options.bundle, *bytes,
                        options.keeps_identities ? ", with MACs, GIDs and keys" : "",
                        keeping.has_crash_dump() ? ", with a crash dump" : ""));
    else
      wrong += fmt::format("first-light: {}\n", bytes.error().text);
  }
  if (!options.html.empty())
    if (const auto page = program::write_output(options.html, page_of(facts)); !page)
      wrong += fmt::format("first-light: {}\n", page.error().text);
  fmt::print(stderr, "{}", wrong);
  return wrong.empty();
}

/// Before each step, so that a run that is killed leaves what it found and where it ended. A disk
/// that is full by then is told once, when there is still time to make room: the last time counts.
/// A pipe and a terminal take one bundle, the last.
class KeepingSoFar {
 public:
  explicit KeepingSoFar(const std::string& path) : path_(&path) {
    std::error_code unknown;
    const auto type = std::filesystem::symlink_status(path, unknown).type();
    takes_many_ = !path.empty() && (type == std::filesystem::file_type::not_found ||
                                    type == std::filesystem::file_type::regular);
  }
  void keep(const light::Facts& facts, const Keeping& keeping) {
    if (!takes_many_) return;
    const auto written = write_bundle(*path_, facts, keeping);
    if (written || is_told_) return;
    is_told_ = true;
    fmt::print(stderr, "first-light: {}; tried again behind each step\n", written.error().text);
  }

 private:
  const std::string* path_;
  bool takes_many_ = false;
  bool is_told_ = false;
};

Result<int> run(Options& options) {
  PORTCULLIS_TRY(check_files(options));
  PORTCULLIS_TRY_ASSIGN(options.run.device, attach::parse_device(options.device));
  PORTCULLIS_TRY_ASSIGN(const auto eal, options.run.device.start_eal(options.eal));
  program::heed_stop_signals(stop_asked);
  // A device that is not there leaves a bundle of another day as it is.
  PORTCULLIS_TRY(attach::OpenDevice::open(options.run.device));
  Keeping keeping(options.keeps_identities);
  if (!options.dmesg.empty()) {
    PORTCULLIS_TRY_ASSIGN(auto linux_log, BesideLinux::read(options.dmesg, options.device));
    keeping.set_beside(std::move(linux_log));
  }
  options.run.to_user = program::log_to_stderr();
  options.run.log = [&keeping, to_user = options.run.to_user](std::string_view line) {
    keeping.add_line(line);
    to_user(line);
  };
  std::string step_at_work;
  options.run.on_command = [&, at_command = at_command()](const auto& command) {
    if (at_command) at_command(step_at_work);
    keeping.add(command);
    if (step_at_work == light::kBringUpStep) keeping.add_of_bring_up(command);
  };
  options.run.on_fence = [&](const auto& plan, const auto& fence) { keeping.add(plan, fence); };
  if (options.wants_crash_dump)
    options.run.on_crash_dump = [&](const auto& step, const auto& dump) {
      keeping.add(step, dump);
    };
  KeepingSoFar so_far(options.bundle);
  options.run.on_facts = [&](const auto& facts) { so_far.keep(facts, keeping); };
  options.run.is_stopped = [] { return stop_asked.load(); };
  options.run.on_step = [&step_at_work](const light::StepFact& step) {
    step_at_work = step.name;
    if (step.state != "running") print(step_line(step));
  };
  print(fmt::format("first light on {}{}\n\n", options.device,
                    options.run.device.is_emulated() ? ", emulated, not a card" : ""));
  const light::Facts facts = light::run(options.run);
  print("\n" + device_line(facts.device) + "\n\n" + conclusions_text(facts));
  if (!write_files(options, facts, keeping))
    return status_of(facts) == kExitRefuted ? kExitRefuted : kExitNothing;
  if (stop_asked) return program::kInterruptedStatus;
  return status_of(facts);
}

Result<light::Facts> facts_of(const std::string& path) {
  PORTCULLIS_TRY_ASSIGN(const std::string bytes,
                        program::read_input(path, trace::kMostBundleBytes));
  PORTCULLIS_TRY_ASSIGN(const trace::Bundle bundle, trace::unpack(bytes, path));
  const trace::BundleFile* const facts = bundle.find("facts.json");
  if (facts == nullptr)
    return fail(Errc::Malformed, path + ": no bundle of first-light: facts.json is missing");
  return light::facts_from_json(facts->text, path + ": facts.json");
}

Result<int> show(const Options& options) {
  PORTCULLIS_TRY(check_files(options));
  PORTCULLIS_TRY_ASSIGN(const light::Facts facts, facts_of(options.bundles.front()));
  std::string text = device_line(facts.device) + "\n\n";
  for (const light::StepFact& step : facts.steps) text += step_line(step);
  print(text + "\n" + conclusions_text(facts) + figures_text(facts));
  if (!options.html.empty()) PORTCULLIS_TRY(program::write_output(options.html, page_of(facts)));
  return status_of(facts);
}

Result<int> diff(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(const light::Facts a, facts_of(options.bundles[0]));
  PORTCULLIS_TRY_ASSIGN(const light::Facts b, facts_of(options.bundles[1]));
  const auto differences = light::compare(a, b);
  print(sides_text(a.device, b.device));
  print(differences_text(differences, light::command_ratios(a, b)));
  return differences.empty() ? kExitWhole : kExitNotWhole;
}

Result<int> act(Options& options) {
  switch (options.act) {
    case Options::Act::Run:
      return run(options);
    case Options::Act::Show:
      return show(options);
    case Options::Act::Diff:
      return diff(options);
  }
  return kExitNothing;
}

int main_body(int argc, char** argv) {
  auto options = parse_options(argc, argv);
  if (options && !options->text.empty()) {
    print(options->text);
    return 0;
  }
  const auto status = options ? act(*options) : Result<int>(tl::unexpected(options.error()));
  if (status) return *status;
  std::fflush(stdout);
  fmt::print(stderr, "first-light: {}\n", status.error().text);
  return kExitNothing;
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_main(
      "first-light", [&] { return main_body(argc, argv); }, &stop_asked);
}
