// SPDX-License-Identifier: BSD-3-Clause
//
// A leased of its own, as users start it: another process, in a folder that goes with it, over a
// model in that process, with its journal on disk. Its limits are what the configuration makes
// them; those that it has built in stay.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "quic/credentials.hpp"

namespace portcullis::bench {

/// Runs another program with its standard output to read from. Ended when this goes.
class ChildProcess {
 public:
  /// System when it cannot be run. Its standard error goes to `log`, or where ours goes.
  [[nodiscard]] static Result<ChildProcess> start(const std::vector<std::string>& arguments,
                                                  const std::filesystem::path& log = {});
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void signal(int which) const noexcept;
  /// Timeout, or DeviceGone when it has ended without one.
  [[nodiscard]] Result<std::string> read_line(std::uint64_t until_ns);
  /// What it ended with; 128 and the signal's number when one ended it. Timeout.
  [[nodiscard]] Result<int> wait(std::uint64_t until_ns);

 private:
  ChildProcess() = default;

  pid_t id_ = -1;
  UniqueFd output_;
  std::string read_;
};

/// Room for that much, and a slot for what rests.
struct Scale {
  std::uint32_t connections = 1'000;
  std::uint32_t leases = 10'000;
  std::uint32_t rate = 500;  // allocs a second, and as many revokes
};

class LeasedProcess {
 public:
  struct Options {
    std::filesystem::path program;
    std::string device = "model";
    Scale scale;
    bool has_quic = false;
    bool polls = false;  // its device's thread never sleeps
    /// This hca-server has the model in a process of its own, in place of `device`; empty: none.
    std::filesystem::path hca_server = {};
  };
  /// Its grants are for as many tenants, over QUIC.
  static constexpr std::uint64_t kTenants = 16;

  /// InvalidArgument where a device does not have as many.
  [[nodiscard]] static Result<std::uint32_t> slots_for(const Scale& scale);
  /// System, NotFound when there is no such program, DeviceGone with the server's own line.
  [[nodiscard]] static Result<LeasedProcess> start(const Options& options);
  LeasedProcess(LeasedProcess&&) noexcept = default;
  LeasedProcess& operator=(LeasedProcess&&) = delete;
  ~LeasedProcess();

  [[nodiscard]] std::filesystem::path socket() const { return folder_ / "leased.sock"; }
  [[nodiscard]] std::filesystem::path journal() const { return folder_ / "journal"; }
  /// "127.0.0.1:4711"
  [[nodiscard]] const std::string& quic_address() const noexcept { return quic_address_; }
  /// Of an operator of that tenant.
  [[nodiscard]] quic::CredentialFiles certificate(std::uint64_t tenant) const {
    return files(std::to_string(tenant));
  }
  [[nodiscard]] quic::CredentialFiles server_certificate() const { return files("server"); }
  /// What the server says that it serves.
  [[nodiscard]] const std::string& greeting() const noexcept { return greeting_; }
  /// What it has of memory now. System.
  [[nodiscard]] Result<std::uint64_t> resident_bytes() const;
  /// Stands still as long as this lives: what it does by itself is in no other figure.
  class Halt {
   public:
    explicit Halt(const LeasedProcess& leased) noexcept : leased_(&leased) {
      leased_->process_->signal(SIGSTOP);
    }
    Halt(const Halt&) = delete;
    Halt& operator=(const Halt&) = delete;
    ~Halt() { leased_->process_->signal(SIGCONT); }

   private:
    const LeasedProcess* leased_;
  };
  /// SIGTERM: it revokes what is held and ends. Its status.
  void ask_to_end() const noexcept;
  [[nodiscard]] Result<int> wait(std::uint64_t until_ns) { return process_->wait(until_ns); }
  /// The last line of its log, for an error.
  [[nodiscard]] std::string last_words() const;

 private:
  LeasedProcess() = default;
  [[nodiscard]] quic::CredentialFiles files(const std::string& stem) const;
  [[nodiscard]] Result<void> start_hardware(const std::filesystem::path& program);
  [[nodiscard]] std::filesystem::path hardware_socket() const { return folder_ / "card.sock"; }
  [[nodiscard]] Result<void> make_certificates() const;
  [[nodiscard]] Result<void> write_config(const Options& options) const;

  struct Folder {
    Folder() = default;
    Folder(Folder&& other) noexcept : path(std::exchange(other.path, {})) {}
    Folder& operator=(Folder&&) = delete;
    ~Folder();
    std::filesystem::path path;
  };
  Folder owned_;
  std::filesystem::path folder_;
  std::optional<ChildProcess> hardware_;
  std::optional<ChildProcess> process_;
  std::string greeting_;
  std::string quic_address_;
};

}  // namespace portcullis::bench
