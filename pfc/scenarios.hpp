// SPDX-License-Identifier: BSD-3-Clause
//
// The four systems of the PFC document and the ring with a third flow, built in; and settings
// "name=value" that change any topology. Units as there: theta and the capacity of every link are
// 1.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc {

struct ScenarioName {
  std::string_view name;
  std::string_view summary;
};

/// seed-1 .. seed-4 are sections 1 to 4 of the PFC document; ring-3 is seed-1 with a third flow on
/// the link from 2 to 3 (case 3 of "Deadlocks in Datacenter Networks", HotNets 2016).
[[nodiscard]] std::span<const ScenarioName> scenario_names();

/// NotFound with the names that there are.
[[nodiscard]] Result<Topology> scenario(std::string_view name);

/// How section 3 of the PFC document begins; its initial conditions name S_f^1 and S_g^0.
enum class StartReading : unsigned char {
  A,  // both hosts send from 0 on, S^1 follows after the delay
  B,  // both hosts send from their delay on, as (10) says of g
  C,  // f from 0 on, g from its delay on: both conditions as printed
};

/// Lets the first two flows start as `reading` has it, after the delay of their first links.
void apply_start(Topology& topology, StartReading reading);

/// Applies "NAME=VALUE":
///   theta      xoff of every link; xon keeps its distance in proportion
///   gap        xon of every link, this far below its xoff
///   d          delay of every link        capacity   capacity of every link
///   d0, d1     delay of the first link of the first and second flow
///   a, B       rate and host buffer of the first flow
///   rate.FLOW, start.FLOW, stop.FLOW, buffer.FLOW
///   capacity.LINK, delay.LINK, xoff.LINK, xon.LINK, buffer.LINK
/// VALUE is a number or "unlimited". InvalidArgument names the setting and what is accepted. The
/// values themselves are left to check(), for one setting may need the next.
[[nodiscard]] Result<void> apply_setting(Topology& topology, std::string_view setting);

/// All of them in order, then check().
[[nodiscard]] Result<void> apply_settings(Topology& topology,
                                          std::span<const std::string> settings);

}  // namespace portcullis::pfc
