// SPDX-License-Identifier: BSD-3-Clause
//
// What nobody may guess is not the same twice, and a PSN fits its field.
#include "base/entropy.hpp"

#include <gtest/gtest.h>

namespace portcullis {
namespace {

TEST(Entropy, TwoNumbersDiffer) { EXPECT_NE(random_number().value(), random_number().value()); }

TEST(Entropy, Psn_Has24Bits) { EXPECT_LT(random_psn().value(), 1U << 24); }

}  // namespace
}  // namespace portcullis
