// SPDX-License-Identifier: BSD-3-Clause
#include "fleet/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <tuple>
#include <utility>

namespace portcullis::fleet {
namespace {

bool has(const Registration& node, const std::string& label) {
  return std::find(node.labels.begin(), node.labels.end(), label) != node.labels.end();
}

/// By what a place is better than another: larger is better.
struct Merit {
  bool has_room = true;  // by what it said last; it may have more now
  std::ptrdiff_t prefers = 0;
  int free_bits = 0;  // within a factor of two, nodes are alike

  [[nodiscard]] auto tied() const noexcept { return std::tie(has_room, prefers, free_bits); }
};

Merit merit_of(const Place& place, const PlaceWanted& wanted) {
  Merit merit;
  merit.prefers = std::count_if(wanted.prefers.begin(), wanted.prefers.end(),
                                [&](const std::string& each) { return has(place.about, each); });
  if (!place.left) return merit;
  merit.has_room = place.left->leases > 0 && place.left->bytes >= wanted.bytes;
  merit.free_bits = static_cast<int>(std::bit_width(place.left->bytes));
  return merit;
}

std::map<std::string, Offer> offers_of(const std::vector<KeyValue>& entries) {
  std::map<std::string, Offer> offers;
  for (const KeyValue& each : entries)
    if (const auto offer = read_offer(each.value)) offers[name_of(each.key, kOffers)] = *offer;
  return offers;
}

/// What keeps it from being asked; empty where nothing does.
std::string fault_of(const Result<Registration>& about, const PlaceWanted& wanted) {
  if (!about) return "what etcd has of it cannot be read";
  for (const std::string& each : wanted.labels)
    if (!has(*about, each)) return fmt::format("it has no label {}", each);
  if (about->memory_bytes != 0 && about->memory_bytes < wanted.bytes)
    return fmt::format("it gives {} bytes to leases in all", about->memory_bytes);
  return {};
}

void order(std::vector<Place>& places, const PlaceWanted& wanted, std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  std::shuffle(places.begin(), places.end(), chance);
  std::stable_sort(places.begin(), places.end(), [&](const Place& one, const Place& other) {
    return merit_of(one, wanted).tied() > merit_of(other, wanted).tied();
  });
}

}  // namespace

Result<Places> find_places(Etcd& etcd, const PlaceWanted& wanted, std::uint64_t seed) {
  PORTCULLIS_TRY_ASSIGN(
      const auto answer,
      etcd.txn({.success = {all_of(kMembers), all_of(kSessions), all_of(kOffers)}}));
  if (answer.found.size() != 3)
    return fail(Errc::Malformed, "etcd answers three reads with others");
  std::map<std::string, Result<Registration>> present;
  for (const KeyValue& each : answer.found[1])
    present.emplace(name_of(each.key, kSessions), read_registration(each.value));
  const auto offers = offers_of(answer.found[2]);
  Places places;
  for (const KeyValue& each : answer.found[0])
    if (const std::string name = name_of(each.key, kMembers); !present.contains(name))
      places.unfit.push_back({.name = name, .why = "it has no session with etcd"});
  for (const auto& [name, about] : present) {
    if (std::string why = fault_of(about, wanted); !why.empty()) {
      places.unfit.push_back({.name = name, .why = std::move(why)});
      continue;
    }
    Place place{.name = name, .about = *about};
    const auto offer = offers.find(name);
    if (offer != offers.end() && offer->second.node == about->node) place.left = offer->second.left;
    places.fit.push_back(std::move(place));
  }
  order(places.fit, wanted, seed);
  return places;
}

}  // namespace portcullis::fleet
