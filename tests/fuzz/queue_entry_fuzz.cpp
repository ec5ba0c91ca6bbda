// SPDX-License-Identifier: BSD-3-Clause
//
// A device that writes anything into completion and event queues. Whatever a CQE says, polling
// ends, completes no request that was not posted, and none after an error; any EQE is an
// event and has a line. libFuzzer drives it in the asan build; elsewhere corpus_test.cpp runs the
// corpus once.
//
// An input is a byte that says how many requests are posted, then entries of 64 bytes: CQEs, whose
// owner bit is put right, and each an EQE as well.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>

#include "pmd/events.hpp"
#include "tests/pmd/object_rig.hpp"

namespace {

using namespace portcullis;
using namespace portcullis::testing;

constexpr std::uint32_t kEntries = 16;
constexpr std::size_t kEntryBytes = 64;

void require(bool held) {
  if (!held) std::abort();
}

/// The last byte's lowest bit is the owner's; it changes with every pass over the ring.
void produce(std::byte* ring, std::uint32_t number, std::span<const std::byte> entry) {
  std::byte* const at = ring + number % kEntries * kEntryBytes;
  std::memcpy(at, entry.data(), kEntryBytes);
  at[kEntryBytes - 1] &= std::byte{0xfe};
  at[kEntryBytes - 1] |= std::byte{static_cast<std::uint8_t>(number / kEntries % 2)};
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  QueueRig rig({.log_sq_size = 3, .log_rq_size = 2});
  std::set<std::uint64_t> posted;
  const auto post = [&] {
    const std::uint64_t wr_id = 100 + posted.size();
    if (rig.qp.post_write(pmd::GatherEntry{0x1000, 1, 8}, {0x2000, prm::Rkey{3}, wr_id, true}))
      posted.insert(wr_id);
  };
  for (unsigned i = 0; i < data[0] % 9u; ++i) post();

  auto input = std::as_bytes(std::span(data, size)).subspan(1);
  std::byte* const ring = rig.completion_ring();
  bool failed = false;
  for (std::uint32_t number = 0; input.size() >= kEntryBytes && number < 256; ++number) {
    const auto entry = input.first<kEntryBytes>();
    require(!pmd::describe(pmd::decode_event(entry)).empty());
    if (!failed) produce(ring, number, entry);
    input = input.subspan(kEntryBytes);
    const auto polled = rig.cq.try_poll();
    require(!failed || !polled);
    failed = !polled;
    if (!failed && *polled) {
      require((*polled)->qpn == prm::QpNumber{kQpn} && !pmd::describe(**polled).empty());
      require(posted.contains((*polled)->wr_id));
    }
  }
  return 0;
}
