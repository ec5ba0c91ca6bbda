// SPDX-License-Identifier: BSD-3-Clause
#include "base/clock.hpp"

#include <ctime>

namespace portcullis {
namespace {

std::uint64_t monotonic_ns(const void* /*context*/) noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

Clock Clock::wall() noexcept { return Clock{&monotonic_ns, nullptr, false}; }

}  // namespace portcullis
