// SPDX-License-Identifier: BSD-3-Clause
//
// Which packets of a port to itself arrive: by its own address and forced back (ads.fl), of each
// path MTU, under a key that names its QP (mkc.qpn), and with the link down.
#pragma once

#include <functional>
#include <vector>

#include "base/result.hpp"
#include "light/facts.hpp"
#include "pmd/context.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::light {

struct ReachOptions {
  /// The link may be taken down, and is up again afterwards. Of an Ethernet port alone.
  bool may_take_link_down = false;
  std::uint64_t link_wait_ms = 10'000;
  /// Asked before each; its error ends the step.
  std::function<Result<void>()> check_time = {};
};

/// `path` leads from the port to itself. Each into `to` as it is known.
[[nodiscard]] Result<void> ask_of_ways(const pmd::Context& context, const pmd::RocePath& path,
                                       const ReachOptions& options, std::vector<ReachFact>& to);

}  // namespace portcullis::light
