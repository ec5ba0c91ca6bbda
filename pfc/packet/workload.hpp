// SPDX-License-Identifier: BSD-3-Clause
//
// Messages to send, from a file or made up: incast, permutation, and random ones whose sizes follow
// a distribution.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "pfc/packet/options.hpp"
#include "pfc/topology.hpp"

namespace portcullis::pfc::packet {

/// Sizes and how many of 100 are at most so large; linear in between.
class SizeDistribution {
 public:
  /// Lines of "SIZE PERCENT" from 0 to 100, as the traffic generator of the HPCC repository has
  /// them. InvalidArgument names `file` and the line.
  [[nodiscard]] static Result<SizeDistribution> parse(std::string_view text,
                                                      const std::string& file);
  /// Web search: Alizadeh et al., SIGCOMM 2010. Storage: Alibaba's of 2019, of Li et al., SIGCOMM
  /// 2019. Both as the HPCC repository publishes them.
  [[nodiscard]] static SizeDistribution web_search();
  [[nodiscard]] static SizeDistribution storage();

  [[nodiscard]] double mean() const;
  /// Of `part`, 0 to 1; at least 1.
  [[nodiscard]] std::uint64_t size(double part) const;

 private:
  std::vector<std::pair<double, double>> points_;  // size, percent
};

/// "from,to,bytes,start_us,priority" and a line for each message; the last may be left out and is 0
/// then. InvalidArgument names `file`, line and field.
[[nodiscard]] Result<std::vector<Message>> read_messages(std::string_view text,
                                                         const std::string& file,
                                                         const Topology& topology);

struct MadeUp {
  std::uint32_t priority = 0;
  std::uint64_t seed = 1;
  Picoseconds until = 0;  // nothing starts later
};

/// `senders` hosts send `bytes` to one other, all at once, again every `every` (0: once).
[[nodiscard]] Result<std::vector<Message>> incast(const Topology& topology, std::uint32_t senders,
                                                  std::uint64_t bytes, Picoseconds every,
                                                  const MadeUp& made);
/// Every host sends `bytes` to one other at 0, and is sent to by one.
[[nodiscard]] Result<std::vector<Message>> permutation(const Topology& topology,
                                                       std::uint64_t bytes, const MadeUp& made);
/// Between any two hosts at random, so that each offers `load` (0 to 1) of its link: Poisson
/// arrivals.
[[nodiscard]] Result<std::vector<Message>> random_messages(const Topology& topology,
                                                           const SizeDistribution& sizes,
                                                           double load, const MadeUp& made);

}  // namespace portcullis::pfc::packet
