// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of steering are given: frames whose checksums are right, and bytes that another
// program wrote, as hexadecimal text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/ethernet/offloads.hpp"
#include "prm/ethernet_wqe.hpp"
#include "tests/model/ethernet_frames.hpp"

namespace portcullis::model::testing {

using Raw = std::vector<std::byte>;

[[nodiscard]] inline Raw raw_of(std::string_view hex) {
  Raw bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

/// With checksums of IPv4, and of TCP or UDP.
[[nodiscard]] inline Raw finished(const FrameSpec& spec) {
  Raw frame = build_frame(spec);
  fill_checksums(frame, prm::kEthL3Csum | prm::kEthL4Csum);
  return frame;
}

}  // namespace portcullis::model::testing
