// SPDX-License-Identifier: BSD-3-Clause
//
// A device opened and brought up, or found up in its kernel driver's hands. The one way there from
// a DeviceSpec: a polled model is served on a core of its own, and whoever wants to see or to bend
// what the driver is given says so with Options::present. What a port needs beside it is in
// attach/port.hpp.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "attach/open_device.hpp"
#include "attach/recording_channel.hpp"
#include "base/device.hpp"
#include "base/result.hpp"
#include "pmd/eal.hpp"
#include "pmd/function.hpp"
#include "pmd/hca.hpp"

namespace portcullis::attach {

struct FunctionOptions {
  /// Given the device as opened, returns it as the driver is to see it: with a relax that gives
  /// others their turn, or DMA memory that lies. What it refers to must outlive the function.
  std::function<Device(const Device& opened)> present = {};
  /// Hears of every command of the driver, from the first one of its bring-up to the last one of
  /// its end. May be empty.
  OnCommand on_command = {};
  /// Of a NIC that its kernel driver keeps the log alone.
  pmd::HcaOptions bring_up = {};
  /// A polled model that nobody has asked anything for a while looks again every 50 us, and every
  /// 500 us after a fifth of a second, and leaves its core to others meanwhile: for who serves, not
  /// for who measures.
  bool model_naps = false;
};

class Function {
 public:
  using Options = FunctionOptions;

  /// A polled model gets a worker lcore of the EAL, or a thread where no EAL runs or it has none.
  [[nodiscard]] static Result<std::unique_ptr<Function>> bring_up(OpenDevice opened,
                                                                  const Options& options = {});
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  /// The driver comes down first, with the model still served.
  ~Function();

  [[nodiscard]] pmd::Function& driver() noexcept { return *driver_; }
  [[nodiscard]] const pmd::Context& context() const noexcept { return driver_->context(); }
  /// As OpenDevice::condition(), which the driver knows nothing of.
  [[nodiscard]] Result<void> connection() { return opened_.condition(); }
  /// To make it fail on purpose; null for hardware.
  [[nodiscard]] model::Model* model() noexcept { return opened_.model(); }

 private:
  explicit Function(OpenDevice opened) noexcept : opened_(std::move(opened)) {}
  [[nodiscard]] Result<void> serve_model(bool naps);
  [[nodiscard]] std::function<pmd::CommandChannel&(pmd::CommandChannel&)> recording(
      const OnCommand& on_command, const Clock& clock);

  // In the order of bring-up.
  OpenDevice opened_;
  std::atomic<bool> stop_{false};
  std::optional<pmd::LcoreTask> lcore_;
  std::thread thread_;
  std::optional<RecordingChannel> recording_;
  std::unique_ptr<pmd::Function> driver_;
};

}  // namespace portcullis::attach
