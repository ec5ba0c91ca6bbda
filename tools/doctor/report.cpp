// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace portcullis::tools::doctor {
namespace {

/// Names in /sys and /proc are other people's bytes: what is no printable ASCII becomes '?'.
std::string printable(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

std::string lines_of(const Finding& finding) {
  std::string text = fmt::format("  {:<8} {:<13} {}\n", name(finding.status), finding.check,
                                 printable(finding.what));
  for (const std::string& command : finding.mend)
    text += fmt::format("{:11}# {}\n", "", printable(command));
  if (!finding.hint.empty()) text += fmt::format("{:11}{}\n", "", printable(finding.hint));
  return text;
}

std::string verdict(const Subject& subject, const Findings& findings) {
  const std::size_t missing = count(findings, Status::Missing);
  const std::size_t advice = count(findings, Status::Advice);
  std::string text;
  if (missing != 0) {
    text = fmt::format("{} missing. Run what follows # as root, from the top, then doctor again.\n",
                       missing);
  } else if (subject.device.empty()) {
    text = "Nothing is missing on this machine; doctor DEVICE looks at one.\n";
  } else {
    text = fmt::format("Nothing is missing for --device={}.\n", subject.device);
    if (!subject.try_now.empty()) text += fmt::format("Try: {}\n", subject.try_now);
  }
  if (advice != 0) text += fmt::format("{} advice: works without.\n", advice);
  return text;
}

}  // namespace

std::string text_report(const Subject& subject, const Findings& findings) {
  std::string text;
  std::string_view area;
  for (const Finding& finding : findings) {
    if (finding.area != area) {
      area = finding.area;
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", area);
    }
    text += lines_of(finding);
  }
  return text + "\n" + verdict(subject, findings);
}

std::string json_report(const Subject& subject, const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json mend = nlohmann::ordered_json::array();
    for (const std::string& command : finding.mend) mend.push_back(printable(command));
    list.push_back({{"area", finding.area},
                    {"check", finding.check},
                    {"status", name(finding.status)},
                    {"what", printable(finding.what)},
                    {"mend", std::move(mend)},
                    {"hint", printable(finding.hint)}});
  }
  const nlohmann::ordered_json report{{"device", printable(subject.device)},
                                      {"root", printable(subject.root)},
                                      {"missing", count(findings, Status::Missing)},
                                      {"advice", count(findings, Status::Advice)},
                                      {"try", subject.try_now},
                                      {"findings", std::move(list)}};
  return report.dump(2) + "\n";
}

}  // namespace portcullis::tools::doctor
