// SPDX-License-Identifier: BSD-3-Clause
//
// Ethernet frames for tests, byte by byte: nothing of the model's is used to build them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace portcullis::model::testing {

struct FrameSpec {
  bool ipv6 = false;
  bool udp = false;
  std::optional<std::uint16_t> tag{};
  std::size_t payload = 0;
  std::uint8_t flags = 0x18;  // of TCP: PSH, ACK
  std::uint32_t sequence = 5;
  std::array<std::uint8_t, 4> source{10, 0, 0, 1}, dest{10, 0, 0, 2};
  std::uint16_t sport = 1, dport = 2;
  std::array<std::uint8_t, 6> dest_mac{0x02, 0x50, 0x43, 0, 0, 1};
};

/// Its checksums are 0.
[[nodiscard]] std::vector<std::byte> build_frame(const FrameSpec& spec);

}  // namespace portcullis::model::testing
