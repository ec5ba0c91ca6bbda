// SPDX-License-Identifier: BSD-3-Clause
//
// A run as text, one line a step, and as an SVG sequence chart: a lifeline for each client, its
// responder and its receiver CPU, packets as arrows, losses as arrows that end in a cross.
#pragma once

#include <string>

#include "failover/explore/explorer.hpp"

namespace portcullis::failover {

/// Numbered steps, one a line.
[[nodiscard]] std::string steps_text(const Machine& machine, const Trace& trace);

/// Numbered steps, then what broke.
[[nodiscard]] std::string trace_text(const Machine& machine, const Trace& trace);

/// Self-contained: no script, no font, no network. `title` stands above it.
[[nodiscard]] std::string trace_svg(const Machine& machine, const Trace& trace,
                                    const std::string& title);

}  // namespace portcullis::failover
