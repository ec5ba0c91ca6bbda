// SPDX-License-Identifier: BSD-3-Clause
//
// What the user asked vfio-peer for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace portcullis::tools::vfio_peer {

struct Options {
  std::string bdf;
  std::uint32_t bytes = 65536;  // of the region that is written and fenced
  std::uint32_t writes = 32;    // outstanding when the fence comes
  std::uint32_t samples = 5;    // of each latency
  bool latency = false;
  std::optional<std::string> text;  // --help: print and leave
};

/// InvalidArgument names the argument and what is accepted.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::vfio_peer
