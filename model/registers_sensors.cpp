// SPDX-License-Identifier: BSD-3-Clause
//
// How warm the card is (MTCAP, MTMP), and the light that shows which port is which (MLCR). They are
// a physical function's, as all that MCAM lists is.
#include <algorithm>

#include "model/core.hpp"
#include "model/register_access.hpp"
#include "prm/management_registers.hpp"

namespace portcullis::model::registers {
namespace {

constexpr std::uint32_t kNameOfChip = 0x61736963;  // "asic", then zeros

void write_mtmp(Thermometer& thermometer, prm::ConstView<prm::mtmp_reg> in) {
  thermometer.keeps_highest = in.get<"mte">() != 0;
  thermometer.warns = static_cast<std::uint8_t>(in.get<"tee">());
  thermometer.too_warm = static_cast<std::uint16_t>(in.get<"temp_threshold_hi">());
  thermometer.well_again = static_cast<std::uint16_t>(in.get<"temp_threshold_lo">());
}

/// What is left of the beacon, in seconds begun.
std::uint16_t beacon_remain(const PortSettings& port, std::uint64_t now_ns) {
  if (port.beacon_seconds == prm::kBeaconForEver) return prm::kBeaconForEver;
  const std::uint64_t lit = (now_ns - port.beacon_since_ns) / kNsPerSecond;
  return static_cast<std::uint16_t>(port.beacon_seconds -
                                    std::min<std::uint64_t>(lit, port.beacon_seconds));
}

}  // namespace

/// The chip's alone: "Module sensors are not included" (node mtcap of mstflint's
/// register_access_table.adb).
Verdict mtcap(Core& core, const RegisterAccess& access) {
  if (core.capabilities.is_virtual_function()) return bad_param(kNoSuchRegister);
  if (access.write) return bad_param(kReadOnly);
  const auto out = prm::View<prm::mtcap_reg>::at(access.out);
  out.set<"sensor_count", 1>();
  out.put<"sensor_map">(std::uint64_t{1} << prm::kSensorOfChip);
  return {};
}

/// The module's sensor is there and has no temperature: mlx5_hwmon_is_module_mon_cap of Linux 6.12
/// gives up all sensors where that is refused.
Verdict mtmp(Core& core, const RegisterAccess& access) {
  if (core.capabilities.is_virtual_function()) return bad_param(kNoSuchRegister);
  const auto in = prm::ConstView<prm::mtmp_reg>::at(access.in);
  const auto out = prm::View<prm::mtmp_reg>::at(access.out);
  const std::uint32_t sensor = in.get<"sensor_index">();
  static_cast<void>(out.try_set<"sensor_index">(sensor));
  if (sensor == prm::kFirstSensorOfModules) return {};
  if (sensor != prm::kSensorOfChip) return bad_param(kNoSuchSensor);
  if (access.write) write_mtmp(core.thermometer, in);
  const Thermometer& now = core.thermometer;
  out.put<"temperature">(Thermometer::kNow);
  static_cast<void>(out.try_set<"mte">(now.keeps_highest ? 1 : 0));
  out.put<"max_temperature">(now.keeps_highest ? Thermometer::kNow : std::uint16_t{0});
  static_cast<void>(out.try_set<"tee">(now.warns));
  out.put<"temp_threshold_hi">(now.too_warm);
  out.put<"temp_threshold_lo">(now.well_again);
  out.put<"sensor_name_hi">(kNameOfChip);
  return {};
}

/// mlx5_set_port_beacon of mlx5/core/port.c writes it; mlxcx_cmd_set_port_led of illumos says also
/// which of a port's lights it means, in bits that Linux's header keeps reserved.
Verdict mlcr(Core& core, const RegisterAccess& access) {
  if (core.capabilities.is_virtual_function()) return bad_param(kNoSuchRegister);
  if (const Verdict bad = check_port<prm::mlcr_reg>(access); !bad.ok()) return bad;
  if (access.write) {
    core.port.beacon_seconds = static_cast<std::uint16_t>(
        prm::ConstView<prm::mlcr_reg>::at(access.in).get<"beacon_duration">());
    core.port.beacon_since_ns = core.scheduler.now_ns();
  }
  const auto out = prm::View<prm::mlcr_reg>::at(access.out);
  out.put<"beacon_duration">(core.port.beacon_seconds);
  out.put<"beacon_remain">(beacon_remain(core.port, core.scheduler.now_ns()));
  return {};
}

}  // namespace portcullis::model::registers
