// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/explorer.hpp"

#include <fmt/format.h>

#include "failover/explore/engine.hpp"

namespace portcullis::failover {
namespace {

template <unsigned kWords>
Exploration explore_words(const Machine& machine, const ExploreOptions& options) {
  if (options.set == SetKind::Fingerprint)
    return Engine<kWords, FingerprintKey<kWords>>(machine, options).run();
  // The last word may be half empty, and then half of it is not stored.
  if (kWords <= 3 && machine.last_word_bits <= 32)
    return Engine<kWords, ExactKey<kWords, kWords * 8 - 4>>(machine, options).run();
  return Engine<kWords, ExactKey<kWords, kWords * 8>>(machine, options).run();
}

}  // namespace

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
    switch (machine.state_words) {
      case 1:
        return explore_words<1>(machine, options);
      case 2:
        return explore_words<2>(machine, options);
      case 3:
        return explore_words<3>(machine, options);
      case 4:
        return explore_words<4>(machine, options);
      case 5:
        return explore_words<5>(machine, options);
      default:
        return explore_words<6>(machine, options);
    }
  } catch (const std::bad_alloc&) {
    return fail(Errc::OutOfResources,
                fmt::format("model {}: the kernel gives no more memory", machine.scenario.name));
  }
}

double omission_bound(std::uint64_t states) noexcept {
  const auto n = static_cast<double>(states);
  return n * (n - 1) / 2 / 18446744073709551616.0;
}

}  // namespace portcullis::failover
