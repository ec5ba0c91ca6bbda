// SPDX-License-Identifier: BSD-3-Clause
//
// Latencies as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/vfio_peer/latency.hpp"

namespace portcullis::tools::vfio_peer {

/// What the figures were measured on.
struct Setting {
  std::string bdf;
  std::string firmware;
  std::string provider;
  std::string port;
};

/// The middle one, or the mean of the two in the middle; 0 of none.
[[nodiscard]] std::uint64_t median(std::vector<std::uint64_t> values);

/// One object, indented, with a newline. Of each command also how much is left of its median when
/// that of one trapped register read is taken away (0 when nothing is).
[[nodiscard]] std::string to_json(const Setting& setting, const Latencies& latencies);

}  // namespace portcullis::tools::vfio_peer
