// SPDX-License-Identifier: BSD-3-Clause
//
// What portcullis_verbs.h hands to a driver, as the driver sees it: ibv_post_send() calls the
// device's operation, which is the test's here.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "client/portcullis_verbs.h"

namespace {

/// One request, with its bytes as they were when it was posted.
struct Posted {
  ibv_send_wr request{};
  std::vector<unsigned char> bytes;
};
struct Driver {
  std::vector<Posted> posted;
  int answer = 0;
};

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** refused) {
  auto& driver = *static_cast<Driver*>(qp->qp_context);
  const auto* from = std::bit_cast<const unsigned char*>(request->sg_list[0].addr);
  driver.posted.push_back({*request, {from, from + request->sg_list[0].length}});
  if (driver.answer != 0) *refused = request;
  return driver.answer;
}

class VerbsTest : public testing::Test {
 protected:
  VerbsTest() {
    context_.ops.post_send = post_send;
    qp_.context = &context_;
    qp_.qp_context = &driver_;
    lease_.address = 0x1122334455667000;
    lease_.rkey = 0xabcdef01;
    const std::array<unsigned char, 8> nonce{1, 2, 3, 4, 5, 6, 7, 8};
    std::memcpy(challenge_.nonce, nonce.data(), nonce.size());
  }

  Driver driver_;
  ibv_context context_{};
  ibv_qp qp_{};
  portcullis_lease lease_{};
  portcullis_challenge challenge_{};
};

TEST_F(VerbsTest, Challenge_IsOneInlineWriteOfTheNonceToTheRegionsFirstBytes) {
  EXPECT_EQ(portcullis_challenge_post(&qp_, &lease_, &challenge_, 77), 0);
  ASSERT_EQ(driver_.posted.size(), 1u);
  const Posted& one = driver_.posted[0];
  EXPECT_EQ(one.request.opcode, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(one.request.send_flags, unsigned{IBV_SEND_SIGNALED} | unsigned{IBV_SEND_INLINE});
  EXPECT_EQ(one.request.wr_id, 77u);
  EXPECT_EQ(one.request.next, nullptr);
  EXPECT_EQ(one.request.num_sge, 1);
  EXPECT_EQ(one.request.wr.rdma.remote_addr, lease_.address);
  EXPECT_EQ(one.request.wr.rdma.rkey, lease_.rkey);
  EXPECT_EQ(one.bytes, (std::vector<unsigned char>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(VerbsTest, QueueThatIsFull_IsAnsweredAsTheDriverSaysIt) {
  driver_.answer = ENOMEM;
  EXPECT_EQ(portcullis_challenge_post(&qp_, &lease_, &challenge_, 1), ENOMEM);
}

}  // namespace
