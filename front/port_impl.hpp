// SPDX-License-Identifier: BSD-3-Clause
//
// What stands behind a Port: the function that is up, and its address. Shared by the port and by
// all that is made on it, so that the function goes when the last of them does.
#pragma once

#include <portcullis/port.hpp>

#include <memory>
#include <optional>

#include "attach/function.hpp"
#include "attach/port.hpp"
#include "base/clock.hpp"
#include "neighbour/responder.hpp"
#include "pmd/context.hpp"
#include "pmd/eal.hpp"
#include "pmd/function.hpp"
#include "pmd/roce_address.hpp"

namespace portcullis {

struct [[gnu::visibility("hidden")]] Port::Impl {
  [[nodiscard]] Result<void> open(const DeviceSpec& spec, const PortOptions& options);
  [[nodiscard]] pmd::Function& driver() noexcept { return function->driver(); }
  [[nodiscard]] const pmd::Context& context() const noexcept { return function->context(); }
  [[nodiscard]] const Clock& clock() const noexcept { return context().device.clock; }
  /// Health and events, and what its neighbours ask.
  [[nodiscard]] Result<void> poll() {
    if (responder) responder->poll();
    return driver().poll();
  }
  [[nodiscard]] const pmd::RoceAddress& address() const noexcept { return port->address(); }

  // In the order of bring-up.
  std::shared_ptr<pmd::Eal> eal;  // of a PCI function
  std::unique_ptr<attach::Function> function;
  std::optional<attach::Port> port;
  std::unique_ptr<neighbour::Responder> responder;  // null: nobody answers for the port
  bool has_manager = false;                         // who takes its events
};

}  // namespace portcullis
