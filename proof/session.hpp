// SPDX-License-Identifier: BSD-3-Clause
//
// A device opened, brought up and given an address, with clients that write while the driver waits:
// whatever relaxes, a fence above all, gives them their turn first. So traffic goes on during a
// revoke in one thread, on a card as on the model, and stops for nothing but the driver's own
// instructions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/function.hpp"
#include "attach/port.hpp"
#include "base/device.hpp"
#include "base/log_sink.hpp"
#include "base/result.hpp"
#include "pmd/function.hpp"
#include "proof/client.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::proof {

/// What a session tells whoever opens it, and asks. Each may be empty.
struct SessionOptions {
  LogSink log = {};  // of the driver
  trace::OnRecordingLost on_recording_lost = {};
  /// Asked in every run_until(), which ends with its error.
  std::function<Result<void>()> check_not_stopped = {};
};

class Session {
 public:
  /// Opens, brings up, and gives the port an address of its own.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(const attach::DeviceSpec& spec,
                                                             const SessionOptions& options = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] pmd::Function& driver() noexcept { return function_->driver(); }
  [[nodiscard]] const pmd::Context& context() const noexcept { return function_->context(); }
  [[nodiscard]] const Device& device() const noexcept { return context().device; }
  /// From the port to itself.
  [[nodiscard]] const pmd::RocePath& path() const noexcept { return port_->path(); }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return device().clock.now_ns(); }

  /// `clients` have their turn in every wait from now on; they must stay until clear_clients().
  void set_clients(std::vector<Client*> clients) { clients_ = std::move(clients); }
  void clear_clients() { clients_.clear(); }
  /// Has its turn in every wait from now on, before the clients; empty ends that. It must not wait.
  void set_background(std::function<Result<void>()> background) {
    background_ = std::move(background);
  }
  /// Waits until `done` holds or `until_ns` has come, with the clients at work. The first error of
  /// a client, which no wait can report, comes out here, and so does that of check_not_stopped.
  template <class Done>
  [[nodiscard]] Result<bool> run_until(std::uint64_t until_ns, Done&& done) {
    const bool held = wait_until(device(), until_ns, [&] {
      return client_error_.has_value() || !check_not_stopped() || done();
    });
    PORTCULLIS_TRY(client_result());
    PORTCULLIS_TRY(check_not_stopped());
    return held;
  }
  [[nodiscard]] Result<void> client_result() const;

 private:
  Session(const Device& opened, std::function<Result<void>()> check_not_stopped)
      : plain_(opened), check_not_stopped_(std::move(check_not_stopped)) {}

  [[nodiscard]] Result<void> check_not_stopped() const {
    return check_not_stopped_ ? check_not_stopped_() : Result<void>();
  }
  static void relax_entry(void* session, std::uint64_t until_ns) noexcept;
  void relax(std::uint64_t until_ns) noexcept;

  // Destroyed from the last to the first.
  Device plain_;  // as opened
  std::function<Result<void>()> check_not_stopped_;
  std::vector<Client*> clients_;
  std::function<Result<void>()> background_;
  std::optional<Error> client_error_;
  bool is_pumping_ = false;
  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
};

}  // namespace portcullis::proof
