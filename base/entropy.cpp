// SPDX-License-Identifier: BSD-3-Clause
#include "base/entropy.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace portcullis {

Result<std::uint64_t> random_number() {
  std::uint64_t number = 0;
  // Up to 256 bytes come whole and are not interrupted, getrandom(2).
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  return fail(Errc::System, "getrandom: " + std::generic_category().message(errno));
}

Result<std::uint32_t> random_psn() {
  constexpr std::uint64_t k24Bits = 0xffffff;
  PORTCULLIS_TRY_ASSIGN(const std::uint64_t number, random_number());
  return static_cast<std::uint32_t>(number & k24Bits);
}

}  // namespace portcullis
