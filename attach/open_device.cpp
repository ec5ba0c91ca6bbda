// SPDX-License-Identifier: BSD-3-Clause
#include "attach/open_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

namespace portcullis::attach {
namespace {

constexpr std::string_view kAcceptedKeys =
    "timing=, behaviour=, execution=, port=, seed=, vf, pcap=, trace=";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  return parts;
}

Result<std::string> one_of(std::string_view key, std::string_view value,
                           const std::vector<std::string_view>& accepted) {
  if (std::find(accepted.begin(), accepted.end(), value) != accepted.end())
    return std::string(value);
  return fail(Errc::InvalidArgument,
              fmt::format("{} \"{}\"; one of {} expected", key, value, fmt::join(accepted, ", ")));
}

Result<std::uint64_t> number(std::string_view key, std::string_view value) {
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc{} || end != value.data() + value.size())
    return fail(Errc::InvalidArgument,
                fmt::format("{} \"{}\"; a number from 0 to 2^64 - 1 expected", key, value));
  return parsed;
}

/// `word` is "key=value" or "key".
Result<void> apply(model::Options& options, std::string_view word) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const bool has_value = equals < word.size();
  const std::string_view key = has_value ? word.substr(0, equals) : std::string_view();
  const std::string_view value = has_value ? word.substr(equals + 1) : std::string_view();
  if (word == "vf") {
    options.virtual_function = true;
  } else if (key == "timing") {
    PORTCULLIS_TRY_ASSIGN(options.timing, one_of(key, value, model::timing_names()));
  } else if (key == "behaviour") {
    for (const std::string_view name : split(value, '+')) options.behaviours.emplace_back(name);
    PORTCULLIS_TRY(model::behaviours_in_force(options));
  } else if (key == "execution") {
    PORTCULLIS_TRY_ASSIGN(const std::string how, one_of(key, value, {"stepped", "polled"}));
    options.execution = how == "polled" ? model::Execution::Polled : model::Execution::Stepped;
  } else if (key == "port") {
    PORTCULLIS_TRY(one_of(key, value, {"eth", "ib"}));
    options.port_type = value == "ib" ? model::PortType::InfiniBand : model::PortType::Ethernet;
  } else if (key == "seed") {
    PORTCULLIS_TRY_ASSIGN(options.seed, number(key, value));
  } else if (key == "pcap" && !value.empty()) {
    options.pcap_path = value;
  } else if (key == "trace" && !value.empty()) {
    options.trace_path = value;
  } else {
    return fail(Errc::InvalidArgument,
                fmt::format("\"{}\" in a model's device; {} expected", word, kAcceptedKeys));
  }
  return {};
}

}  // namespace

std::string DeviceSpec::bdf() const {
  const auto* name = std::get_if<std::string>(&kind);
  return name == nullptr ? std::string() : *name;
}

Result<DeviceSpec> parse_device(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ',');
  if (words.front() != "model") {
    auto bdf = pmd::canonical_bdf(text);
    if (!bdf)
      return fail(Errc::InvalidArgument,
                  fmt::format("device \"{}\"; model[,..] or a PCI address like 0000:03:00.0 "
                              "expected",
                              text));
    return DeviceSpec{*std::move(bdf)};
  }
  model::Options options;
  for (const std::string_view word : std::span(words).subspan(1))
    PORTCULLIS_TRY(apply(options, word));
  return DeviceSpec{std::move(options)};
}

Result<OpenDevice> OpenDevice::open(const DeviceSpec& spec,
                                    trace::OnRecordingLost on_recording_lost) {
  OpenDevice opened;
  if (const auto* asked = std::get_if<model::Options>(&spec.kind)) {
    model::Options options = *asked;
    if (on_recording_lost) options.on_recording_lost = std::move(on_recording_lost);
    PORTCULLIS_TRY_ASSIGN(opened.model_, model::Model::create(options));
    opened.needs_core_ = options.execution == model::Execution::Polled;
  } else {
    PORTCULLIS_TRY_ASSIGN(opened.function_, pmd::VfioFunction::attach(spec.bdf()));
  }
  return opened;
}

Device OpenDevice::device() { return model_ ? model_->device() : function_->device(); }

void OpenDevice::serve(const std::atomic<bool>& stop) {
  if (needs_core_) model_->run(stop);
}

}  // namespace portcullis::attach
