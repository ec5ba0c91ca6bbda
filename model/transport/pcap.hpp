// SPDX-License-Identifier: BSD-3-Clause
//
// A capture file of the frames on a port, in the format every analyser reads (libpcap, Ethernet,
// nanosecond time stamps). Times are those of the model's clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

struct pcap;
struct pcap_dumper;

namespace portcullis::model {

class PcapWriter {
 public:
  /// System, with the path, when the file cannot be written.
  [[nodiscard]] static Result<std::shared_ptr<PcapWriter>> create(const std::string& path);
  ~PcapWriter();
  PcapWriter(const PcapWriter&) = delete;
  PcapWriter& operator=(const PcapWriter&) = delete;

  void write(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept;
  /// What was written so far is in the file; System when it is not.
  [[nodiscard]] Result<void> flush();

 private:
  PcapWriter(std::string path, pcap* handle, pcap_dumper* file) noexcept
      : path_(std::move(path)), handle_(handle), file_(file) {}

  std::string path_;
  pcap* handle_;
  pcap_dumper* file_;
};

}  // namespace portcullis::model
