// SPDX-License-Identifier: BSD-3-Clause
#include "tools/first_light/beside_linux.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "program/input_file.hpp"
#include "trace/compare.hpp"
#include "trace/redact.hpp"
#include "trace/report.hpp"

namespace portcullis::tools::first_light {
namespace {

constexpr std::size_t kMostLogBytes = std::size_t{256} << 20;

trace::Recording shown(trace::Recording recording, bool keeps_identities) {
  if (!keeps_identities)
    std::ranges::transform(recording.commands, recording.commands.begin(),
                           trace::without_identities);
  return recording;
}

}  // namespace

Result<BesideLinux> BesideLinux::read(const std::string& path, const std::string& device) {
  PORTCULLIS_TRY_ASSIGN(const std::string text, program::read_input(path, kMostLogBytes));
  // Before it was given to VFIO the card may have stood elsewhere: a log of one card is of this
  // one.
  // Warnings go into the bundle, where nobody's folders are named.
  auto log = trace::import_log(text, "dmesg", "");
  if (!log && log.error().code == Errc::InvalidArgument)
    log = trace::import_log(text, "dmesg", device);
  if (!log) return fail(log.error().code, fmt::format("--dmesg {}: {}", path, log.error().text));
  log->recording.source = "a kernel log of mlx5_core";
  return BesideLinux(*std::move(log));
}

std::vector<trace::BundleFile> BesideLinux::files(bool keeps_identities) const {
  const trace::Recording linux_commands = shown(linux_, keeps_identities);
  trace::Recording ours = shown(ours_, keeps_identities);
  ours.source = "first-light";
  const trace::Rules rules = trace::Rules::usual();
  const trace::Comparison comparison = trace::compare(linux_commands, ours, rules);
  return {{"linux.trace", trace::to_text(linux_commands)},
          {"beside-linux.txt",
           trace::text_report({.file = "linux.trace", .recording = linux_commands},
                              {.file = "step bring-up", .recording = ours}, comparison)}};
}

}  // namespace portcullis::tools::first_light
