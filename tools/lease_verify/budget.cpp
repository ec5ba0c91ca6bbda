// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/budget.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"

namespace portcullis::tools::lease_verify {
namespace {

double ms(std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

}  // namespace

std::string Budget::least_text() const {
  return fmt::format("({} + 1) x 4.096 us x 2^{} = {:.3f} ms", retry, timeout, ms(least_ns()));
}

std::string Budget::most_text() const {
  return fmt::format("4 times that, as the standard lets a timer run: {:.3f} ms", ms(most_ns()));
}

}  // namespace portcullis::tools::lease_verify
