// SPDX-License-Identifier: BSD-3-Clause
//
// A server of the experiment: a ConnectX-5 in software on a wire of its own, our driver on it, and
// an address.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/function.hpp"
#include "attach/port.hpp"
#include "base/result.hpp"
#include "model/event_loop.hpp"
#include "model/model.hpp"
#include "model/transport/wire.hpp"
#include "pmd/roce_address.hpp"
#include "pmd/roce_path.hpp"

namespace portcullis::late {

class Server {
 public:
  struct Options {
    std::uint8_t number = 1;  // of its addresses
    std::uint64_t seed = 1;
    std::vector<std::string> behaviours = {};  // of the model
    std::string pcap_path = {};                // empty: none
  };

  /// All servers of one `loop` live on its clock.
  [[nodiscard]] static Result<std::unique_ptr<Server>> bring_up(
      const std::shared_ptr<model::EventLoop>& loop, const Options& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] pmd::Function& driver() noexcept { return function_->driver(); }
  [[nodiscard]] const pmd::Context& context() const noexcept { return function_->context(); }
  [[nodiscard]] model::Model& model() noexcept { return *function_->model(); }
  [[nodiscard]] const std::shared_ptr<model::Wire>& wire() const noexcept { return wire_; }
  [[nodiscard]] const pmd::RoceAddress& address() const noexcept { return port_->address(); }
  /// From any server to this one.
  [[nodiscard]] pmd::RocePath path() const noexcept { return port_->path(); }

 private:
  Server() = default;

  std::shared_ptr<model::Wire> wire_;
  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
};

}  // namespace portcullis::late
