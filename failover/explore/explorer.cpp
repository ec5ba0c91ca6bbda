// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/explorer.hpp"

#include <fmt/format.h>

#include "failover/explore/engine.hpp"

namespace portcullis::failover {

Result<Exploration> explore(const Machine& machine, const ExploreOptions& options) {
  if (options.threads < 1 || options.threads > 16)
    return fail(Errc::InvalidArgument,
                fmt::format("threads is {}, accepted are 1 to 16", options.threads));
  if (options.uses_symmetry && machine.scenario.has_history)
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: symmetry with a history is not supported, accepted is one "
                            "of them",
                            machine.scenario.name));
  try {
    const std::unique_ptr<const Collapse> collapse =
        options.collapses ? Collapse::of(machine) : nullptr;
    const Machine& view = collapse == nullptr ? machine : collapse->view();
    switch (view.state_words) {
      case 1:
        return Engine<1>(machine, collapse.get(), options).run();
      case 2:
        return Engine<2>(machine, collapse.get(), options).run();
      case 3:
        return Engine<3>(machine, collapse.get(), options).run();
      case 4:
        return Engine<4>(machine, collapse.get(), options).run();
      case 5:
        return Engine<5>(machine, collapse.get(), options).run();
      default:
        return Engine<6>(machine, collapse.get(), options).run();
    }
  } catch (const std::bad_alloc&) {
    return fail(Errc::OutOfResources,
                fmt::format("model {}: the kernel gives no more memory", machine.scenario.name));
  }
}

double omission_bound(const Exploration& explored) noexcept {
  if (explored.is_exact) return 0;
  const auto n = static_cast<double>(explored.states);
  return n * (n - 1) / 2 / 18446744073709551616.0;
}

}  // namespace portcullis::failover
