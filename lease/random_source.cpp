// SPDX-License-Identifier: BSD-3-Clause
#include "lease/random_source.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace portcullis::lease {

Result<std::uint64_t> RandomSource::draw() {
  if (seeded_) return (*seeded_)();
  std::uint64_t value = 0;
  // Up to 256 bytes come whole, whatever signal arrives (getrandom(2)).
  if (getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value)) return value;
  return fail(Errc::System, std::string("getrandom: ") + std::strerror(errno));
}

}  // namespace portcullis::lease
