// SPDX-License-Identifier: BSD-3-Clause
//
// The driver's own objects on a function that its kernel driver keeps: the same QPs and CQs, with
// commands, memory and doorbells by DevX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <future>
#include <optional>
#include <variant>
#include <vector>

#include "attach/port.hpp"
#include "base/dma_bytes.hpp"
#include "pmd/capabilities.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/qp_commands.hpp"
#include "tests/devx/kept_function.hpp"

namespace portcullis::testing {
namespace {

using prm::Opcode;
using ::testing::HasSubstr;

struct KeptPair : KeptFunction {
  void SetUp() override {
    KeptFunction::SetUp();
    client.connect(server.qp.number(), kClientPsn, kServerPsn);
    server.connect(client.qp.number(), kServerPsn, kClientPsn);
  }
  [[nodiscard]] pmd::WriteRequest to(std::uint64_t offset, std::uint64_t wr_id) const {
    return {offset, server.key.rkey(), wr_id, true};
  }
  pmd::Completion complete() { return client.cq.wait(in_a_minute()).value(); }

  Side client = Side::make(function->context());
  Side server = Side::make(function->context());
};

TEST_F(KeptPair, WritesCompleteInOrderAndLand) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::vector<std::byte> line(64, static_cast<std::byte>(i));
    ASSERT_TRUE(client.qp.post_write_inline(line, to(64 * i, i)));
    client.qp.ring();
    const pmd::Completion done = complete();
    ASSERT_TRUE(done.ok()) << describe(done);
    ASSERT_EQ(done.wr_id, i);
    ASSERT_EQ(dma_peek(server.memory.bytes().data() + 64 * i), line[0]);
  }
}

TEST_F(KeptPair, LastByteOfARegion_IsReached) {
  const std::vector<std::byte> line(64, std::byte{0x5a});
  ASSERT_TRUE(client.qp.post_write_inline(line, to(kRegionBytes - 64, 7)));
  client.qp.ring();
  ASSERT_TRUE(complete().ok());
  EXPECT_EQ(dma_peek(server.memory.bytes().data() + kRegionBytes - 1), line[0]);
}

TEST_F(KeptPair, KeyThatWasDestroyed_RefusesTheNextWrite) {
  ASSERT_TRUE(server.key.destroy());
  const std::vector<std::byte> line(64, std::byte{1});
  ASSERT_TRUE(client.qp.post_write_inline(line, to(0, 1)));
  client.qp.ring();
  EXPECT_EQ(complete().status, prm::WcStatus::REM_ACCESS_ERR);
  EXPECT_EQ(dma_peek(server.memory.bytes().data()), std::byte{0});
}

TEST_F(KeptPair, KernelThatFakes_DestroyedKeyIsNoSuccess) {
  kernel.break_down();
  const auto destroyed = server.key.destroy();
  ASSERT_FALSE(destroyed);
  EXPECT_EQ(destroyed.error().code, Errc::DeviceFailed);
  EXPECT_TRUE(pmd::may_have_happened(destroyed.error()));
  // It was not so: the device still serves the key.
  const std::vector<std::byte> line(64, std::byte{0x33});
  ASSERT_TRUE(client.qp.post_write_inline(line, to(0, 1)));
  client.qp.ring();
  ASSERT_TRUE(complete().ok());
  EXPECT_EQ(dma_peek(server.memory.bytes().data()), line[0]);
}

TEST_F(KeptPair, KernelThatFakes_QpInErrorIsNoSuccess) {
  kernel.break_down();
  const auto stopped = server.qp.to_error();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::DeviceFailed);
}

TEST_F(KeptPair, WriteThatIsRefused_ItsResponderHearsOfIt) {
  const std::vector<std::byte> line(64, std::byte{1});
  ASSERT_TRUE(client.qp.post_write_inline(line, to(kRegionBytes, 1)));
  client.qp.ring();
  ASSERT_FALSE(complete().ok());
  std::optional<pmd::Event> event;
  const auto came = [&] { return (event = function->next_event()).has_value(); };
  ASSERT_TRUE(wait_until(function->context().device, in_a_minute(), came));
  const auto& told = std::get<pmd::QpEvent>(*event);
  EXPECT_EQ(told.type, prm::number(prm::EventType::WQ_ACCESS_ERROR));
  EXPECT_EQ(told.qpn, server.qp.number());
}

TEST_F(KeptPair, KernelThatFakes_TheNextPollSaysSo) {
  EXPECT_TRUE(function->poll());
  kernel.break_down();
  EXPECT_TRUE(function->condition());  // which looks at nothing
  const auto broken = function->poll();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::DeviceFailed);
  EXPECT_THAT(broken.error().text, HasSubstr("the kernel driver has told"));
  EXPECT_FALSE(function->condition());
}

TEST_F(KeptPair, FunctionThatSomebodyReset_AnswersNoCommand) {
  function->function_was_reset();
  const auto destroyed = server.key.destroy();
  ASSERT_FALSE(destroyed);
  EXPECT_THAT(destroyed.error().text, HasSubstr("DESTROY_MKEY: the function has been reset"));
}

TEST_F(KeptFunction, QueueThatCannotSubscribe_IsNotLeftBehind) {
  kernel.answer_subscriptions_with(EOPNOTSUPP);
  const auto cq = pmd::CompletionQueue::create(function->context(), 4);
  ASSERT_FALSE(cq);
  EXPECT_THAT(cq.error().text, HasSubstr("CREATE_CQ by DevX"));
  EXPECT_EQ(kernel.seen().back(), Opcode::DESTROY_CQ);
}

TEST_F(KeptFunction, WhatItIs_IsAsItsKernelHasIt) {
  EXPECT_EQ(function->firmware_version(), kernel.hca().firmware_version());
  EXPECT_EQ(function->board_id(), kernel.hca().board_id());
  EXPECT_TRUE(function->is_emulated());
  EXPECT_TRUE(function->context().is_kept);
}

TEST_F(KeptFunction, PortWithoutAnAddressAsked_TakesTheKernelsFirst) {
  ASSERT_TRUE(addresses.clear(0));
  ASSERT_TRUE(addresses.set(3, {kGid, kMac}));
  const auto port = attach::Port::create(function->context(), {});
  ASSERT_TRUE(port) << port.error().text;
  EXPECT_EQ(port->address(), (pmd::RoceAddress{kGid, kMac}));
  EXPECT_EQ(port->path().source_address_index, 3);
}

TEST_F(KeptFunction, AddressOfItsOwn_IsFoundAmongTheKernels) {
  const pmd::Gid wanted = pmd::Gid::from_ipv4(192, 0, 2, 7);
  ASSERT_TRUE(addresses.set(1, {wanted, kMac}));
  ASSERT_TRUE(addresses.set(2, {wanted, kMac, 9}));
  EXPECT_EQ(attach::Port::create(function->context(), {.gid = wanted})->address_index(), 1);
  const attach::Port::Options on_vlan{.gid = wanted, .vlan_id = 9};
  EXPECT_EQ(attach::Port::create(function->context(), on_vlan)->address_index(), 2);
}

TEST_F(KeptFunction, MacOfOnesOwn_IsRefused) {
  const auto port = attach::Port::create(function->context(), {.gid = kGid, .mac = kMac});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::Unsupported);
  EXPECT_THAT(port.error().text, HasSubstr(kMac.text()));
}

TEST_F(KeptFunction, AddressThatTheKernelHasNot_IsRefusedWithThoseItHas) {
  const pmd::Gid wanted = pmd::Gid::from_ipv4(192, 0, 2, 7);
  const auto port = attach::Port::create(function->context(), {.gid = wanted});
  ASSERT_FALSE(port);
  EXPECT_EQ(port.error().code, Errc::NotFound);
  EXPECT_EQ(port.error().text, "no RoCEv2 address " + wanted.text() +
                                   " on this port, whose addresses are the kernel's; there are " +
                                   kGid.text());
}

TEST_F(KeptPair, MemoryUnderALiveKey_CannotBeUnmapped) {
  const auto unmapped = server.memory.unmap();
  ASSERT_FALSE(unmapped);
  EXPECT_EQ(unmapped.error().code, Errc::CommandFailed);
  ASSERT_TRUE(server.key.destroy());
  EXPECT_TRUE(server.memory.unmap());
}

TEST_F(KeptFunction, EverythingDropped_NoUmemIsLeft) {
  { const Side side = Side::make(function->context()); }
  function.reset();
  EXPECT_EQ(kernel.umems(), 0u);
}

TEST_F(KeptFunction, ObjectsLeftBehind_GoNewestFirst) {
  {
    const pmd::Context& context = function->context();
    auto pd = pmd::ProtectionDomain::create(context).value();
    auto memory = DmaMemory::create(*context.device.dma, kPageBytes).value();
    auto key = pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(memory),
                                          {.local_write = true})
                   .value();
    static_cast<void>(key.release());
    static_cast<void>(pd.release());
  }
  function.reset();
  const auto seen = kernel.seen();
  ASSERT_GE(seen.size(), 2u);
  EXPECT_EQ(seen[seen.size() - 2], Opcode::DESTROY_MKEY);
  EXPECT_EQ(seen[seen.size() - 1], Opcode::DEALLOC_PD);
}

TEST_F(KeptFunction, RefusedByTheKernel_IsASystemErrorAndNothingHappened) {
  kernel.set_gate([](Opcode) { return EPERM; });
  const auto pd = pmd::ProtectionDomain::create(function->context());
  ASSERT_FALSE(pd);
  EXPECT_EQ(pd.error().code, Errc::System);
  EXPECT_FALSE(pmd::may_have_happened(pd.error()));
  EXPECT_THAT(pd.error().text, HasSubstr("ALLOC_PD by DevX: Operation not permitted"));
}

TEST_F(KeptFunction, ObjectThatWasNotMadeHere_IsNotFound) {
  const auto gone = pmd::query_memory_key(function->context(), prm::MkeyIndex{0x7fff});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::NotFound);
}

TEST_F(KeptFunction, CommandThatNeverReturns_TimesOutAndAnotherGoesOn) {
  std::promise<void> released;
  const auto wait = released.get_future().share();
  kernel.set_gate([wait](Opcode opcode) {
    if (opcode == Opcode::ALLOC_PD) wait.wait();
    return 0;
  });
  pmd::CommandChannel& commands = *function->context().commands;
  prm::Buffer<prm::alloc_pd_in> in;
  in.set<"opcode", prm::number(Opcode::ALLOC_PD)>();
  const std::uint64_t soon = function->context().device.clock.now_ns() + 20 * kNsPerMs;
  const auto late = pmd::run<prm::alloc_pd_out>(commands, in, soon);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::Timeout);
  EXPECT_TRUE(pmd::read_capabilities(commands));
  released.set_value();
}

TEST(KeptNumbers, NumberGivenAnewWhileItsDestroyIsStillUnderWay_IsTheNewObjects) {
  KernelFake kernel({"reuse-numbers"});
  devx::KeptNic nic{kernel.open(), "a kept function"};
  const auto function = devx::Function::open(nic, nic.device()).value();
  pmd::CommandChannel& commands = *function->context().commands;
  auto first = pmd::ProtectionDomain::create(function->context()).value();
  const auto number = first.number();
  std::promise<void> done;
  std::promise<void> released;
  const auto wait = released.get_future().share();
  kernel.set_late_gate([&done, wait, is_first = true](Opcode opcode) mutable {
    if (opcode != Opcode::DEALLOC_PD || !std::exchange(is_first, false)) return;
    done.set_value();
    wait.wait();
  });
  prm::Buffer<prm::dealloc_pd_in> in;
  in.set<"opcode", prm::number(Opcode::DEALLOC_PD)>();
  in.put<"pd">(number);
  const auto ticket =
      commands.submit(in.all(), prm::dealloc_pd_out::bytes, pmd::SlotClass::Common).value();
  static_cast<void>(first.release());
  done.get_future().wait();
  auto second = pmd::ProtectionDomain::create(function->context()).value();
  ASSERT_EQ(second.number(), number);
  released.set_value();
  prm::Buffer<prm::dealloc_pd_out> out;
  EXPECT_TRUE(commands.await(ticket, out.all(), commands.default_deadline_ns()));
  kernel.set_late_gate({});
  EXPECT_TRUE(second.destroy());
}

TEST_F(KeptPair, ObjectThatACallIsUnderWayAbout_TakesNoOther) {
  std::promise<void> released;
  const auto wait = released.get_future().share();
  kernel.set_gate([wait](Opcode opcode) {
    if (opcode == Opcode::QUERY_QP) wait.wait();
    return 0;
  });
  pmd::CommandChannel& commands = *function->context().commands;
  prm::Buffer<prm::query_qp_in> in;
  in.set<"opcode", prm::number(Opcode::QUERY_QP)>();
  in.put<"qpn">(client.qp.number());
  const std::uint64_t soon = function->context().device.clock.now_ns() + 20 * kNsPerMs;
  const auto late = pmd::run<prm::query_qp_out>(commands, in, soon);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::Timeout);
  const auto second = client.qp.to_error();
  ASSERT_FALSE(second);
  EXPECT_FALSE(pmd::may_have_happened(second.error())) << second.error().text;
  EXPECT_TRUE(server.qp.to_error());
  kernel.set_gate({});
  released.set_value();
}

TEST_F(KeptFunction, CommandThatTheKernelDoesNotTake_IsUnsupported) {
  prm::Buffer<prm::query_pages_in> in;
  in.set<"opcode", prm::number(Opcode::QUERY_PAGES)>();
  const auto done = pmd::run<prm::query_pages_out>(*function->context().commands, in);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::Unsupported);
}

}  // namespace
}  // namespace portcullis::testing
