// SPDX-License-Identifier: BSD-3-Clause
#include "tools/leasectl/one_cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace portcullis::tools::leasectl {

Result<void> check_one_cluster(fleet::Etcd& etcd, const World& world) {
  constexpr std::uint64_t kCompareMs = 500;
  PORTCULLIS_TRY_ASSIGN(const auto silent, etcd.compare_endpoints(kCompareMs));
  if (!silent.empty() && world.warn)
    world.warn(fmt::format("not asked of which cluster it is, for it does not answer: etcd {}",
                           fmt::join(silent, ", ")));
  return {};
}

Result<bool> is_one_cluster(fleet::Etcd& etcd, const World& world) {
  PORTCULLIS_TRY(etcd.range({.key = "/portcullis/"}));
  const auto checked = check_one_cluster(etcd, world);
  if (!checked && world.warn) world.warn(checked.error().text + "; nothing was asked or written");
  return checked.has_value();
}

}  // namespace portcullis::tools::leasectl
