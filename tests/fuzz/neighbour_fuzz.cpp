// SPDX-License-Identifier: BSD-3-Clause
//
// A neighbour that sends anything to what answers ARP, neighbour solicitation and ping. Nothing is
// read or written past a frame, each frame is counted once, and what is answered is a whole frame
// of the port's, to one station or, where somebody asks whether an address is taken, to all nodes.
// libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs the corpus once.
//
// An input is a byte that chooses the port's VLAN, and a frame.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "neighbour/answerer.hpp"

namespace {

using namespace portcullis;

void require(bool held) {
  if (!held) std::abort();
}

neighbour::Identity identity(std::uint8_t choice) {
  neighbour::Identity who{.mac = {{0x02, 0x50, 0x43, 0, 0, 1}},
                          .addresses = {pmd::Gid::from_ipv4(192, 0, 2, 1),
                                        pmd::Gid::parse("2001:db8::11:2201").value()}};
  if ((choice & 1) != 0) who.vlan_id = 5;
  return who;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  neighbour::Answerer answerer(identity(data[0]));
  std::vector<std::byte> frame(bytes - 1);
  if (!frame.empty()) std::memcpy(frame.data(), data + 1, frame.size());
  std::vector<std::byte> out(std::max(frame.size() + 4, neighbour::Answerer::kMostShortFrame));
  const std::size_t length = answerer.answer(frame, out);
  const neighbour::Counts& counts = answerer.counts();
  require(counts.arp_replies + counts.advertisements + counts.echo_replies + counts.malformed +
              counts.not_ours ==
          1);
  require((length == 0) == (counts.malformed + counts.not_ours == 1));
  require(length == 0 || (length >= 60 && length <= out.size()));
  const auto& own = answerer.identity().mac.octets;
  require(length == 0 || std::memcmp(out.data() + own.size(), own.data(), own.size()) == 0);
  constexpr std::uint8_t kAllNodes[] = {0x33, 0x33, 0, 0, 0, 1};
  require(length == 0 || (out[0] & std::byte{1}) == std::byte{0} ||
          std::memcmp(out.data(), kAllNodes, sizeof kAllNodes) == 0);
  return 0;
}
