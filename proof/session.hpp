// SPDX-License-Identifier: BSD-3-Clause
//
// A device opened, brought up and given an address, with clients that write while the driver waits:
// whatever relaxes, a fence above all, gives them their turn first. So traffic goes on during a
// revoke in one thread, on a card as on the model, and stops for nothing but the driver's own
// instructions. Where it is asked for, the clients work on a core of their own instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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
#include "proof/load_core.hpp"
#include "trace/recording_file.hpp"

namespace portcullis::proof {

/// What a session tells whoever opens it, and asks. Each may be empty.
struct SessionOptions {
  LogSink log = {};  // of the driver
  trace::OnRecordingLost on_recording_lost = {};
  attach::OnCommand on_command = {};  // hears of every command of the driver
  /// Asked in every run_until(), which ends with its error.
  std::function<Result<void>()> check_not_stopped = {};
  /// The clients work on a worker lcore of the EAL, where one has nothing to do. Not on a stepped
  /// model, which is a function of what one thread does.
  bool wants_load_core = false;
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

  /// `clients` have their turn in every wait from now on, or a core of their own; they must stay
  /// until clear_clients(), and be asked only what Stream tells anybody.
  void set_clients(std::vector<Client*> clients);
  /// Returns when none is at work any more.
  void clear_clients();
  /// Where the clients work; none: in whatever waits.
  [[nodiscard]] std::optional<unsigned> load_lcore() const noexcept {
    return load_core_ ? std::optional(load_core_->lcore()) : std::nullopt;
  }
  /// When the last wait had looked and found that it must go on: what it waits for came later.
  [[nodiscard]] std::uint64_t last_look_ns() const noexcept { return last_look_ns_; }
  /// Has its turn in every wait from now on, before the clients; empty ends that. It must not wait.
  void set_background(std::function<Result<void>()> background) {
    background_ = std::move(background);
  }
  /// Waits until `done` holds or `until_ns` has come, with the clients at work. The first error of
  /// a client, which no wait can report, comes out here, and so does that of check_not_stopped.
  template <class Done>
  [[nodiscard]] Result<bool> run_until(std::uint64_t until_ns, Done&& done) {
    const bool held = wait_until(device(), until_ns, [&] {
      return has_client_error_.load() || !check_not_stopped() || done();
    });
    PORTCULLIS_TRY(client_result());
    PORTCULLIS_TRY(check_not_stopped());
    return held;
  }
  [[nodiscard]] Result<void> client_result() const;
  /// A request of one of the clients has failed since they were set.
  [[nodiscard]] bool has_failed_request() const noexcept { return has_failed_request_; }

 private:
  Session(const Device& opened, std::function<Result<void>()> check_not_stopped)
      : plain_(opened), check_not_stopped_(std::move(check_not_stopped)) {}

  [[nodiscard]] Result<void> check_not_stopped() const {
    return check_not_stopped_ ? check_not_stopped_() : Result<void>();
  }
  static void relax_entry(void* session, std::uint64_t until_ns) noexcept;
  void relax(std::uint64_t until_ns) noexcept;
  /// The earliest instant that one of them waits for.
  std::uint64_t pump_clients() noexcept;
  void note_error(Error error) noexcept;

  // Destroyed from the last to the first.
  Device plain_;  // as opened
  std::function<Result<void>()> check_not_stopped_;
  std::vector<Client*> clients_;
  std::function<Result<void>()> background_;
  std::mutex noting_;  // of the error, by either thread
  std::optional<Error> client_error_;
  std::atomic<bool> has_client_error_{false};
  std::atomic<bool> has_failed_request_{false};
  std::uint64_t last_look_ns_ = 0;
  std::unique_ptr<attach::Function> function_;
  std::optional<attach::Port> port_;
  std::unique_ptr<LoadCore> load_core_;
};

}  // namespace portcullis::proof
