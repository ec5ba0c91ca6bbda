// SPDX-License-Identifier: BSD-3-Clause
//
// fence-audit: whether memory changes after a fence has answered, on the device that is named.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "pmd/eal.hpp"
#include "tools/fence_audit/audit.hpp"
#include "tools/fence_audit/options.hpp"
#include "tools/fence_audit/report.hpp"
#include "tools/open_device.hpp"

namespace {

using portcullis::Errc;
using portcullis::Result;
using namespace portcullis::tools::fence_audit;

Result<void> write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return portcullis::fail(Errc::System, path + ": cannot be written");
  return {};
}

/// True when the fence held.
Result<bool> run(const Options& options) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, portcullis::tools::parse_device(options.device));
  if (!spec.is_emulated()) PORTCULLIS_TRY(portcullis::pmd::check_vfio_ready(spec.bdf()));
  PORTCULLIS_TRY_ASSIGN(const auto eal,
                        portcullis::pmd::Eal::start(options.eal, spec.is_emulated()));
  const std::string device = options.device + (spec.is_emulated() ? ", emulated, not a card" : "");
  fmt::print("{}\n", device);
  std::vector<PlanAudit> audits;
  for (const std::string& name : options.plans) {
    PORTCULLIS_TRY_ASSIGN(const auto plan, portcullis::lease::parse_plan(name));
    PORTCULLIS_TRY_ASSIGN(auto result, audit(spec, plan, options));
    fmt::print("{}", text_of(result));
    std::fflush(stdout);
    audits.push_back(std::move(result));
  }
  fmt::print("verdict: {}\n", verdict_of(audits));
  if (!options.json.empty()) PORTCULLIS_TRY(write(options.json, json_of(device, audits)));
  return std::all_of(audits.begin(), audits.end(), [](const auto& one) { return one.holds(); });
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "fence-audit: {}\n", options.error().text);
    return 1;
  }
  if (!options->text.empty()) {
    fmt::print("{}", options->text);
    return 0;
  }
  const auto holds = run(*options);
  if (!holds) {
    std::fflush(stdout);
    fmt::print(stderr, "fence-audit: {}\n", holds.error().text);
    return 1;
  }
  return *holds ? 0 : 2;
}
