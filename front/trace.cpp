// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/trace.hpp>

#include <utility>

#include "front/one_line.hpp"
#include "trace/command_text.hpp"
#include "trace/compare.hpp"
#include "trace/recording.hpp"
#include "trace/report.hpp"

namespace portcullis {

struct [[gnu::visibility("hidden")]] Recording::Impl {
  std::string file;
  trace::Recording recording;
};

Result<Recording> Recording::parse(std::string_view text, std::string_view file) {
  PORTCULLIS_TRY_ASSIGN(auto recording, in_one_line(trace::parse_recording(text, file)));
  return Recording(std::make_shared<const Impl>(Impl{std::string(file), std::move(recording)}));
}

const std::string& Recording::source() const noexcept { return impl_->recording.source; }

std::vector<RecordedCommand> Recording::commands() const {
  std::vector<RecordedCommand> commands;
  for (const trace::TraceCommand& command : impl_->recording.commands) {
    RecordedCommand one;
    one.sequence = command.sequence;
    one.title = trace::trace_title(command);
    one.opcode = static_cast<std::uint16_t>(command.opcode());
    one.op_mod = command.op_mod();
    one.delivery = trace::trace_delivery(command);
    one.status = command.status();
    one.syndrome = command.syndrome();
    one.time_ns = command.time_ns;
    commands.push_back(std::move(one));
  }
  return commands;
}

std::string Recording::text() const { return trace::to_text(impl_->recording); }

Comparison compare(const Recording& a, const Recording& b, const CompareOptions& options) {
  trace::Rules rules = options.is_strict ? trace::Rules{} : trace::Rules::usual();
  rules.ignored.insert(rules.ignored.end(), options.ignored.begin(), options.ignored.end());
  const auto& [file_a, recording_a] = a.impl();
  const auto& [file_b, recording_b] = b.impl();
  const trace::Comparison found = trace::compare(recording_a, recording_b, rules);
  return {.same = found.same,
          .different = found.different,
          .only_a = found.only_a,
          .only_b = found.only_b,
          .text = trace::text_report({file_a, recording_a}, {file_b, recording_b}, found)};
}

}  // namespace portcullis
