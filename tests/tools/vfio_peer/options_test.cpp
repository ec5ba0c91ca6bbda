// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments of vfio-peer.
#include "tools/vfio_peer/options.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace portcullis::tools::vfio_peer {
namespace {

using ::testing::HasSubstr;

Result<Options> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "vfio-peer");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string refusal(std::vector<const char*> arguments) {
  const auto options = parse(std::move(arguments));
  return options ? "accepted" : options.error().text;
}

TEST(Arguments, DeviceAlone_TakesTheDefaults) {
  const auto options = parse({"--device", "0000:01:00.0"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->bdf, "0000:01:00.0");
  EXPECT_FALSE(options->latency);
  EXPECT_EQ(options->samples, 5U);
}

TEST(Arguments, ThoseOfAFence_AreTaken) {
  const auto options = parse({"--device=0000:01:00.0", "--bytes=64", "--writes=1"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->bytes, 64U);
  EXPECT_EQ(options->writes, 1U);
}

TEST(Arguments, ThoseOfALatency_AreTaken) {
  const auto options = parse({"--device=0000:01:00.0", "--latency", "--samples=7"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->latency);
  EXPECT_EQ(options->samples, 7U);
}

TEST(Arguments, ThoseWithoutEffect_AreRefusedByName) {
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--latency", "--bytes=64"}), HasSubstr("--bytes"));
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--latency", "--writes=1"}), HasSubstr("--writes"));
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--samples=7"}), HasSubstr("--latency"));
}

TEST(Arguments, Help_NamesBothOrdersAndWhatEachMeans) {
  const auto options = parse({"--help"});
  ASSERT_TRUE(options && options->text);
  EXPECT_THAT(*options->text, HasSubstr("2ERR_QP, then DESTROY_MKEY"));
  EXPECT_THAT(*options->text, HasSubstr("status 10"));
}

TEST(Arguments, NoDevice_IsRefused) { EXPECT_THAT(refusal({}), HasSubstr("--device is required")); }

TEST(Arguments, NoPciAddress_IsRefusedWithAnExample) {
  EXPECT_THAT(refusal({"--device", "mlx5_0"}), HasSubstr("\"mlx5_0\" is no PCI address"));
  EXPECT_THAT(refusal({"--device", "mlx5_0"}), HasSubstr("0000:03:00.0"));
}

TEST(Arguments, SizesOutOfRange_AreRefusedWithTheRange) {
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--bytes=63"}), HasSubstr("64"));
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--bytes=1048577"}), HasSubstr("1048576"));
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--writes=33"}), HasSubstr("32"));
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--samples=0"}), HasSubstr("samples"));
}

TEST(Arguments, UnknownOption_IsRefusedByName) {
  EXPECT_THAT(refusal({"--device=0000:01:00.0", "--speed=9"}), HasSubstr("--speed"));
}

}  // namespace
}  // namespace portcullis::tools::vfio_peer
