// SPDX-License-Identifier: BSD-3-Clause
//
// Arguments of lease-serve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/lease_serve/program.hpp"

namespace portcullis::tools::lease_serve {
namespace {

using ::testing::HasSubstr;

Result<Options> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "lease-serve");
  return parse_options(static_cast<int>(words.size()), words.data());
}

TEST(LeaseServeOptions, EverythingIsTaken) {
  const auto options =
      parse({"-l",        "2",        "--",   "--device", "0000:03:00.0", "--address",
             "192.0.2.1", "--listen", "7471", "--plan",   "nak-first",    "--timeout",
             "12",        "--retry",  "3",    "--access", "write+atomic", "--revoke-after-ms",
             "2000",      "--bytes",  "8192"});

  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->eal, (std::vector<std::string>{"lease-serve", "-l", "2"}));
  EXPECT_EQ(options->address, pmd::Gid::from_ipv4(192, 0, 2, 1));
  EXPECT_EQ(options->plan.name, "nak-first");
  EXPECT_EQ(options->terms.timeout, 12U);
  EXPECT_TRUE(options->terms.access.remote_atomic && options->terms.access.local_write);
  EXPECT_FALSE(options->terms.access.remote_read);
}

TEST(LeaseServeOptions, HelpIsAText) {
  EXPECT_THAT(parse({"--help"})->text.value(), HasSubstr("--revoke-after-ms"));
  EXPECT_THAT(parse({"--", "--help"})->text.value(), HasSubstr("exit status"));
}

TEST(LeaseServeOptions, FillIsTheWholeFile) {
  const std::string file = ::testing::TempDir() + "lease_serve_fill";
  std::ofstream(file) << "twelve bytes";

  const auto options =
      parse({"--", "--device", "model", "--listen", "1", "--bytes", "12", "--fill", file.c_str()});
  const auto small =
      parse({"--", "--device", "model", "--listen", "1", "--bytes", "11", "--fill", file.c_str()});
  std::filesystem::remove(file);

  ASSERT_TRUE(options) << options.error().text;
  EXPECT_EQ(options->contents, "twelve bytes");
  EXPECT_THAT(small.error().text, HasSubstr("more than the 11 bytes of the region"));
}

struct Bad {
  const char* name;
  std::vector<const char*> words;
  const char* told;
};

class LeaseServeArguments : public ::testing::TestWithParam<Bad> {};

TEST_P(LeaseServeArguments, AreOneLine) {
  const auto options = parse(GetParam().words);

  ASSERT_FALSE(options);
  EXPECT_THAT(options.error().text, HasSubstr(GetParam().told));
  EXPECT_EQ(options.error().text.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Words, LeaseServeArguments,
    ::testing::Values(
        Bad{"NoDevice", {"--", "--listen", "7471"}, "--device is required"},
        Bad{"NoWay", {"--", "--device", "model"}, "--listen [HOST:]PORT"},
        Bad{"OneFile", {"--", "--device", "model", "--grant-file", "x"}, "both --request-file"},
        Bad{"BeforeTheDashes", {"--device", "model"}, "--device must come after --"},
        Bad{"Fill", {"--", "--device", "model", "--listen", "1", "--fill", "/no"}, "--fill /no"},
        Bad{"FillFolder", {"--", "--device", "model", "--listen", "1", "--fill", "/"}, "--fill /"},
        Bad{"Plan", {"--", "--device", "model", "--listen", "1", "--plan", "hope"}, "'hope'"},
        Bad{"Steering",
            {"--", "--device", "model", "--listen", "1", "--steering", "on"},
            "steering 'on'; accepted are dst-qp"},
        Bad{"PlanWithoutItsEntry",
            {"--", "--device", "model", "--listen", "1", "--plan", "allow-modify", "--steering",
             "off"},
            "--plan allow-modify: --steering off: the plan has its entry from the grant on; "
            "offered"},
        Bad{"PlanWithoutAShape",
            {"--", "--device", "model", "--listen", "1", "--plan", "underlay", "--steering",
             "dst-qp"},
            "--plan underlay: --steering dst-qp: an underlay has no shape to choose; offered or "
            "try is accepted"},
        Bad{"Address", {"--", "--device", "model", "--listen", "1", "--address", "here"}, "'here'"},
        Bad{"Access", {"--", "--device", "model", "--listen", "1", "--access", "own"}, "own"},
        Bad{"Timeout", {"--", "--device", "model", "--listen", "1", "--timeout", "0"}, "--timeout"},
        Bad{"Retry", {"--", "--device", "model", "--listen", "1", "--retry", "8"}, "--retry"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portcullis::tools::lease_serve
