// SPDX-License-Identifier: BSD-3-Clause
#include "tools/pfc_deadlock/command.hpp"

namespace portcullis::tools::pfc_deadlock {
namespace {

constexpr Command kCommands[] = {
    {"fluid", "service curves, queues, pauses and deadlocks of the fluid equations", run_fluid},
    {"packet", "the same packet by packet, with PAUSE frames on the wire", run_packet},
    {"cbd", "links that wait for each other in a circle, and what breaks it", run_cbd},
    {"sweep", "how often and how soon a scenario deadlocks, over a grid of settings", run_sweep},
    {"residence", "how late a packet may arrive: a bound, or why there is none", run_residence},
    {"headroom", "bytes above XOFF that lose nothing, and which ingresses have fewer",
     run_headroom},
    {"topology", "a scenario as a drawing or as JSON to start from", run_topology},
    {"import", "a fabric from lists of cables and route tables, as JSON", run_import},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace portcullis::tools::pfc_deadlock
