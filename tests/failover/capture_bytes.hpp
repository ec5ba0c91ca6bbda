// SPDX-License-Identifier: BSD-3-Clause
//
// Frames and capture files written byte by byte, with offsets of their own: the readers share none
// of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace portcullis::tools::failover_check::capture_bytes {

inline std::string big(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = bytes; i-- > 0; value >>= 8) text[i] = static_cast<char>(value & 0xff);
  return text;
}
inline std::string little(std::uint64_t value, std::size_t bytes) {
  const std::string text = big(value, bytes);
  return {text.rbegin(), text.rend()};
}

inline constexpr char kSender = 1, kResponder = 2;

/// UDP, BTH, then what follows, then the ICRC's place.
inline std::string datagram(unsigned opcode, std::uint32_t qpn, std::uint32_t psn,
                            const std::string& behind) {
  const std::string bth = big(opcode, 1) + big(0x40, 1) + big(0xffff, 2) + big(qpn, 4) +
                          big(psn, 4) + behind + big(0, 4);
  return big(50000, 2) + big(4791, 2) + big(bth.size() + 8, 2) + big(0, 2) + bth;
}
/// `options` are those of IPv4, a multiple of 4 bytes.
inline std::string ipv4(char from, char to, const std::string& udp,
                        const std::string& options = "") {
  return big(0x4500 + options.size() / 4 * 0x100, 2) + big(udp.size() + options.size() + 20, 2) +
         big(0, 4) + big(0x4011, 2) + big(0, 2) + big(0xc00002, 3) + from + big(0xc00002, 3) + to +
         options + udp;
}
inline std::string ethernet(std::uint64_t type, const std::string& packet) {
  return std::string(12, '\2') + big(type, 2) + packet;
}

inline std::string frame_to(char from, char to, unsigned opcode, std::uint32_t qpn,
                            std::uint32_t psn, const std::string& behind) {
  return ethernet(0x0800, ipv4(from, to, datagram(opcode, qpn, psn, behind)));
}

inline std::string frame(char from, unsigned opcode, std::uint32_t qpn, std::uint32_t psn,
                         const std::string& behind) {
  return frame_to(from, from == kSender ? kResponder : kSender, opcode, qpn, psn, behind);
}

inline std::string reth(std::uint64_t address, std::uint32_t rkey, std::uint32_t length) {
  return big(address, 8) + big(rkey, 4) + big(length, 4);
}
inline std::string write_only(std::uint32_t psn, std::uint64_t address, std::uint32_t qpn = 0x11) {
  return frame(kSender, 0x0a, qpn, psn, reth(address, 0x1000, 8) + big(7, 8));
}
/// 0x1f: ACK; 0x62: remote access error; 0x60: PSN sequence error.
inline std::string ack(std::uint32_t psn, unsigned syndrome = 0x1f, std::uint32_t qpn = 0x22) {
  return frame(kResponder, 0x11, qpn, psn, big(syndrome, 1) + big(0, 3));
}
inline std::string read_response(unsigned opcode, std::uint32_t psn, std::size_t bytes) {
  const bool has_aeth = opcode != 0x0e;
  return frame(kResponder, opcode, 0x22, psn,
               (has_aeth ? big(0x1f, 1) + big(0, 3) : "") + std::string(bytes, '\5'));
}

inline std::string pcap(const std::vector<std::string>& frames) {
  std::string file = little(0xa1b2c3d4, 4) + little(2, 2) + little(4, 2) + little(0, 8) +
                     little(65535, 4) + little(1, 4);
  for (const std::string& one : frames)
    file += little(0, 8) + little(one.size(), 4) + little(one.size(), 4) + one;
  return file;
}

/// Blocks of pcapng in one byte order.
struct Section {
  bool is_little = true;

  [[nodiscard]] std::string number(std::uint64_t value, std::size_t bytes) const {
    return is_little ? little(value, bytes) : big(value, bytes);
  }
  [[nodiscard]] static std::string padded(std::string text) {
    text.resize((text.size() + 3) / 4 * 4);
    return text;
  }
  [[nodiscard]] std::string block(std::uint32_t type, const std::string& body) const {
    const std::string length = number(padded(body).size() + 12, 4);
    return number(type, 4) + length + padded(body) + length;
  }
  [[nodiscard]] std::string option(std::uint64_t code, const std::string& value) const {
    return number(code, 2) + number(value.size(), 2) + padded(value);
  }
  /// Version 1.0, of no stated length.
  [[nodiscard]] std::string header() const {
    return block(0x0a0d0d0a,
                 number(0x1a2b3c4d, 4) + number(1, 2) + number(0, 2) + std::string(8, '\xff'));
  }
  [[nodiscard]] std::string interface(std::uint64_t link_type, std::uint64_t snap_length = 0,
                                      const std::string& options = "") const {
    return block(1, number(link_type, 2) + number(0, 2) + number(snap_length, 4) + options);
  }
  [[nodiscard]] std::string enhanced(std::uint64_t interface, std::uint64_t time,
                                     const std::string& frame,
                                     const std::string& options = "") const {
    return block(6, number(interface, 4) + number(time >> 32U, 4) + number(time, 4) +
                        number(frame.size(), 4) + number(frame.size(), 4) + padded(frame) +
                        options);
  }
  [[nodiscard]] std::string obsolete(std::uint64_t interface, std::uint64_t drops,
                                     const std::string& frame) const {
    return block(2, number(interface, 2) + number(drops, 2) + number(0, 8) +
                        number(frame.size(), 4) + number(frame.size(), 4) + frame);
  }
  [[nodiscard]] std::string simple(const std::string& frame) const {
    return block(3, number(frame.size(), 4) + frame);
  }
};

}  // namespace portcullis::tools::failover_check::capture_bytes
