// SPDX-License-Identifier: BSD-3-Clause
#include "tools/first_light/keeping.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <utility>

#include "light/replay.hpp"
#include "program/log_line.hpp"
#include "tools/fence_audit/report.hpp"
#include "tools/first_light/report.hpp"
#include "trace/redact.hpp"

namespace portcullis::tools::first_light {
namespace {

constexpr std::string_view kReadme =
    "A bundle of first-light, of the Portcullis project: what one ConnectX did when it was asked.\n"
    "manifest.json says when and by what it was made, and what each file is. All are plain text.\n"
    "\n"
    "  first-light show FILE.tar.zst      the conclusions once more, computed from facts.json\n"
    "  first-light diff A.tar.zst B.tar.zst\n"
    "  first-light model,profile=FILE.tar.zst   a model that answers as the device did\n"
    "\n"
    "facts.json is what was found, with the units in the names of its members. commands.trace is\n"
    "a recording of commands in the format of docs/trace-format.md; bytes that would name the\n"
    "machine, or open a door to it, are told as in_unknown and out_unknown.\n";

struct Described {
  const char* name;
  const char* what;
};
constexpr std::array kDescribed{
    Described{"README.txt", "how to read this"},
    Described{"facts.json", "what was found"},
    Described{"capabilities.txt", "what the device said it can do, by the kernel's names"},
    Described{"profile.json", "the device as the model can be told to be"},
    Described{"conclusions.txt", "each hypothesis and its answer, as printed"},
    Described{"figures.txt", "times and counts, as printed"},
    Described{"commands.trace", "commands as recorded"},
    Described{"fences.csv", "a line for each audited fence"},
    Described{"log.txt", "what the driver said"},
    Described{"linux.trace", "commands of the owner's kernel, of its log"},
    Described{"beside-linux.txt", "what that kernel and step bring-up did otherwise"},
    Described{"crash-dump.txt", "registers as read through the vendor specific capability"},
};

bool is_ok(const trace::TraceCommand& command) {
  return command.answer == trace::TraceAnswer::Given && command.delivery_status == 0 &&
         command.status().value_or(0) == 0;
}

}  // namespace

std::string without_identities(std::string_view text) {
  // Below /sys, /dev and /proc every machine has the same.
  static const std::regex path(R"((^|[^A-Za-z0-9_.~/-])/(?!sys/|dev/|proc/)[^\s:;,"'()<>]+)");
  static const std::regex object(
      R"(\b(qpn|qp|cqn|eqn|pd|uar|wqe|table_id|group_id|flow_index|mkey|rkey|key|index) )"
      R"((0x[0-9a-fA-F]+|[0-9]+)\b)");
  static const std::regex address(
      R"((\b[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\b))"                   // a MAC
      R"(|(\b[0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4}){7}\b))"              // IPv6, whole
      R"(|(\b([0-9a-fA-F]{1,4}:)*[0-9a-fA-F]{1,4}::[0-9a-fA-F:.]*))"  // and shortened
      R"(|(::ffff:[0-9a-fA-F:.]+))"                                   // IPv4 as a GID
      R"(|(\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b))");                       // IPv4
  const std::string plain = std::regex_replace(std::string(text), address, "(address)");
  return std::regex_replace(std::regex_replace(plain, object, "$1 (number)"), path, "$1(path)");
}

void Keeping::add(const trace::TraceCommand& command) {
  ++commands_;
  profile_.add(command);
  if (recorded_ >= kMostRecorded) {
    if (is_ok(command) || refused_recorded_ >= kMostRefusedRecorded) return;
    ++refused_recorded_;
  }
  ++recorded_;
  trace::TraceCommand kept = keeps_identities_ ? command : trace::without_identities(command);
  kept.sequence = commands_;  // each step's device counts from 1
  trace_ += trace::trace_text(kept);
}

void Keeping::add(const std::string& plan, const proof::FenceRecord& fence) {
  fences_ += fence_audit::line_of(plan, fence);
}

void Keeping::add(const std::string& step, const pmd::CrashDump& dump) {
  if (crash_dump_count_ >= kMostCrashDumps) return;
  ++crash_dump_count_;
  crash_dumps_ += fmt::format("# behind step {}: {} words of a space of {:#x} bytes, {}\n", step,
                              dump.words.size(), dump.space_bytes,
                              dump.is_whole ? "to its end" : "not to its end");
  for (const pmd::CrashWord& word : dump.words)
    fmt::format_to(std::back_inserter(crash_dumps_), "{:#010x} {:#010x}\n", word.address,
                   word.value);
}

void Keeping::add_line(std::string_view line) {
  std::string text = keeps_identities_ ? std::string(line) : without_identities(line);
  if (lines_.size() >= program::kMostLogLines || !lines_.insert(text).second) return;
  log_ += text + "\n";
}

void Keeping::set_beside(BesideLinux linux_log) {
  beside_ = std::move(linux_log);
  for (const std::string& warning : beside_->warnings()) add_line(warning);
}

void Keeping::add_of_bring_up(const trace::TraceCommand& command) {
  if (beside_) beside_->add(command);
}

std::string Keeping::manifest(const trace::Bundle& bundle, const light::Facts& facts) const {
  nlohmann::ordered_json json{
      {"format", "portcullis-first-light"},
      {"version", light::kFactsVersion},
      {"made_by", std::string("first-light ") + PORTCULLIS_VERSION},
      {"made_at",
       fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(
                                                std::chrono::system_clock::now())))},
      {"device", facts.device.kind},
      {"is_emulated", facts.device.is_emulated},
      {"identities", keeps_identities_ ? "kept" : "left out"},
      {"crash_dump", crash_dumps_.empty() ? "left out" : "kept; it may hold addresses and keys"},
      {"commands_sent", commands_},
      {"commands_recorded", recorded_},
  };
  for (const Described& each : kDescribed)
    if (const trace::BundleFile* const file = bundle.find(each.name))
      json["files"].push_back(
          {{"name", each.name}, {"bytes", file->text.size()}, {"what", each.what}});
  return json.dump(2) + "\n";
}

trace::Bundle Keeping::bundle(const light::Facts& facts) const {
  const std::string source = fmt::format("first-light, {}", facts.device.kind);
  const auto kept = [this](const std::string& text) {
    return keeps_identities_ ? text : without_identities(text);
  };
  const trace::DeviceProfile profile = light::profile_of(facts, profile_);
  trace::Bundle bundle;
  bundle.files = {
      {"README.txt", std::string(kReadme)},
      {"facts.json", kept(light::to_json(facts))},
      {"capabilities.txt", capabilities_text(profile)},
      {"profile.json", trace::to_json(profile)},
      {"conclusions.txt", kept(device_line(facts.device) + "\n" + conclusions_text(facts))},
      {"figures.txt", kept(figures_text(facts))},
      {"commands.trace", trace::trace_header(source) + trace_},
      {"fences.csv", std::string(fence_audit::lines_header()) + fences_},
      {"log.txt", log_},
  };
  if (beside_)
    for (trace::BundleFile& file : beside_->files(keeps_identities_))
      bundle.files.push_back(std::move(file));
  if (!crash_dumps_.empty()) bundle.files.push_back({"crash-dump.txt", crash_dumps_});
  bundle.files.insert(bundle.files.begin() + 1, {"manifest.json", manifest(bundle, facts)});
  return bundle;
}

}  // namespace portcullis::tools::first_light
