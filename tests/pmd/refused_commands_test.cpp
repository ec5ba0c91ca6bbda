// SPDX-License-Identifier: BSD-3-Clause
//
// Every command of a queue pair and of the queue for UMRs, refused: whoever asked hears so, what
// was made goes back, and what was not changed is not taken for changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "pmd/umr_queue.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {
namespace {

using pmd::QueuePair;

struct Transition {
  std::string name;
  unsigned opcode = 0;
  std::function<Result<void>(QueuePair&)> run;
};

const std::vector<Transition>& transitions() {
  static const std::vector<Transition> all{
      {"ToInit", kRst2Init, [](QueuePair& qp) { return qp.to_init({}); }},
      {"ToRtr", kInit2Rtr, [](QueuePair& qp) { return qp.to_rtr({}); }},
      {"ToRts", kRtr2Rts, [](QueuePair& qp) { return qp.to_rts({}); }},
      {"ChangeInInit", kInit2Init, [](QueuePair& qp) { return qp.change_access_in_init({}); }},
      {"Change", kRts2Rts, [](QueuePair& qp) { return qp.change_access({}); }},
      {"Drain", kRts2Sqd, [](QueuePair& qp) { return qp.drain(1'000'000); }},
      {"DrainItsQuery", kQueryQp, [](QueuePair& qp) { return qp.drain(1'000'000); }},
      {"Resume", kSqdRts, [](QueuePair& qp) { return qp.resume(); }},
      {"ToError", k2Err, [](QueuePair& qp) { return qp.to_error(); }},
      {"ToReset", k2Rst, [](QueuePair& qp) { return qp.to_reset(); }},
      {"WithoutPeerInit", kRst2Init, [](QueuePair& qp) { return qp.to_rts_without_peer(); }},
      {"WithoutPeerRtr", kInit2Rtr, [](QueuePair& qp) { return qp.to_rts_without_peer(); }},
      {"WithoutPeerRts", kRtr2Rts, [](QueuePair& qp) { return qp.to_rts_without_peer(); }},
      {"Query", kQueryQp, [](QueuePair& qp) { return qp.query().map([](const auto&) {}); }},
      {"Destroy", kDestroyQp, [](QueuePair& qp) { return qp.destroy(); }},
  };
  return all;
}

struct RefusedTransitions : ::testing::TestWithParam<Transition>, QueueRig {};

TEST_P(RefusedTransitions, IsToldAndEndsTheCall) {
  channel.fail_with(GetParam().opcode, Errc::CommandFailed);
  const auto refused = GetParam().run(qp);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::CommandFailed);
  EXPECT_EQ(channel.sent.back().opcode(), GetParam().opcode);
}

INSTANTIATE_TEST_SUITE_P(Commands, RefusedTransitions, ::testing::ValuesIn(transitions()),
                         [](const auto& info) { return info.param.name; });

struct RefusedChanges : ::testing::Test, QueueRig {};

/// to_rtr() repeats the rights that the QP has.
TEST_F(RefusedChanges, OfRightsInInit_TheOldOnesAreRepeated) {
  ASSERT_TRUE(qp.to_init({.remote_write = true}));
  channel.fail_with(kInit2Init, Errc::CommandFailed);
  ASSERT_FALSE(qp.change_access_in_init({.remote_read = true}));
  ASSERT_TRUE(qp.to_rtr({}));
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rwe", channel.last()), 1U);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rre", channel.last()), 0U);
}

TEST_F(RefusedChanges, OfRightsInInitAccepted_TheNewOnesAreRepeated) {
  ASSERT_TRUE(qp.to_init({.remote_write = true}));
  ASSERT_TRUE(qp.change_access_in_init({.remote_read = true}));
  ASSERT_TRUE(qp.to_rtr({}));
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rwe", channel.last()), 0U);
  EXPECT_EQ(IfcMessage::read("init2rtr_qp_in.qpc.rre", channel.last()), 1U);
}

// ---- the queue for UMRs ----

struct UmrRig : ObjectRig {
  UmrRig() : page(uar()) { context.uar = &page; }
  pmd::Uar page;
};

struct Made {
  std::string name;
  unsigned refused = 0;
  std::vector<unsigned> destroyed;  // what was made before
};

struct RefusedUmrQueues : ::testing::TestWithParam<Made>, UmrRig {};

TEST_P(RefusedUmrQueues, NoQueueAndWhatWasMadeGoesBack) {
  const std::size_t before = arena.bytes_in_use();
  channel.fail_with(GetParam().refused, Errc::CommandFailed);
  EXPECT_EQ(pmd::UmrQueue::create(context, 2).error().code, Errc::CommandFailed);
  std::vector<unsigned> destroyed;
  for (const auto& command : channel.sent)
    for (const unsigned opcode : {kDestroyQp, kDestroyCq, kDeallocPd})
      for (unsigned i = 0; i < static_cast<unsigned>(command.opcode() == opcode); ++i)
        destroyed.push_back(opcode);
  EXPECT_EQ(destroyed, GetParam().destroyed);
  EXPECT_EQ(arena.bytes_in_use(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Commands, RefusedUmrQueues,
    ::testing::Values(Made{"Domain", kAllocPd, {}},
                      Made{"CompletionQueue", kCreateCq, {kDeallocPd}},
                      Made{"QueuePair", kCreateQp, {kDestroyCq, kDeallocPd}},
                      Made{"ToInit", kRst2Init, {kDestroyQp, kDestroyCq, kDeallocPd}},
                      Made{"ToRtr", kInit2Rtr, {kDestroyQp, kDestroyCq, kDeallocPd}},
                      Made{"ToRts", kRtr2Rts, {kDestroyQp, kDestroyCq, kDeallocPd}}),
    [](const auto& info) { return info.param.name; });

struct RefusedRecoveries : ::testing::TestWithParam<unsigned>, UmrRig {};

TEST_P(RefusedRecoveries, IsToldAndTheQueueTakesNothing) {
  auto queue = pmd::UmrQueue::create(context, 2).value();
  channel.fail_with(GetParam(), Errc::CommandFailed);
  EXPECT_EQ(queue.recover().error().code, Errc::CommandFailed);
  EXPECT_EQ(channel.sent.back().opcode(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Commands, RefusedRecoveries,
                         ::testing::Values(unsigned{k2Rst}, unsigned{kRst2Init},
                                           unsigned{kInit2Rtr}, unsigned{kRtr2Rts}));

}  // namespace
}  // namespace portcullis::testing
