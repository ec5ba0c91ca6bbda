// SPDX-License-Identifier: BSD-3-Clause
//
// Every right by itself: what each command that sets rights sends of it, and what each that asks
// for them reads.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "pmd/memory_key.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using pmd::Access;

using Bits = std::array<std::uint64_t, 3>;  // rwe, rre, rae

struct Right {
  std::string name;
  Access access;
  std::string qpc;  // its bit in a QP's context
  std::string mkc;  // and in a key's
  Bits sent;
};

const Right remote_write{"RemoteWrite", {.remote_write = true}, "rwe", "rw", {1, 0, 0}};
const Right remote_read{"RemoteRead", {.remote_read = true}, "rre", "rr", {0, 1, 0}};
const Right remote_atomic{"RemoteAtomic", {.remote_atomic = true}, "rae", "a", {0, 0, 1}};

struct EveryRight : ::testing::TestWithParam<Right>, QueueRig {
  Bits last_sent(const std::string& layout) {
    const auto bit = [&](const char* field) {
      return IfcMessage::read(layout + ".qpc." + field, channel.last());
    };
    return {bit("rwe"), bit("rre"), bit("rae")};
  }
};

TEST_P(EveryRight, OfAQueuePair_IsSentByItselfToInitInInitToRtrAndInRts) {
  ASSERT_TRUE(qp.to_init(GetParam().access));
  EXPECT_EQ(last_sent("rst2init_qp_in"), GetParam().sent);
  ASSERT_TRUE(qp.to_init({}));
  ASSERT_TRUE(qp.change_access_in_init(GetParam().access));
  EXPECT_EQ(last_sent("init2init_qp_in"), GetParam().sent);
  ASSERT_TRUE(qp.to_rtr({}));
  EXPECT_EQ(last_sent("init2rtr_qp_in"), GetParam().sent);
  ASSERT_TRUE(qp.change_access(GetParam().access));
  EXPECT_EQ(last_sent("rts2rts_qp_in"), GetParam().sent);
}

TEST_P(EveryRight, OfAQueuePair_IsReadByItself) {
  channel.answer(kQueryQp, IfcMessage("query_qp_out", 272).put("qpc." + GetParam().qpc, 1));
  EXPECT_EQ(qp.query()->access, GetParam().access);
}

TEST_P(EveryRight, OfAKey_IsReadByItself) {
  channel.answer(
      kQueryMkey,
      IfcMessage("query_mkey_out", 304).put("memory_key_mkey_entry." + GetParam().mkc, 1));
  EXPECT_EQ(pmd::query_memory_key(context, prm::MkeyIndex{1})->access, GetParam().access);
}

INSTANTIATE_TEST_SUITE_P(Rights, EveryRight,
                         ::testing::Values(remote_write, remote_read, remote_atomic),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace portcullis::testing
