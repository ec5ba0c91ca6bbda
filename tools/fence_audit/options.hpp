// SPDX-License-Identifier: BSD-3-Clause
//
// What the user asked fence-audit for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pmd/gid.hpp"
#include "proof/audit.hpp"

namespace portcullis::tools::fence_audit {

struct Options {
  std::string device;
  std::vector<std::string> plans;  // each accepted by lease::parse_plan
  proof::AuditOptions audit;
  /// [HOST:]PORT where lease-verify asks; empty: clients of our own, by loopback.
  std::string listen;
  std::optional<pmd::Gid> address;  // of the port then; none: its link-local one
  std::string json;                 // file; empty: none
  std::string per_fence;            // file of a line for each fence; empty: none
  std::vector<std::string> eal;     // the program's name and what stood before `--`
  std::string text;                 // --help: print and leave
};

/// InvalidArgument with one line that names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::fence_audit
