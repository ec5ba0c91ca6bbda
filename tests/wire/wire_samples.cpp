// SPDX-License-Identifier: BSD-3-Clause
//
// wire-samples FILE: writes every message of the lease protocol with known values into a capture of
// link type USER0, in the order that dissector_test.py knows. Each member's bytes count up, so that
// a member read at another offset or in another order of bytes has another value.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <span>

#include "wire/frame.hpp"

namespace {

using namespace portcullis::wire;

/// Little-endian, as the magic number in front says.
void put(std::ofstream& file, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i, value >>= 8) file.put(static_cast<char>(value & 0xff));
}

void write_packet(std::ofstream& file, const FrameBytes& frame) {
  put(file, 0, 8);
  put(file, frame.size(), 4);
  put(file, frame.size(), 4);
  for (const std::byte each : frame) put(file, static_cast<std::uint64_t>(each), 1);
}

/// The body's bytes are 1, 2, 3, .. before it is read: every member has a value of its own.
template <class Body>
FrameBytes counting(std::uint16_t op) {
  FrameBytes bytes(kBytes<Body>);
  Body body{};
  const auto fill = [&](const auto& member) {
    if constexpr (requires { member.member; })
      for (std::size_t i = 0; i < member.bytes; ++i)
        bytes[member.offset + i] = static_cast<std::byte>(0x20 + (member.offset + i) % 0x50);
  };
  std::apply([&](const auto&... members) { (fill(members), ...); }, kLayout<Body>.members);
  body = *decode<Body>(bytes);
  return make_frame(op, 0x0807060504030201, body);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "wire-samples: one argument is accepted, the file to write\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  // pcap's header: magic, version 2.4, zone, accuracy, longest packet, link type USER0.
  put(file, 0xa1b2c3d4, 4);
  put(file, 2, 2);
  put(file, 4, 2);
  put(file, 0, 8);
  put(file, 65535, 4);
  put(file, 147, 4);
  write_packet(file, counting<HelloRequest>(number(Op::Hello)));
  write_packet(file, counting<HelloAnswer>(answer_to(Op::Hello)));
  write_packet(file, counting<AllocRequest>(number(Op::LeaseAlloc)));
  write_packet(file, counting<AllocAnswer>(answer_to(Op::LeaseAlloc)));
  write_packet(file, counting<RenewRequest>(number(Op::LeaseRenew)));
  write_packet(file, counting<RenewAnswer>(answer_to(Op::LeaseRenew)));
  write_packet(file, counting<RevokeRequest>(number(Op::LeaseRevoke)));
  write_packet(file, counting<RevokeAnswer>(answer_to(Op::LeaseRevoke)));
  write_packet(file, counting<RevokeTenantRequest>(number(Op::RevokeTenant)));
  write_packet(file, counting<RevokeTenantAnswer>(answer_to(Op::RevokeTenant)));
  write_packet(file, counting<ListRequest>(number(Op::LeaseList)));
  const LeaseRow first{.id = 0x11, .epoch = 0x12, .tenant = 0x13, .state = State::Fenced};
  const LeaseRow second{.id = 0x21, .left_ms = 0x22, .cause = Cause::Expired};
  write_packet(file, make_list(3, 0x77, std::array{first, second}));
  write_packet(file, counting<WatchRequest>(number(Op::LeaseWatch)));
  write_packet(file, counting<WatchAnswer>(answer_to(Op::LeaseWatch)));
  write_packet(file, counting<StatusRequest>(number(Op::Status)));
  write_packet(file, counting<StatusAnswer>(answer_to(Op::Status)));
  write_packet(file, counting<HistoryRequest>(number(Op::LeaseHistory)));
  const HistoryRow past{.id = 0x31, .ended_unix_ms = 0x32, .outcome = Outcome::Fenced};
  write_packet(file, make_history(4, {.from_unix_ms = 0x55, .has_more = 1}, std::array{past}));
  write_packet(file, counting<ChallengeRequest>(number(Op::LeaseChallenge)));
  write_packet(file, counting<ChallengeAnswer>(answer_to(Op::LeaseChallenge)));
  write_packet(file, counting<EndedNotice>(number(Notice::Revoked)));
  write_packet(file, counting<EndedNotice>(number(Notice::Expired)));
  write_packet(file, counting<RestartedNotice>(number(Notice::ServerRestarted)));
  const auto refused = refusal(Code::Limit, number(Op::LeaseAlloc), "12 leases; at most 10");
  write_packet(file, make_frame(kRefused, 9, refused));
  return file.flush() ? 0 : 2;
}
