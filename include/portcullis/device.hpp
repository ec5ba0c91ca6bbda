// SPDX-License-Identifier: BSD-3-Clause
//
// What every program's --device= names: the ConnectX-5 in software, in this process or in another,
// a PCI function that is bound to vfio-pci, or a NIC that its kernel driver keeps.
//
//   model[,timing=NAME][,behaviour=A+B=VALUE][,execution=stepped|polled][,port=eth|ib][,seed=N]
//        [,vf][,profile=BUNDLE][,pcap=FILE][,trace=FILE][,WISH]..
//   0000:03:00.0[,trace=FILE][,WISH]..
//   mlx5_0[,trace=FILE]
//   shm:PATH
//
// WISH: link-wait-ms=N, checksum=on|off, mkc-qpn=on|off, neighbour=on|off or loopback=plain|forced:
// what bring-up is to do otherwise. docs/programs.md says what each word does. Of a word that is
// said twice the last one counts.
//
// timing: instant, or cx5-16.35.4506, whose command times are those of a firmware that was measured
// (docs/benchmarks.md). A stepped model runs in its caller's waits and on a clock of its own, so a
// run is a function of its seed; a polled one has a thread. No privileges are needed for either.
// mlx5_0 is a name of /sys/class/infiniband; its driver must offer DevX. Its addresses are those
// that the kernel gave it. PATH is the socket of an hca-server --shm (docs/hca-server.md): it has
// one owner at a time, and is reset behind each.
//
// Example, leases.cpp:
//   PORTCULLIS_TRY_ASSIGN(const auto spec, DeviceSpec::parse("model,timing=cx5-16.35.4506"));
#pragma once

#include <portcullis/export.hpp>
#include <portcullis/result.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace portcullis {

/// A device as asked for, not opened yet.
class PORTCULLIS_API DeviceSpec {
 public:
  /// InvalidArgument names the word and what is accepted.
  [[nodiscard]] static Result<DeviceSpec> parse(std::string_view text);

  /// The model: no NIC is needed, and no figure from it is NIC latency.
  [[nodiscard]] bool is_emulated() const noexcept { return is_emulated_; }
  /// "0000:03:00.0"; empty for a model, and for a kept NIC that sysfs does not know.
  [[nodiscard]] const std::string& pci_address() const noexcept { return pci_address_; }
  /// As it was given to parse().
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  DeviceSpec(std::string text, std::string pci_address, bool is_emulated)
      : text_(std::move(text)), pci_address_(std::move(pci_address)), is_emulated_(is_emulated) {}

  std::string text_;
  std::string pci_address_;
  bool is_emulated_;
};

}  // namespace portcullis
