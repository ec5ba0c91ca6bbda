// SPDX-License-Identifier: BSD-3-Clause
//
// A capture file of the frames on a port, in the format every analyser reads (libpcap, nanosecond
// time stamps). Times are those of the model's clock. InfiniBand frames stand behind an ERF header
// (DLT_ERF, record type 21), as in the files of capture cards and of ibdump: Wireshark 4.0 knows no
// DLT_INFINIBAND.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "model/port_type.hpp"
#include "trace/recording_file.hpp"

struct pcap;
struct pcap_dumper;

namespace portcullis::model {

class PcapWriter {
 public:
  /// System, with the path, when the file cannot be written.
  [[nodiscard]] static Result<std::shared_ptr<PcapWriter>> create(
      const std::string& path, PortType port_type = PortType::Ethernet,
      trace::OnRecordingLost on_lost = {});
  ~PcapWriter();
  PcapWriter(const PcapWriter&) = delete;
  PcapWriter& operator=(const PcapWriter&) = delete;

  /// When something cannot be written, for instance because the disk is full, calls `on_lost` once
  /// and records nothing more.
  void write(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept;
  /// What was written so far is in the file; System when it is not.
  [[nodiscard]] Result<void> flush();

 private:
  PcapWriter(std::string path, pcap* handle, pcap_dumper* file, PortType port_type,
             trace::OnRecordingLost on_lost) noexcept
      : path_(std::move(path)),
        handle_(handle),
        file_(file),
        port_type_(port_type),
        on_lost_(std::move(on_lost)) {}
  void dump(std::span<const std::byte> record, std::uint64_t now_ns) noexcept;
  void lose() noexcept;

  std::string path_;
  pcap* handle_;
  pcap_dumper* file_;
  PortType port_type_;
  trace::OnRecordingLost on_lost_;
  bool is_lost_ = false;
};

}  // namespace portcullis::model
