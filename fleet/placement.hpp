// SPDX-License-Identifier: BSD-3-Clause
//
// Which nodes may have room for a lease, the likeliest first. What they say of themselves is some
// seconds old, so a node may refuse all the same, and then the next one is asked. Nodes that are
// alike come in an order of chance, or every client would ask the same one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "fleet/directory.hpp"
#include "fleet/etcd.hpp"

namespace portcullis::fleet {

struct PlaceWanted {
  std::uint64_t bytes = 0;
  std::vector<std::string> labels = {};   // it must have all of these
  std::vector<std::string> prefers = {};  // the more of these, the better
};

/// A node with a session, and what it had left when it said so last.
struct Place {
  std::string name = {};
  Registration about = {};
  std::optional<Amount> left = {};
};
/// A node that is not asked, and why.
struct NoPlace {
  std::string name = {};
  std::string why = {};
};

struct Places {
  std::vector<Place> fit = {};
  std::vector<NoPlace> unfit = {};
};

/// `seed`: of the order of nodes that are alike.
[[nodiscard]] Result<Places> find_places(Etcd& etcd, const PlaceWanted& wanted, std::uint64_t seed);

}  // namespace portcullis::fleet
