// SPDX-License-Identifier: BSD-3-Clause
//
// Findings for people and for scripts.
#pragma once

#include <string>

#include "tools/doctor/finding.hpp"

namespace portcullis::tools::doctor {

/// Who was examined.
struct Subject {
  std::string device;   // as --device= takes it; empty: only the machine
  std::string root;     // "/" is this machine
  std::string try_now;  // a command to try when nothing is missing; empty: none
};

[[nodiscard]] std::string text_report(const Subject& subject, const Findings& findings);
/// One object; its shape is in docs/doctor.md.
[[nodiscard]] std::string json_report(const Subject& subject, const Findings& findings);

}  // namespace portcullis::tools::doctor
