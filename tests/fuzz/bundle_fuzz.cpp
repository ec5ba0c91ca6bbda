// SPDX-License-Identifier: BSD-3-Clause
//
// Bundles of first-light that anybody sent. An archive, the facts and the profile in it are each
// refused in one line that names the file, or: facts mean the same once they were written and read
// again, can be judged, shown, drawn and compared with themselves, and the model that follows from
// them is one that its own reader takes. libFuzzer drives it in the asan build; elsewhere
// corpus_test.cpp runs the corpus once.
//
// An input is a byte that says which of the three, then the file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "light/compare.hpp"
#include "light/conclusions.hpp"
#include "light/facts.hpp"
#include "light/replay.hpp"
#include "tools/first_light/page.hpp"
#include "tools/first_light/report.hpp"
#include "trace/bundle.hpp"
#include "trace/device_profile.hpp"

namespace {

using namespace portcullis;

enum class Kind : std::uint8_t { Archive, Facts, Profile };
constexpr std::uint8_t kKinds = 3;

void require(bool held) {
  if (!held) std::abort();
}

bool is_one_line_about(std::string_view text, std::string_view file) {
  return text.starts_with(file) && text.find('\n') == std::string_view::npos;
}

/// Nothing of a stranger's moves a cursor or becomes a line of its own.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

void check_profile(std::string_view text) {
  const auto profile = trace::profile_from_json(text, "profile");
  require(profile || is_one_line_about(profile.error().text, "profile"));
  if (!profile) return;
  const std::string written = to_json(*profile);
  const auto again = trace::profile_from_json(written, "again");
  require(again && to_json(*again) == written);
}

void check_facts(std::string_view text) {
  const auto facts = light::facts_from_json(text, "facts");
  require(facts || is_one_line_about(facts.error().text, "facts"));
  if (!facts) return;
  const auto again = light::facts_from_json(to_json(*facts), "again");
  require(again && to_json(*again) == to_json(*facts));
  using namespace tools::first_light;
  require(is_plain(device_line(facts->device) + conclusions_text(*facts) + figures_text(*facts)));
  require(page_of(*facts).find("<script") == std::string::npos);
  require(light::compare(*facts, *again).empty());
  const auto model = light::profile_of(*facts, {});
  require(trace::profile_from_json(to_json(model), "model").has_value());
}

void check_archive(std::string_view bytes) {
  const auto bundle = trace::unpack(bytes, "file");
  require(bundle || is_one_line_about(bundle.error().text, "file"));
  if (!bundle) return;
  for (const trace::BundleFile& file : bundle->files)
    require(file.name.find('/') == std::string::npos);
  if (const auto* const facts = bundle->find("facts.json")) check_facts(facts->text);
  if (const auto* const profile = bundle->find("profile.json")) check_profile(profile->text);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(data + 1, data + size);
  switch (static_cast<Kind>(data[0] % kKinds)) {
    case Kind::Archive:
      check_archive(bytes);
      break;
    case Kind::Facts:
      check_facts(bytes);
      break;
    case Kind::Profile:
      check_profile(bytes);
      break;
  }
  return 0;
}
