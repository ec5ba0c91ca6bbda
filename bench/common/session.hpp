// SPDX-License-Identifier: BSD-3-Clause
//
// A device opened, brought up and given an address, with clients that write while the driver waits:
// whatever relaxes, a fence above all, gives them their turn first. So traffic goes on during a
// revoke in one thread, on a card as on the model, and stops for nothing but the driver's own
// instructions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "bench/common/client.hpp"
#include "bench/common/interrupt.hpp"
#include "bench/common/loopback.hpp"
#include "pmd/eal.hpp"
#include "pmd/hca.hpp"
#include "tools/open_device.hpp"

namespace portcullis::bench {

class Session {
 public:
  /// Opens and brings up. A polled model gets a worker lcore, or a thread where the EAL has none.
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(const tools::DeviceSpec& spec);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] pmd::Hca& hca() noexcept { return *hca_; }
  [[nodiscard]] const pmd::Context& context() const noexcept { return hca_->context(); }
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
  /// a client, which no wait can report, comes out here; an interrupt ends the wait as an error.
  template <class Done>
  [[nodiscard]] Result<bool> run_until(std::uint64_t until_ns, Done&& done) {
    const bool held = wait_until(device(), until_ns, [&] {
      return client_error_.has_value() || is_interrupted() || done();
    });
    PORTCULLIS_TRY(client_result());
    PORTCULLIS_TRY(check_not_interrupted());
    return held;
  }
  [[nodiscard]] Result<void> client_result() const;

 private:
  explicit Session(tools::OpenDevice opened);

  [[nodiscard]] Result<void> start_model();
  static void relax_entry(void* session, std::uint64_t until_ns) noexcept;
  void relax(std::uint64_t until_ns) noexcept;

  // Destroyed from the last to the first, with the model served until the driver is down.
  tools::OpenDevice opened_;
  Device plain_;  // as opened
  std::atomic<bool> stop_{false};
  std::optional<pmd::LcoreTask> lcore_;
  std::thread thread_;
  std::vector<Client*> clients_;
  std::function<Result<void>()> background_;
  std::optional<Error> client_error_;
  bool is_pumping_ = false;
  std::unique_ptr<pmd::Hca> hca_;
  std::optional<Port> port_;
};

}  // namespace portcullis::bench
