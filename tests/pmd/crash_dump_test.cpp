// SPDX-License-Identifier: BSD-3-Clause
//
// A crash dump of the model, word for word, and whatever may stand in its way as one line.
#include "pmd/crash_dump.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/config_access.hpp"
#include "model/model.hpp"
#include "model/vendor_gateway.hpp"
#include "prm/vendor_space.hpp"

namespace portcullis::pmd {
namespace {

using model::VendorGateway;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<model::Model> open_model(const model::Options& options = {}) {
  return model::Model::create(options).value();
}

Result<CrashDump> dump_of(const std::string& behaviour) {
  const auto opened = open_model({.behaviours = {behaviour}});
  return read_crash_dump(opened->device(), {.semaphore_ms = 20, .answer_ms = 5});
}

TEST(CrashDump, OfAModel_IsItsSpaceWordForWordWithoutTheHole) {
  const auto opened = open_model();
  const CrashDump dump = read_crash_dump(opened->device()).value();
  EXPECT_TRUE(dump.is_whole);
  EXPECT_EQ(dump.space_bytes, VendorGateway::kSpaceBytes);
  constexpr std::uint32_t kHole = VendorGateway::kHoleTo - VendorGateway::kHoleFrom;
  ASSERT_EQ(dump.words.size(), (VendorGateway::kSpaceBytes - kHole) / 4);
  EXPECT_EQ(dump.words.front().address, 0U);
  EXPECT_EQ(dump.words.back().address, VendorGateway::kSpaceBytes - 4);
  for (const CrashWord& word : dump.words)
    EXPECT_EQ(word.value, VendorGateway::word_at(word.address)) << word.address;
}

TEST(CrashDump, ReadTwice_FindsBothSemaphoresFree) {
  const auto opened = open_model();
  ASSERT_TRUE(read_crash_dump(opened->device()));
  EXPECT_TRUE(read_crash_dump(opened->device()));
}

TEST(CrashDump, ToldToStop_TellsWhatItHasAndLetsGo) {
  const auto opened = open_model();
  int asked = 0;
  const auto part =
      read_crash_dump(opened->device(), {.is_stopped = [&asked] { return ++asked > 10; }}).value();
  EXPECT_FALSE(part.is_whole);
  EXPECT_EQ(part.words.size(), 10U);
  EXPECT_TRUE(read_crash_dump(opened->device())->is_whole);
}

TEST(CrashDump, DeadlineThatPasses_TellsWhatItHas) {
  const auto opened = open_model();
  const auto part = read_crash_dump(opened->device(), {.deadline_ms = 0}).value();
  EXPECT_FALSE(part.is_whole);
  EXPECT_TRUE(part.words.empty());
}

struct Case {
  const char* behaviour;
  Errc code;
  const char* told;
};

class NoCrashDump : public ::testing::TestWithParam<Case> {};

TEST_P(NoCrashDump, IsOneLine) {
  const auto dump = dump_of(GetParam().behaviour);
  ASSERT_FALSE(dump);
  EXPECT_EQ(dump.error().code, GetParam().code);
  EXPECT_THAT(dump.error().text, AllOf(HasSubstr(GetParam().told), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Sides, NoCrashDump,
    ::testing::Values(Case{"crash-dump=absent", Errc::Unsupported, "no vendor specific"},
                      Case{"crash-dump=refused", Errc::Unsupported, "no space 0x7"},
                      Case{"crash-dump=held", Errc::Busy, "another holds the semaphore"},
                      Case{"crash-dump=stuck", Errc::DeviceFailed, "has not answered"}));

TEST(CrashDump, OfAVirtualFunction_IsNone) {
  const auto opened = open_model({.virtual_function = true});
  EXPECT_EQ(read_crash_dump(opened->device()).error().code, Errc::Unsupported);
}

/// One whose scan goes round for ever would be read for ever.
class BackwardsFunction final : public PciFunction, public ConfigAccess {
 public:
  std::uint16_t vendor_id() const override { return 0x15b3; }
  std::uint16_t device_id() const override { return 0x1017; }
  Result<void> set_bus_master(bool) override { return {}; }
  Result<void> reset() override { return {}; }
  Result<std::uint32_t> read_config_dword(std::uint32_t offset) override {
    namespace vsc = prm::vsc;
    if (offset == 0x34) return 0xc0U;
    if (offset == 0xc0) return VendorGateway::header(0);
    const std::uint32_t value = gateway_.read(offset - 0xc0);
    const bool is_scan_answer = offset == 0xc0 + vsc::kAddress && (value & vsc::kFlag) != 0 &&
                                (value & vsc::kAddressMask) > 0x100;
    return is_scan_answer ? vsc::kFlag | 0x10U : value;
  }
  Result<void> write_config_dword(std::uint32_t offset, std::uint32_t value) override {
    gateway_.write(offset - 0xc0, value);
    return {};
  }

 private:
  VendorGateway gateway_{std::nullopt};
};

TEST(CrashDump, ScanThatGoesBackwards_IsAnErrorAndNoEndlessLoop) {
  const auto opened = open_model();
  BackwardsFunction function;
  Device device = opened->device();
  device.function = &function;
  const auto dump = read_crash_dump(device);
  EXPECT_THAT(dump.error().text, HasSubstr("back to 0x10"));
}

TEST(CrashDump, DeviceWithoutConfigurationSpace_IsOneLine) {
  const auto opened = open_model();
  Device device = opened->device();
  device.function = nullptr;
  EXPECT_EQ(read_crash_dump(device).error().code, Errc::Unsupported);
}

}  // namespace
}  // namespace portcullis::pmd
