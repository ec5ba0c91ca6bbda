// SPDX-License-Identifier: BSD-3-Clause
//
// The data path while the device runs on a core of its own: what the owner bits, records and
// doorbells order, and ThreadSanitizer would find missing.
#include <gtest/gtest.h>

#include <vector>

#include "base/dma_bytes.hpp"
#include "tests/pmd/polled_loopback.hpp"

namespace portcullis::testing {
namespace {

using prm::WcStatus;

struct PolledWrites : PolledLoopback {
  [[nodiscard]] pmd::WriteRequest to(std::uint64_t offset, std::uint64_t wr_id) const {
    return {offset, server.key.rkey(), wr_id, true};
  }
};

TEST_F(PolledWrites, WritesCompleteInOrderAndLand) {
  constexpr std::uint64_t kWrites = 2000;
  std::vector<std::byte> line(64);
  for (std::uint64_t i = 0; i < kWrites; ++i) {
    line[0] = static_cast<std::byte>(i);
    ASSERT_TRUE(client.qp.post_write_inline(line, to(64 * (i % 1024), i)));
    client.qp.ring();
    const pmd::Completion done = complete();
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(done.wr_id, i);
    ASSERT_EQ(dma_peek(server.memory.bytes().data() + 64 * (i % 1024)), line[0]);
  }
}

TEST_F(PolledWrites, DeepQueue_CompletesEveryRequest) {
  constexpr std::uint64_t kWrites = 2000;
  std::uint64_t posted = 0;
  for (std::uint64_t completed = 0; completed < kWrites; ++completed) {
    while (posted < kWrites && client.qp.outstanding_blocks() < 64) {
      ASSERT_TRUE(
          client.qp.post_write({0, client.key.lkey(), 64}, to(64 * (posted % 1024), posted)));
      client.qp.ring();
      ++posted;
    }
    const pmd::Completion done = complete();
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(done.wr_id, completed);
  }
}

TEST_F(PolledWrites, ErrorUnderTraffic_FlushesTheRest) {
  for (std::uint64_t i = 0; i < 64; ++i)
    ASSERT_TRUE(client.qp.post_write({0, client.key.lkey(), 64}, to(0, i)));
  client.qp.ring();
  ASSERT_TRUE(client.qp.to_error());
  for (std::uint64_t i = 0; i < 64; ++i) {
    const pmd::Completion done = complete();
    ASSERT_EQ(done.wr_id, i);
    ASSERT_TRUE(done.ok() || done.status == WcStatus::WR_FLUSH_ERR) << describe(done);
  }
}

}  // namespace
}  // namespace portcullis::testing
