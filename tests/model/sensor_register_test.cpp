// SPDX-License-Identifier: BSD-3-Clause
//
// How warm the card says it is, and the light of its port.
#include <gtest/gtest.h>

#include "prm/management_registers.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {
namespace {

using prm::CommandStatus;
using Id = prm::ManagementRegisterId;

class SensorRegisters : public ::testing::Test {
 protected:
  SensorRegisters() { driver_.bring_up(); }

  template <class L>
  static Answer access(MiniDriver& driver, Id id, const prm::Buffer<L>& data,
                       prm::AccessRegisterOpMod op_mod = prm::AccessRegisterOpMod::READ) {
    auto in = command<prm::access_register_in>(prm::Opcode::ACCESS_REG);
    in.put<"op_mod">(op_mod).put<"register_id">(prm::number(id));
    std::vector<std::byte> message(in.all().begin(), in.all().end());
    message.insert(message.end(), data.all().begin(), data.all().end());
    return driver.execute(message, prm::access_register_out::bytes + L::bytes);
  }
  template <class L>
  Answer write(Id id, const prm::Buffer<L>& data) {
    return access(driver_, id, data, prm::AccessRegisterOpMod::WRITE);
  }
  template <class L>
  static prm::ConstView<L> data_of(const Answer& answer) {
    return prm::ConstView<L>::at(answer.out, prm::access_register_out::bytes);
  }
  Answer beacon() {
    prm::Buffer<prm::mlcr_reg> port;
    port.set<"local_port", 1>();
    return access(driver_, Id::MLCR, port);
  }

  MiniDriver driver_;
};

/// mlxcx_setup_sensors of illumos takes as many sensors as there are, from 0 on.
TEST_F(SensorRegisters, OneSensor_IsTheFirst) {
  const Answer answer = access(driver_, Id::MTCAP, prm::Buffer<prm::mtcap_reg>{});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(data_of<prm::mtcap_reg>(answer).get<"sensor_count">(), 1U);
  EXPECT_EQ(data_of<prm::mtcap_reg>(answer).get<"sensor_map">(), 1U);
  EXPECT_EQ(write(Id::MTCAP, prm::Buffer<prm::mtcap_reg>{}).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SensorRegisters, Temperature_IsInEighthsOfADegree) {
  const Answer answer = access(driver_, Id::MTMP, prm::Buffer<prm::mtmp_reg>{});
  ASSERT_TRUE(answer.ok());
  const auto now = data_of<prm::mtmp_reg>(answer);
  EXPECT_EQ(now.get<"temperature">(), 45U * 8);
  EXPECT_EQ(now.get<"temp_threshold_hi">(), 105U * 8);
  EXPECT_EQ(now.get<"max_temperature">(), 0U);
  EXPECT_EQ(now.get<"sensor_name_hi">(), 0x61736963U);  // "asic"
}

/// As mlx5_hwmon_enable_max_temp of Linux 6.12 asks for it.
TEST_F(SensorRegisters, HighestTemperature_IsKeptOnceItIsAskedFor) {
  prm::Buffer<prm::mtmp_reg> data;
  data.set<"mte", 1>().set<"tee", 2>().set<"temp_threshold_hi", 800>();
  ASSERT_TRUE(write(Id::MTMP, data).ok());
  const Answer answer = access(driver_, Id::MTMP, prm::Buffer<prm::mtmp_reg>{});
  const auto now = data_of<prm::mtmp_reg>(answer);
  EXPECT_EQ(now.get<"mte">(), 1U);
  EXPECT_EQ(now.get<"tee">(), 2U);
  EXPECT_EQ(now.get<"max_temperature">(), now.get<"temperature">());
  EXPECT_EQ(now.get<"temp_threshold_hi">(), 800U);
}

TEST_F(SensorRegisters, SensorOfTheModule_SaysNothingAndOthersAreNone) {
  prm::Buffer<prm::mtmp_reg> data;
  data.set<"sensor_index", 64>();
  const Answer module = access(driver_, Id::MTMP, data);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(data_of<prm::mtmp_reg>(module).get<"temperature">(), 0U);
  EXPECT_EQ(data_of<prm::mtmp_reg>(module).get<"sensor_index">(), 64U);
  data.set<"sensor_index", 1>();
  EXPECT_EQ(access(driver_, Id::MTMP, data).status, CommandStatus::BAD_PARAM_ERR);
}

TEST_F(SensorRegisters, Beacon_RunsOutAfterItsSeconds) {
  prm::Buffer<prm::mlcr_reg> data;
  data.set<"local_port", 1>().set<"beacon_duration", 10>();
  ASSERT_TRUE(write(Id::MLCR, data).ok());
  EXPECT_EQ(data_of<prm::mlcr_reg>(beacon()).get<"beacon_remain">(), 10U);
  driver_.pass(4 * kNsPerSecond);
  EXPECT_EQ(data_of<prm::mlcr_reg>(beacon()).get<"beacon_duration">(), 10U);
  EXPECT_EQ(data_of<prm::mlcr_reg>(beacon()).get<"beacon_remain">(), 6U);
  driver_.pass(20 * kNsPerSecond);
  EXPECT_EQ(data_of<prm::mlcr_reg>(beacon()).get<"beacon_remain">(), 0U);
}

/// MLX5_BEACON_DURATION_INF and _OFF of include/linux/mlx5/port.h; mlxcx of illumos sets led_type.
TEST_F(SensorRegisters, BeaconForEver_GoesUntilItIsSwitchedOff) {
  prm::Buffer<prm::mlcr_reg> data;
  data.set<"local_port", 1>().set<"beacon_duration", 0xffff>();
  data.all()[3] = std::byte{2};
  ASSERT_TRUE(write(Id::MLCR, data).ok());
  driver_.pass(100'000 * kNsPerSecond);
  EXPECT_EQ(data_of<prm::mlcr_reg>(beacon()).get<"beacon_remain">(), 0xffffU);
  data.set<"beacon_duration", 0>();
  ASSERT_TRUE(write(Id::MLCR, data).ok());
  EXPECT_EQ(data_of<prm::mlcr_reg>(beacon()).get<"beacon_remain">(), 0U);
}

TEST_F(SensorRegisters, BeaconOfNoPort_IsABadParameter) {
  EXPECT_EQ(access(driver_, Id::MLCR, prm::Buffer<prm::mlcr_reg>{}).status,
            CommandStatus::BAD_PARAM_ERR);
}

/// mtmp of mlx5_ifc_mcam_access_reg_bits of Linux 6.8, by which its hwmon goes, is bit 0x75.
TEST_F(SensorRegisters, AreListed) {
  const Answer answer = access(driver_, Id::MCAM, prm::Buffer<prm::mcam_reg>{});
  const auto mask = data_of<prm::mcam_reg>(answer).bytes<"mng_access_reg_cap_mask">();
  EXPECT_EQ(mask[0x75 / 8] >> (7 - 0x75 % 8) & std::byte{1}, std::byte{1});
}

TEST_F(SensorRegisters, OfAVirtualFunction_AreNone) {
  MiniDriver driver({.virtual_function = true});
  driver.bring_up();
  prm::Buffer<prm::mlcr_reg> port;
  port.set<"local_port", 1>();
  EXPECT_EQ(access(driver, Id::MLCR, port).status, CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(access(driver, Id::MTCAP, prm::Buffer<prm::mtcap_reg>{}).status,
            CommandStatus::BAD_PARAM_ERR);
  EXPECT_EQ(access(driver, Id::MTMP, prm::Buffer<prm::mtmp_reg>{}).status,
            CommandStatus::BAD_PARAM_ERR);
}

}  // namespace
}  // namespace portcullis::model::testing
