// SPDX-License-Identifier: BSD-3-Clause
//
// Fabrics from what users have: lists of cables, GraphML, route tables of FRR and Batfish, dumps of
// an InfiniBand subnet, configurations of SONiC. What is wrong is one line with file, line and
// field. Thresholds and delays are in SONiC's alone: else links have the usual ones. Flows are
// added to the JSON.
#pragma once

#include <cstdint>
#include <optional>
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
/// there. A cable that both its ends list, by port, is one. Nodes linked to one other alone are
/// hosts. Without routes.
[[nodiscard]] Result<Imported> from_edges(const File& file);

/// GraphML as the Internet Topology Zoo has it. Without routes; hosts as from_edges().
[[nodiscard]] Result<Imported> from_graphml(const File& file);

/// Cables as from_edges(), and for each switch what `show ip route json` of FRR prints, as
/// NODE.json. Prefixes that are connected to a switch, and not on its cables to others, are where
/// data goes to; the longest prefix of a table that covers one decides. Who has no table is a host.
[[nodiscard]] Result<Imported> from_frr(const File& edges, const std::vector<File>& tables);

/// The answers of layer1Edges or layer3Edges, and of routes, of Batfish as CSV; prefixes and hosts
/// as from_frr(). The VRF "default".
[[nodiscard]] Result<Imported> from_batfish(const File& edges, const File& routes);

/// config_db.json of each switch: cables from DEVICE_NEIGHBOR, delays from CABLE_LENGTH, thresholds
/// of one lossless priority, the lowest unless given. Who has no file is a host. Without routes.
[[nodiscard]] Result<Imported> from_sonic(const std::vector<File>& files,
                                          std::optional<std::uint32_t> priority = {});

/// What `ibnetdiscover` prints, and what dump_fts or dump_lfts print of its forwarding tables.
/// Routes are those to the LIDs of channel adapters, whatever the service level; each port of an
/// adapter that has a cable is a host.
[[nodiscard]] Result<Imported> from_infiniband(const File& net, const File& tables);

/// Makes hosts of the nodes with these names; * stands for any characters. Gives NotFound when one
/// of them is no node's.
[[nodiscard]] Result<void> set_hosts(Topology& topology, const std::vector<std::string>& names);

}  // namespace portcullis::pfc::import
