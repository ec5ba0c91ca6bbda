// SPDX-License-Identifier: BSD-3-Clause
//
// What a DROP entry compares, and whom it hits. A lease-scope shape drops the packets of one lease;
// a function-scope shape drops those of every tenant of the function, and our own acknowledgements
// with them where the opcode covers them.
//
//   dst-qp        misc.bth_dst_qp                        lease
//   client-flow   source address and UDP source port     lease
//   opcode        misc.bth_opcode 0x0A, WRITE Only       function
//   opcode-class  misc.bth_opcode 0x00 under 0xE0, RC    function
//   roce-port     UDP destination port 4791              function
//   match-all     nothing                                function
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "prm/flow_commands.hpp"
#include "prm/view.hpp"
#include "steering/drop_rule.hpp"
#include "steering/flow_caps.hpp"

namespace portcullis::steering {

enum class Shape : std::uint8_t { DstQp, ClientFlow, Opcode, OpcodeClass, RocePort, MatchAll };
enum class Scope : std::uint8_t { Lease, Function };

/// In the order in which set-up prefers them.
inline constexpr std::array kShapes{Shape::DstQp,       Shape::ClientFlow, Shape::Opcode,
                                    Shape::OpcodeClass, Shape::RocePort,   Shape::MatchAll};

[[nodiscard]] std::string_view name(Shape shape) noexcept;
/// InvalidArgument naming the text and the shapes.
[[nodiscard]] Result<Shape> parse_shape(std::string_view text);
[[nodiscard]] Scope scope(Shape shape) noexcept;
[[nodiscard]] std::string_view name(Scope scope) noexcept;
/// The capability page offers what the shape compares.
[[nodiscard]] bool is_offered(Shape shape, const DomainCaps& caps) noexcept;

using MatchView = prm::View<prm::fte_match_param>;
/// The group's criteria: mask, and match_criteria_enable.
[[nodiscard]] std::uint32_t put_mask(Shape shape, MatchView mask) noexcept;
/// The value of one lease's entry. InvalidArgument when the target lacks what the shape compares.
[[nodiscard]] Result<void> put_value(Shape shape, const DropTarget& target, MatchView value);

}  // namespace portcullis::steering
