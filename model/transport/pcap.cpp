// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/pcap.hpp"

#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "model/transport/checksum.hpp"
#include "model/transport/frame.hpp"

namespace portcullis::model {
namespace {

// Extensible record format of capture cards: time stamp, type, flags, record length, loss counter,
// length on the wire; big-endian but for the time stamp (wiretap/erf.h of Wireshark).
constexpr std::size_t kErfBytes = 16;
constexpr std::size_t kMaxRecordBytes = kErfBytes + kMaxFrameBytes;

std::array<std::byte, kErfBytes> erf_header(std::size_t frame_bytes, std::uint64_t now_ns) {
  constexpr std::byte kTypeInfiniBand{21};
  constexpr std::byte kVaryingLength{4};
  std::array<std::byte, kErfBytes> header{};
  // Seconds and their 2^-32nds.
  const std::uint64_t fraction = (now_ns % kNsPerSecond << 32) / kNsPerSecond;
  const std::uint64_t stamp = now_ns / kNsPerSecond << 32 | fraction;
  std::memcpy(header.data(), &stamp, sizeof stamp);
  header[8] = kTypeInfiniBand;
  header[9] = kVaryingLength;
  store_be16(&header[10], static_cast<std::uint16_t>(kErfBytes + frame_bytes));
  store_be16(&header[14], static_cast<std::uint16_t>(frame_bytes));
  return header;
}

}  // namespace

Result<std::shared_ptr<PcapWriter>> PcapWriter::create(const std::string& path, PortType port_type,
                                                       trace::OnRecordingLost on_lost) {
  PORTCULLIS_TRY_ASSIGN(std::FILE* const stream, trace::open_recording_stream("pcap file", path));
  pcap_t* handle = pcap_open_dead_with_tstamp_precision(
      port_type == PortType::InfiniBand ? DLT_ERF : DLT_EN10MB, static_cast<int>(kMaxRecordBytes),
      PCAP_TSTAMP_PRECISION_NANO);
  pcap_dumper_t* file = handle == nullptr ? nullptr : pcap_dump_fopen(handle, stream);
  if (file == nullptr) {
    std::string reason = handle == nullptr ? "no memory" : pcap_geterr(handle);
    if (handle != nullptr) pcap_close(handle);
    static_cast<void>(std::fclose(stream));
    return fail(Errc::System, "pcap file " + path + " cannot be written: " + reason);
  }
  std::shared_ptr<PcapWriter> writer(new PcapWriter(path, handle, file, port_type, {}));
  PORTCULLIS_TRY(writer->flush());  // a disk that is full already is refused here
  writer->on_lost_ = std::move(on_lost);
  return writer;
}

PcapWriter::~PcapWriter() {
  if (pcap_dump_flush(file_) != 0) lose();
  pcap_dump_close(file_);
  pcap_close(handle_);
}

void PcapWriter::write(std::span<const std::byte> frame, std::uint64_t now_ns) noexcept {
  if (port_type_ == PortType::Ethernet) return dump(frame, now_ns);
  std::array<std::byte, kMaxRecordBytes> record;
  const auto header = erf_header(frame.size(), now_ns);
  std::ranges::copy(header, record.begin());
  std::ranges::copy(frame, record.begin() + kErfBytes);
  dump(std::span(record).first(kErfBytes + frame.size()), now_ns);
}

void PcapWriter::dump(std::span<const std::byte> record, std::uint64_t now_ns) noexcept {
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(now_ns / kNsPerSecond);
  // with nanosecond precision this member counts nanoseconds, pcap-tstamp(7)
  header.ts.tv_usec = static_cast<suseconds_t>(now_ns % kNsPerSecond);
  header.caplen = header.len = static_cast<bpf_u_int32>(record.size());
  // pcap_dump takes unsigned char, the record is std::byte
  const void* bytes = record.data();
  if (is_lost_) return;
  pcap_dump(static_cast<u_char*>(static_cast<void*>(file_)), &header,
            static_cast<const u_char*>(bytes));
  if (std::ferror(pcap_dump_file(file_)) != 0) lose();
}

void PcapWriter::lose() noexcept {
  if (std::exchange(is_lost_, true) || !on_lost_) return;
  on_lost_("pcap file " + path_ + " cannot be written: " + std::generic_category().message(errno) +
           "; frames from there on are not in it");
}

Result<void> PcapWriter::flush() {
  if (pcap_dump_flush(file_) != 0)
    return fail(Errc::System, "pcap file " + path_ +
                                  " cannot be written: " + std::generic_category().message(errno));
  return {};
}

}  // namespace portcullis::model
