// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "base/result.hpp"
#include "program/standard_streams.hpp"
#include "program/version.hpp"
#include "trace/compare.hpp"
#include "trace/dmesg_import.hpp"
#include "trace/recording.hpp"
#include "trace/report.hpp"
#include "trace/text.hpp"

namespace portcullis::tools::trace {
namespace {

using portcullis::trace::Comparison;
using portcullis::trace::in_quotes;
using portcullis::trace::Named;
using portcullis::trace::Recording;
using portcullis::trace::Rules;
using Arguments = std::span<const std::string_view>;

constexpr std::string_view kDiffHelp =
    R"(usage: trace-diff [--ignore FIELD].. [--strict] [--json] A B

Compares two recordings of commands, as hca-server --trace, --device=model,trace=FILE and
trace-import write them ("-" is standard input). Commands are aligned by opcode, op_mod and kind of
object; printed are those that only one recording has, and each field that differs.

  --ignore FIELD   differences in FIELD do not count; * stands for any characters, ? for one, and
                   OPCODE:FIELD is for one command. May be given several times:
                     --ignore 'out.capability.*' --ignore 'CREATE_EQ:in.eq_context_entry.intr'
  --strict         without the list of fields that are ignored as a rule: times, slots, addresses,
                   and the numbers of objects
  --list-ignored   prints that list
  --json           prints one JSON object
  --version        prints which build it is
  -h, --help       prints this

exit status: 0 the same, 1 different, 2 bad arguments or a bad file
Field names are those of linux/mlx5/mlx5_ifc.h; docs/trace-format.md describes the files.
)";

constexpr std::string_view kImportHelp =
    R"(usage: trace-import [--device=DEVICE] [LOG]

Reads a kernel log with mlx5_core's command dumps, from LOG or standard input, and prints the
recording that trace-diff compares. What is cut or missing in the log is named on standard error,
and in the recording.

  --device=DEVICE  as the log spells it, such as 0000:03:00.0; needed where the log has several
  --version        prints which build it is
  -h, --help       prints this

To get such a log from a card, as root:
  modprobe -r mlx5_ib mlx5_core
  modprobe mlx5_core dyndbg=+p            # or boot with: dyndbg="module mlx5_core +p"
  dmesg | trace-import > card.trace       # log_buf_len=100M when the first lines are gone

exit status: 0 a recording was printed, 2 bad arguments or no command in the log
)";

Outcome bad(std::string_view program, std::string_view what) {
  return {kExitBad, {}, fmt::format("{}: {}\n", program, what)};
}

Result<std::string> read_text(std::string_view path) {
  struct Close {
    void operator()(std::FILE* file) const noexcept {
      if (file != stdin) static_cast<void>(std::fclose(file));
    }
  };
  const std::string name(path);
  const std::unique_ptr<std::FILE, Close> file(path == "-" ? stdin
                                                           : std::fopen(name.c_str(), "re"));
  if (!file) return fail(Errc::System, name + ": " + std::generic_category().message(errno));
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // a boot's dumps are some 100 MB
  std::string text;
  for (std::size_t got = 1; got != 0;) {
    const std::size_t size = text.size();
    text.resize(size + kPieceBytes);
    got = std::fread(text.data() + size, 1, kPieceBytes, file.get());
    text.resize(size + got);
    if (text.size() > kMostBytes)
      return fail(Errc::InvalidArgument,
                  fmt::format("{}: more than {} bytes are in it; up to that many are accepted",
                              path == "-" ? "standard input" : path, kMostBytes));
  }
  if (std::ferror(file.get()) != 0)
    return fail(Errc::System, name + ": " + std::generic_category().message(errno));
  return text;
}

Result<Recording> read_recording(std::string_view path) {
  PORTCULLIS_TRY_ASSIGN(const std::string text, read_text(path));
  return portcullis::trace::parse_recording(text, path == "-" ? "standard input" : path);
}

struct DiffOptions {
  bool help = false;
  bool version = false;
  bool list_ignored = false;
  bool json = false;
  bool strict = false;
  std::vector<std::string> ignored;
  std::vector<std::string_view> files;
};

Result<DiffOptions> parse_diff(Arguments arguments) {
  constexpr std::string_view kIgnore = "--ignore";
  DiffOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--version") {
      options.version = true;
    } else if (argument == "--list-ignored") {
      options.list_ignored = true;
    } else if (argument == "--json") {
      options.json = true;
    } else if (argument == "--strict") {
      options.strict = true;
    } else if (argument == kIgnore) {
      if (++i == arguments.size())
        return fail(Errc::InvalidArgument, "--ignore without a field; --ignore FIELD expected");
      options.ignored.emplace_back(arguments[i]);
    } else if (argument.starts_with("--ignore=")) {
      options.ignored.emplace_back(argument.substr(kIgnore.size() + 1));
    } else if (argument.starts_with('-') && argument != "-") {
      return fail(Errc::InvalidArgument,
                  fmt::format("no option {}; --ignore FIELD, --strict, --list-ignored, --json, "
                              "--version and --help are accepted",
                              in_quotes(argument)));
    } else {
      options.files.push_back(argument);
    }
  }
  const bool needs_files = !options.help && !options.version && !options.list_ignored;
  if (options.files.size() != 2 && needs_files)
    return fail(
        Errc::InvalidArgument,
        fmt::format("{} files; two recordings expected (trace-diff --help)", options.files.size()));
  return options;
}

std::string list_of(const Rules& rules) {
  return fmt::format(
      "ignored:\n  {}\nnumbers that the device or a driver hands out, ignored unless one of the "
      "two "
      "is all ones:\n  {}\n",
      fmt::join(rules.ignored, "\n  "), fmt::join(rules.handed_out, "\n  "));
}

/// A line for each pattern that no field of either recording has: it may be misspelt.
std::string idle_patterns(const std::vector<std::string>& patterns,
                          const std::vector<Recording>& recordings) {
  std::string lines;
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(recordings, [&pattern](const Recording& recording) {
          return portcullis::trace::has_field(recording, pattern);
        }))
      lines += fmt::format("trace-diff: --ignore {}: neither recording has such a field\n",
                           in_quotes(pattern));
  return lines;
}

Outcome diff_files(const DiffOptions& options, const Rules& rules) {
  std::vector<Recording> recordings;
  for (const std::string_view path : options.files) {
    auto recording = read_recording(path);
    if (!recording) return bad("trace-diff", recording.error().text);
    recordings.push_back(*std::move(recording));
  }
  const Named a{options.files[0], recordings[0]};
  const Named b{options.files[1], recordings[1]};
  const Comparison comparison = compare(recordings[0], recordings[1], rules);
  return {comparison.is_same() ? kExitSame : kExitDifferent,
          options.json ? json_report(a, b, rules, comparison) : text_report(a, b, comparison),
          idle_patterns(options.ignored, recordings)};
}

}  // namespace

Outcome trace_diff(Arguments arguments) {
  const auto options = parse_diff(arguments);
  if (!options) return bad("trace-diff", options.error().text);
  if (options->help)
    return {kExitSame, std::string(kDiffHelp) + std::string(program::kExitHelp), {}};
  if (options->version) return {kExitSame, program::version_text("trace-diff") + "\n", {}};
  Rules rules = options->strict ? Rules{} : Rules::usual();
  rules.ignored.insert(rules.ignored.end(), options->ignored.begin(), options->ignored.end());
  if (options->list_ignored) return {kExitSame, list_of(rules), {}};
  return diff_files(*options, rules);
}

Outcome trace_import(Arguments arguments) {
  constexpr std::string_view kDevice = "--device";
  std::string_view device;
  std::optional<std::string_view> file;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h")
      return {0, std::string(kImportHelp) + std::string(program::kExitHelp), {}};
    if (argument == "--version") return {0, program::version_text("trace-import") + "\n", {}};
    if (argument == kDevice) {
      if (++i == arguments.size())
        return bad("trace-import", "--device without a name; --device DEVICE expected");
      device = arguments[i];
    } else if (argument.starts_with("--device=")) {
      device = argument.substr(kDevice.size() + 1);
    } else if (argument.starts_with('-') && argument != "-") {
      return bad("trace-import",
                 fmt::format("no option {}; --device DEVICE, --version and --help are accepted",
                             in_quotes(argument)));
    } else if (file) {
      return bad("trace-import",
                 fmt::format("{} is a second file; one log expected", in_quotes(argument)));
    } else {
      file = argument;
    }
  }
  const auto text = read_text(file.value_or("-"));
  if (!text) return bad("trace-import", text.error().text);
  const std::string_view name = file.value_or("-");
  const auto log =
      portcullis::trace::import_log(*text, name == "-" ? "standard input" : name, device);
  if (!log) return bad("trace-import", log.error().text);
  return {
      0, to_text(log->recording),
      log->warnings.empty() ? std::string() : fmt::format("{}\n", fmt::join(log->warnings, "\n"))};
}

int run_program(std::string_view name, Outcome (*program)(Arguments), int argc, char** argv) {
  return program::run_main(name, [&] {
    const Outcome outcome = program(std::vector<std::string_view>(argv + 1, argv + argc));
    std::cerr << outcome.err;
    std::cout << outcome.out;
    return outcome.status;
  });
}

}  // namespace portcullis::tools::trace
