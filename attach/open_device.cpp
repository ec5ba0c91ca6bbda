// SPDX-License-Identifier: BSD-3-Clause
#include "attach/open_device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "devx/libmlx5.hpp"

namespace portcullis::attach {
namespace {

constexpr std::string_view kAcceptedKeys =
    "timing=, profile=, behaviour=, execution=, port=, seed=, vf, pcap=, trace=, link-wait-ms=, "
    "checksum=, mkc-qpn=, neighbour=, loopback=";
/// Longer than any link trains.
constexpr std::uint64_t kMostLinkWaitMs = 600'000;

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

/// False: the word is none of these.
Result<bool> apply(BringUpWishes& wishes, std::string_view word) {
  constexpr std::string_view kLinkWait = "link-wait-ms", kChecksum = "checksum",
                             kKeyOfAQp = "mkc-qpn", kNeighbour = "neighbour";
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = word.substr(std::min(equals + 1, word.size()));
  if (key == kLinkWait) {
    const auto wait_ms = number(key, value);
    if (!wait_ms || *wait_ms > kMostLinkWaitMs)
      return fail(Errc::InvalidArgument,
                  fmt::format("{} \"{}\"; 0 to {} expected", key, value, kMostLinkWaitMs));
    wishes.link_wait_ms = *wait_ms;
    return true;
  }
  if (key == "loopback") {
    PORTCULLIS_TRY(one_of(key, value, {"plain", "forced"}));
    wishes.forces_loopback = value == "forced";
    return true;
  }
  if (key != kChecksum && key != kKeyOfAQp && key != kNeighbour) return false;
  PORTCULLIS_TRY(one_of(key, value, {"on", "off"}));
  std::optional<bool>& wish = key == kChecksum    ? wishes.checks_answers
                              : key == kNeighbour ? wishes.answers_neighbours
                                                  : wishes.binds_keys;
  wish = value == "on";
  return true;
}

/// What a profile says itself must not be said beside it.
Result<void> check_beside_profile(std::span<const std::string_view> words) {
  const auto has = [words](std::string_view start) {
    return std::ranges::any_of(words, [start](auto word) { return word.starts_with(start); });
  };
  if (!has("profile=")) return {};
  for (const std::string_view word : words)
    if (word == "vf" || word.starts_with("timing=") || word.starts_with("port="))
      return fail(
          Errc::InvalidArgument,
          fmt::format("\"{}\" beside profile=, which says that itself; leave one away", word));
  return {};
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
  } else if (key == "profile" && !value.empty()) {
    if (options.profile)
      return fail(Errc::InvalidArgument, fmt::format("a second profile: \"{}\"", word));
    PORTCULLIS_TRY(model::adopt_bundle(options, std::string(value)));
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

constexpr std::string_view kRdmaDevices = "/sys/class/infiniband";

/// What the kernel and udev call RDMA devices: mlx5_0, rocep3s0f0, ibp3s0. A name without a digit
/// is more likely another word misspelt, and must be there (`rdma dev set` gives any).
bool is_device_name(std::string_view text) {
  constexpr std::size_t kMost = 63;  // IB_DEVICE_NAME_MAX with its end
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_of_a_name = [&](char c) {
    return is_digit(c) || is_letter(c) || c == '_' || c == '-';
  };
  if (text.empty() || text.size() > kMost || !is_letter(text[0]) ||
      !std::ranges::all_of(text, is_of_a_name))
    return false;
  std::error_code none;
  return std::ranges::any_of(text, is_digit) ||
         std::filesystem::exists(std::filesystem::path(kRdmaDevices) / text, none);
}

/// "0000:03:00.0" or "mlx5_0", with or without words behind it.
Result<DeviceSpec> parse_card(std::string_view text, std::span<const std::string_view> words) {
  constexpr std::string_view kTrace = "trace=";
  DeviceSpec spec;
  if (auto bdf = pmd::canonical_bdf(words.front())) {
    spec.kind = VfioName{*std::move(bdf)};
  } else if (is_device_name(words.front())) {
    spec.kind = KeptName{std::string(words.front())};
  } else {
    return fail(Errc::InvalidArgument,
                fmt::format("device \"{}\"; model[,..], a PCI address like 0000:03:00.0, an "
                            "RDMA device of the kernel's like mlx5_0 or shm:PATH expected",
                            text));
  }
  for (const std::string_view word : words.subspan(1)) {
    if (word.starts_with(kTrace) && word.size() > kTrace.size()) {
      spec.trace_path = word.substr(kTrace.size());
      continue;
    }
    if (spec.is_kept())
      return fail(Errc::InvalidArgument,
                  fmt::format("\"{}\" behind {}; trace=FILE expected, for its kernel driver "
                              "has brought it up",
                              word, words.front()));
    PORTCULLIS_TRY_ASSIGN(const bool is_known, apply(spec.bring_up, word));
    if (!is_known)
      return fail(
          Errc::InvalidArgument,
          fmt::format("\"{}\" behind a card's name; trace=FILE, link-wait-ms=N, "
                      "checksum=off, mkc-qpn=off, neighbour=off or loopback=forced expected",
                      word));
  }
  return spec;
}

constexpr std::string_view kShm = "shm:";

/// "shm:PATH", with or without words behind it. What is no such word belongs to the path, which may
/// have commas.
Result<DeviceSpec> parse_shm(std::string_view text, std::span<const std::string_view> words) {
  DeviceSpec spec;
  for (; words.size() > 1; words = words.first(words.size() - 1)) {
    PORTCULLIS_TRY_ASSIGN(const bool is_wish, apply(spec.bring_up, words.back()));
    if (!is_wish) break;
    text.remove_suffix(words.back().size() + 1);
  }
  text.remove_prefix(kShm.size());
  if (text.empty())
    return fail(Errc::InvalidArgument,
                "device \"shm:\" without a path; shm:PATH expected, of hca-server --shm PATH");
  spec.kind = ShmName{std::string(text)};
  return spec;
}

}  // namespace

std::string DeviceSpec::bdf() const {
  if (const auto* const vfio = std::get_if<VfioName>(&kind)) return vfio->bdf;
  const auto* const kept = std::get_if<KeptName>(&kind);
  if (kept == nullptr) return {};
  std::error_code none;
  const auto link = std::filesystem::read_symlink(
      std::filesystem::path(kRdmaDevices) / kept->name / "device", none);
  return pmd::canonical_bdf(link.filename().string()).value_or("");
}

std::string DeviceSpec::function_name() const {
  if (is_in_process()) return "model";
  if (const auto* const shm = std::get_if<ShmName>(&kind)) {
    std::error_code none;
    const auto path = std::filesystem::weakly_canonical(shm->path, none);
    return "shm:" + (none ? shm->path : path.string());
  }
  const std::string function = bdf();
  return function.empty() ? std::get<KeptName>(kind).name : function;
}

Result<void> DeviceSpec::check_ready() const {
  const auto* const vfio = std::get_if<VfioName>(&kind);
  if (vfio != nullptr) PORTCULLIS_TRY(pmd::check_vfio_ready(vfio->bdf));
  return {};
}

Result<pmd::Eal> DeviceSpec::start_eal(std::vector<std::string> arguments) const {
  PORTCULLIS_TRY(check_ready());
  return pmd::Eal::start(std::move(arguments), !std::holds_alternative<VfioName>(kind));
}

Result<DeviceSpec> parse_device(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ',');
  if (text.starts_with(kShm)) return parse_shm(text, words);
  if (words.front() != "model") return parse_card(text, words);
  PORTCULLIS_TRY(check_beside_profile(words));
  model::Options options;
  BringUpWishes wishes;
  for (const std::string_view word : std::span(words).subspan(1)) {
    PORTCULLIS_TRY_ASSIGN(const bool is_wish, apply(wishes, word));
    if (!is_wish) PORTCULLIS_TRY(apply(options, word));
  }
  std::error_code none;
  const auto plain = [&none](const std::string& path) {
    return std::filesystem::absolute(path, none).lexically_normal();
  };
  const bool has_both = !options.pcap_path.empty() && !options.trace_path.empty();
  if (has_both && plain(options.pcap_path) == plain(options.trace_path))
    return fail(Errc::InvalidArgument,
                fmt::format("\"trace={}\": pcap= is written there; two files are accepted",
                            options.trace_path));
  return DeviceSpec{.kind = std::move(options), .bring_up = wishes};
}

Result<OpenDevice> OpenDevice::open(const DeviceSpec& spec,
                                    trace::OnRecordingLost on_recording_lost) {
  OpenDevice opened;
  opened.bring_up_ = spec.bring_up;
  // Who is on a model's wire is a model too, and resolves nothing, unless its user says otherwise.
  if (spec.is_emulated() && !spec.bring_up.answers_neighbours)
    opened.bring_up_.answers_neighbours = false;
  if (const auto* asked = std::get_if<model::Options>(&spec.kind)) {
    model::Options options = *asked;
    if (on_recording_lost) options.on_recording_lost = std::move(on_recording_lost);
    PORTCULLIS_TRY_ASSIGN(opened.model_, model::Model::create(options));
    opened.needs_core_ = options.execution == model::Execution::Polled;
  } else {
    PORTCULLIS_TRY(opened.open_hardware(spec));
    PORTCULLIS_TRY(opened.record(spec, std::move(on_recording_lost)));
  }
  return opened;
}

Result<void> OpenDevice::open_hardware(const DeviceSpec& spec) {
  if (const auto* const kept = std::get_if<KeptName>(&spec.kind)) {
    PORTCULLIS_TRY_ASSIGN(auto provider, devx::open_libmlx5(kept->name));
    kept_ = std::make_unique<devx::KeptNic>(std::move(provider), "devx " + kept->name);
    return {};
  }
  if (const auto* const shm = std::get_if<ShmName>(&spec.kind)) {
    PORTCULLIS_TRY_ASSIGN(shm_, ShmFunction::attach(shm->path));
    return {};
  }
  PORTCULLIS_TRY_ASSIGN(function_, pmd::VfioFunction::attach(spec.bdf()));
  return {};
}

Result<void> OpenDevice::record(const DeviceSpec& spec, trace::OnRecordingLost on_recording_lost) {
  if (spec.trace_path.empty()) return {};
  const std::string source =
      kept_ ? "devx " + std::get<KeptName>(spec.kind).name : "vfio " + spec.bdf();
  PORTCULLIS_TRY_ASSIGN(
      trace_, trace::TraceFile::create(spec.trace_path, source, std::move(on_recording_lost)));
  return {};
}

Device OpenDevice::device() {
  if (model_) return model_->device();
  if (shm_) return shm_->device();
  return kept_ ? kept_->device() : function_->device();
}

Result<void> OpenDevice::condition() { return shm_ ? shm_->condition() : Result<void>(); }

void OpenDevice::serve(const std::atomic<bool>& stop, bool naps) {
  if (needs_core_) model_->run(stop, naps);
}

}  // namespace portcullis::attach
