// SPDX-License-Identifier: BSD-3-Clause
//
// How long a PFC watchdog lets a queue be paused. Importers tell it, and bounds take it.
#pragma once

#include <algorithm>
#include <cmath>

namespace portcullis::pfc {

/// The longest pause under a watchdog that looks at queues every `poll`; 0: it times each pause.
/// One that begins just behind a look was not there at that look, so the next one begins its time;
/// each look after that takes `poll` off `detection`, yet never all of it: two looks at least see
/// it last. packet::Engine::look_at() counts so, as `charge_cap` of sonic-swss's
/// orchagent/pfc_detect_broadcom.lua does.
[[nodiscard]] inline double longest_watched_pause(double detection, double poll) {
  if (!(poll > 0)) return detection;
  return (1 + std::max(2.0, std::ceil(detection / poll))) * poll;
}

}  // namespace portcullis::pfc
