// SPDX-License-Identifier: BSD-3-Clause
//
// A ConnectX-5 in software and the driver on it. What the PCI function is told is written down.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.hpp"
#include "pmd/hca.hpp"

namespace portcullis::testing {

/// Hands everything on and keeps a list: "master on", "master off", "reset".
class RecordingFunction final : public PciFunction {
 public:
  explicit RecordingFunction(PciFunction& function) : function_(&function) {}
  [[nodiscard]] std::uint16_t vendor_id() const override { return vendor; }
  [[nodiscard]] std::uint16_t device_id() const override {
    return device != 0 ? device : function_->device_id();
  }
  Result<void> set_bus_master(bool on) override {
    calls.push_back(on ? "master on" : "master off");
    if (refuse_bus_master) return fail(Errc::System, "bus mastering refused");
    return function_->set_bus_master(on);
  }
  Result<void> reset() override {
    calls.emplace_back("reset");
    if (refuse_reset) return fail(Errc::System, "reset refused");
    return function_->reset();
  }

  std::uint16_t vendor = 0x15b3;
  std::uint16_t device = 0;  // 0: the function's own
  bool refuse_reset = false;
  bool refuse_bus_master = false;
  std::vector<std::string> calls;

 private:
  PciFunction* function_;
};

struct HcaRig {
  explicit HcaRig(const model::Options& options = {})
      : model(model::Model::create(options).value()), function(*model->device().function) {
    device.function = &function;
  }
  [[nodiscard]] Result<std::unique_ptr<pmd::Hca>> bring_up() {
    return pmd::Hca::bring_up(device, {.log = [this](auto line) { log.emplace_back(line); }});
  }
  void inject(unsigned opcode, model::CommandFaultRule::Kind kind, std::uint32_t nth = 1) {
    model->inject(model::CommandFaultRule{
        .opcode = static_cast<std::uint16_t>(opcode), .kind = kind, .status = 0x5, .nth = nth});
  }

  std::unique_ptr<model::Model> model;
  RecordingFunction function;
  Device device = model->device();
  std::vector<std::string> log;
};

}  // namespace portcullis::testing
