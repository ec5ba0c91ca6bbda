// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics from what users have: lists of cables, route tables of FRR, and dumps of an InfiniBand
// subnet. What is wrong is one line with file, line and field. Thresholds, delays and flows are in
// none of these: links have the usual ones, and flows are added to the JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::import {

struct File {
  std::string name;  // as messages call it; a node's route table is named after the node
  std::string text;
};

/// What was read, and what was left out of it, a line each.
struct Imported {
  Topology topology;
  std::vector<std::string> notes;
};

/// A CSV of cables with a header line: node_a, port_a, node_b, port_b as in lists made of LLDP, or
/// side_a_device, side_a_name, side_b_device, side_b_name as NetBox imports cables; gbps if it is
/// there. Nodes linked to one other alone are hosts. Without routes.
[[nodiscard]] Result<Imported> from_edges(const File& file);

/// Cables as from_edges(), and for each switch what `show ip route json` of FRR prints, as
/// NODE.json. Prefixes that are connected to one switch, and not on its cables to others, are where
/// data goes to; the longest prefix of a table that covers one decides.
[[nodiscard]] Result<Imported> from_frr(const File& edges, const std::vector<File>& tables);

/// What `ibnetdiscover` prints, and what dump_fts or dump_lfts print of its forwarding tables.
/// Routes are those to channel adapters, whatever the service level.
[[nodiscard]] Result<Imported> from_infiniband(const File& net, const File& tables);

}  // namespace portcullis::pfc::import
