// SPDX-License-Identifier: BSD-3-Clause
//
// A port that is up: the device opened, the function brought up by our own driver, one RoCEv2
// address set. Leases are granted on it (lease_manager.hpp), and a client of this process may reach
// them through it (requester.hpp). What all of it rests on is in docs/hca-contract.md.
//
// A port, what is granted on it and who requests through it belong to one thread. Objects made on a
// port keep it open: the function is given back and reset when the last of them is gone.
//
// Example, leases.cpp:
//   const PortOptions options{.address = Gid::from_ipv4(192, 0, 2, 1)};
//   PORTCULLIS_TRY_ASSIGN(const auto port, Port::open(spec, options));
//   std::cout << port.description() << '\n' << port.gid().text() << '\n';
#pragma once

#include <portcullis/address.hpp>
#include <portcullis/device.hpp>
#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis {

/// How a port is opened.
struct PortOptions {
  /// The port's own; the link-local address of its MAC unless given.
  std::optional<Gid> address = std::nullopt;
  /// Of the address, 0 to 4094: what leaves it has an 802.1Q tag; none without.
  std::optional<std::uint16_t> vlan_id = std::nullopt;
  /// Hears what is no error and yet somebody should know, one line at a time, in the middle of
  /// calls on the port and on what is made on it, none of which it may make itself; what it throws
  /// is dropped. May be empty.
  std::function<void(std::string_view)> log = {};
  /// For a PCI function: what DPDK's EAL is started with, without a program's name, as in
  /// {"-l", "2-3", "-a", "0000:03:00.0"}. It starts with the first such port of the process, and
  /// ends with the last; a process cannot start it twice.
  std::vector<std::string> eal_arguments = {};
};

/// A port that is up, for as long as it or anything made on it lives.
class PORTCULLIS_API Port {
 public:
  struct Impl;

  /// InvalidArgument for options, NotFound, System or DeviceFailed as the device has it,
  /// Unsupported for an InfiniBand port. Takes two minutes at most, where firmware does not start.
  [[nodiscard]] static Result<Port> open(const DeviceSpec& spec, const PortOptions& options = {});
  /// One that was moved from can be assigned to or destroyed, and nothing else.
  Port(Port&& other) noexcept;
  /// Lets go of the port that it had.
  Port& operator=(Port&& other) noexcept;
  ~Port();

  /// Its RoCEv2 address.
  [[nodiscard]] const Gid& gid() const noexcept;
  /// Its MAC, as the device tells it.
  [[nodiscard]] const Mac& mac() const noexcept;
  /// "16.35.4506".
  [[nodiscard]] const std::string& firmware_version() const noexcept;
  /// Also of a model behind a PCI slot. Figures of such a port are called emulated.
  [[nodiscard]] bool is_emulated() const noexcept;
  /// What to print beside a figure: "model (timing=.., behaviours=..) fw 16.35.4506, emulated: not
  /// NIC latency".
  [[nodiscard]] std::string description() const;

  /// The device's clock in nanoseconds; a stepped model has one of its own.
  [[nodiscard]] std::uint64_t now_ns() const noexcept;
  /// Serves the function's events, answers ARP, neighbour solicitation and ping where the device
  /// can (a port of the kernel's is answered for there), and lets `ms` pass on its clock. An error
  /// once the function is broken, and ever after.
  [[nodiscard]] Result<void> wait_ms(std::uint64_t ms);

  /// For the other objects of this library.
  [[nodiscard]] const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Port(std::shared_ptr<Impl> impl) noexcept;

  std::shared_ptr<Impl> impl_;
};

}  // namespace portcullis
