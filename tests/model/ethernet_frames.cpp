// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/ethernet_frames.hpp"

namespace portcullis::model::testing {
namespace {

class Writer {
 public:
  Writer& u8(unsigned value) {
    bytes_.push_back(static_cast<std::byte>(value));
    return *this;
  }
  Writer& u16(unsigned value) { return u8(value >> 8 & 0xff).u8(value & 0xff); }
  Writer& u32(std::uint32_t value) { return u16(value >> 16).u16(value & 0xffff); }
  template <class Bytes>
  Writer& all(const Bytes& bytes) {
    for (const auto one : bytes) u8(one);
    return *this;
  }
  Writer& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

void put_ip(Writer& out, const FrameSpec& spec, std::size_t length) {
  const unsigned protocol = spec.udp ? 17 : 6;
  if (spec.ipv6) {
    constexpr std::array<std::uint8_t, 12> kPrefix{0x20, 0x01, 0x0d, 0xb8};
    out.u32(0x60000000).u16(static_cast<unsigned>(length)).u8(protocol).u8(64);
    out.all(kPrefix).all(spec.source).all(kPrefix).all(spec.dest);
    return;
  }
  out.u8(0x45).u8(0).u16(static_cast<unsigned>(20 + length)).u16(1).u16(0).u8(64).u8(protocol);
  out.u16(0).all(spec.source).all(spec.dest);
}

}  // namespace

std::vector<std::byte> build_frame(const FrameSpec& spec) {
  constexpr std::array<std::uint8_t, 6> kSourceMac{0x02, 0, 0, 0, 0, 9};
  Writer out;
  out.all(spec.dest_mac).all(kSourceMac);
  if (spec.tag) out.u16(0x8100).u16(*spec.tag);
  out.u16(spec.ipv6 ? 0x86dd : 0x0800);
  put_ip(out, spec, (spec.udp ? 8 : 20) + spec.payload);
  out.u16(spec.sport).u16(spec.dport);
  if (spec.udp)
    out.u16(static_cast<unsigned>(8 + spec.payload)).u16(0);
  else
    out.u32(spec.sequence).u32(0).u8(0x50).u8(spec.flags).u16(8192).u16(0).u16(0);
  for (std::size_t i = 0; i < spec.payload; ++i) out.u8('a' + static_cast<unsigned>(i % 26));
  return out.take();
}

}  // namespace portcullis::model::testing
