// SPDX-License-Identifier: BSD-3-Clause
#include "lease/random_source.hpp"

#include "base/entropy.hpp"

namespace portcullis::lease {

Result<std::uint64_t> RandomSource::draw() {
  if (seeded_) return (*seeded_)();
  return random_number();
}

}  // namespace portcullis::lease
