// SPDX-License-Identifier: BSD-3-Clause
//
// What a packet is compared with: the outer headers and the misc parameters of fte_match_param, 128
// bytes, filled from a frame. A criterion is a mask over them and an entry a value under that mask,
// so that comparing is sixteen words and no field is special.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/port_type.hpp"
#include "prm/flow_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

struct FlowKey {
  static constexpr std::size_t kBytes =
      prm::place<prm::fte_match_param, "inner_headers">.offset / 8;
  alignas(8) std::array<std::byte, kBytes> bytes{};

  [[nodiscard]] prm::View<prm::fte_match_set_lyr_2_4> outer() noexcept {
    return prm::View<prm::fte_match_set_lyr_2_4>::at(bytes);
  }
  [[nodiscard]] prm::View<prm::fte_match_set_misc> misc() noexcept {
    return prm::View<prm::fte_match_set_misc>::at(bytes, prm::fte_match_set_lyr_2_4::bytes);
  }
  /// This packet's fields under `mask` are those of `value`.
  [[nodiscard]] bool matches(const FlowKey& mask, const FlowKey& value) const noexcept;
  /// No bit is set outside of `mask`.
  [[nodiscard]] bool is_within(const FlowKey& mask) const noexcept;
  [[nodiscard]] bool asks_for_dst_qp() noexcept { return misc().get<"bth_dst_qp">() != 0; }
  [[nodiscard]] bool asks_for_opcode() noexcept { return misc().get<"bth_opcode">() != 0; }
  bool operator==(const FlowKey&) const = default;
};

/// The fields of a frame as far as it is long enough to have them; nothing of it is believed. Of an
/// InfiniBand frame the misc parameters alone.
[[nodiscard]] FlowKey flow_key(std::span<const std::byte> frame, PortType port_type) noexcept;

/// The fields that flow_key() fills, all bits set: what a criterion may ask for.
[[nodiscard]] const FlowKey& supported_fields() noexcept;

}  // namespace portcullis::model
