// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/pcap.hpp"

#include <pcap/pcap.h>

#include "base/clock.hpp"
#include "model/transport/frame.hpp"

namespace portcullis::model {

Result<std::shared_ptr<PcapWriter>> PcapWriter::create(const std::string& path) {
  pcap_t* handle = pcap_open_dead_with_tstamp_precision(
      DLT_EN10MB, static_cast<int>(kMaxFrameBytes), PCAP_TSTAMP_PRECISION_NANO);
  if (handle == nullptr) return fail(Errc::OutOfResources, "pcap file " + path + ": no memory");
  pcap_dumper_t* file = pcap_dump_open(handle, path.c_str());
  if (file == nullptr) {
    std::string reason = pcap_geterr(handle);
    pcap_close(handle);
    return fail(Errc::System, "pcap file " + path + " cannot be written: " + reason);
  }
  return std::shared_ptr<PcapWriter>(new PcapWriter(path, handle, file));
}

PcapWriter::~PcapWriter() {
  pcap_dump_close(file_);
  pcap_close(handle_);
}

void PcapWriter::write(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept {
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(now_ns / kNsPerSecond);
  // with nanosecond precision this member counts nanoseconds, pcap-tstamp(7)
  header.ts.tv_usec = static_cast<suseconds_t>(now_ns % kNsPerSecond);
  header.caplen = header.len = static_cast<bpf_u_int32>(frame.size());
  // pcap_dump takes unsigned char, the frame is std::byte
  const void* bytes = frame.data();
  pcap_dump(static_cast<u_char*>(static_cast<void*>(file_)), &header,
            static_cast<const u_char*>(bytes));
}

Result<void> PcapWriter::flush() {
  if (pcap_dump_flush(file_) != 0)
    return fail(Errc::System, "pcap file " + path_ + ": write failed");
  return {};
}

}  // namespace portcullis::model
