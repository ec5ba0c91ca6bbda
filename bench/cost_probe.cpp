// SPDX-License-Identifier: BSD-3-Clause
//
// The probed calls of bench/cost.py: each stands in a function of its own whose name callgrind can
// be told to collect in, and so does relax(), where collection stops because the model works there.
// Alone it prints nothing but what `table` has to say; the figures are valgrind's.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/function.hpp"
#include "attach/port.hpp"
#include "failover/classify/dump.hpp"
#include "failover/report/json_report.hpp"
#include "lease/lease_table.hpp"
#include "pmd/fence_commands.hpp"
#include "program/standard_streams.hpp"
#include "proof/client.hpp"
#include "steering/loopback_pair.hpp"

namespace {

using portcullis::Device;
using portcullis::Errc;
using portcullis::Relax;
using portcullis::Result;
using portcullis::steering::LoopbackPair;
namespace attach = portcullis::attach;
namespace failover = portcullis::failover;
namespace proof = portcullis::proof;
namespace lease = portcullis::lease;
namespace model = portcullis::model;
namespace pmd = portcullis::pmd;
namespace prm = portcullis::prm;

/// Between driver and model: says whether callgrind collects while the driver relaxes.
struct RelaxSwitch {
  Relax inner;
  std::uint64_t relaxes = 0;
  bool is_probing = false;
};

}  // namespace

// C linkage for plain names; external, or they would be merged into their callers.
extern "C" {
void portcullis_cost_relax(RelaxSwitch& relax, std::uint64_t until_ns);
bool portcullis_cost_command(pmd::CommandChannel& channel, prm::QpNumber qpn);
std::uint64_t portcullis_cost_post(pmd::QueuePair& qp, std::span<const std::byte> data,
                                   pmd::WriteRequest request, std::uint64_t count);
std::uint64_t portcullis_cost_poll(pmd::CompletionQueue& cq, std::uint64_t first_wr_id,
                                   std::uint64_t count);
std::size_t portcullis_cost_rules(const std::vector<failover::OutstandingRequest>& dump);
std::size_t portcullis_cost_advice(std::string_view dump_json);
}

[[gnu::noinline]] void portcullis_cost_relax(RelaxSwitch& relax, std::uint64_t until_ns) {
  relax.inner(until_ns);
  ++relax.relaxes;  // behind the call, so that it is a call and not a jump
}

[[gnu::noinline]] bool portcullis_cost_command(pmd::CommandChannel& channel, prm::QpNumber qpn) {
  return pmd::error_qp_command(qpn)
      .run(channel, channel.default_deadline_ns(), pmd::SlotClass::Fence)
      .has_value();
}

// `count` times in a row, as a client does it, so that entering and leaving this function is not
// taken for the driver's work. Each WRITE goes elsewhere and has its own doorbell.
[[gnu::noinline]] std::uint64_t portcullis_cost_post(pmd::QueuePair& qp,
                                                     std::span<const std::byte> data,
                                                     pmd::WriteRequest request,
                                                     std::uint64_t count) {
  std::uint64_t posted = 0;
  for (; posted < count; ++posted) {
    if (!qp.post_write_inline(data, request)) break;
    qp.ring();
    request.remote_address += data.size();
    ++request.wr_id;
  }
  return posted;
}

// Looks at what a client looks at, the request's id and its status, or the compiler leaves out what
// nobody reads.
[[gnu::noinline]] std::uint64_t portcullis_cost_poll(pmd::CompletionQueue& cq,
                                                     std::uint64_t first_wr_id,
                                                     std::uint64_t count) {
  std::uint64_t polled = 0;
  for (; polled < count; ++polled) {
    const auto completion = cq.try_poll();
    if (!completion || !*completion || !(*completion)->ok()) break;
    if ((*completion)->wr_id != first_wr_id + polled) break;
  }
  return polled;
}

// How many requests a rule answered: one call is a whole dump.
[[gnu::noinline]] std::size_t portcullis_cost_rules(
    const std::vector<failover::OutstandingRequest>& dump) {
  const auto advice = failover::classify(dump, nullptr, failover::Effort::Rules);
  if (!advice) return 0;
  return static_cast<std::size_t>(
      std::count_if(advice->begin(), advice->end(), [](const auto& c) { return c.is_by_rule; }));
}

// From a text to a text, as the C interface and `classify --rules` answer. Its length.
[[gnu::noinline]] std::size_t portcullis_cost_advice(std::string_view dump_json) {
  const auto dump = failover::read_dump(dump_json, "dump");
  if (!dump) return 0;
  const auto advice = failover::classify(*dump, nullptr, failover::Effort::Rules);
  if (!advice) return 0;
  auto all = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < dump->size(); ++i)
    all.push_back(failover::to_json((*dump)[i], (*advice)[i]));
  return all.dump(2).size();
}

namespace {

void relax_entry(void* context, std::uint64_t until_ns) noexcept {
  auto& relax = *static_cast<RelaxSwitch*>(context);
  if (relax.is_probing)
    portcullis_cost_relax(relax, until_ns);
  else
    relax.inner(until_ns);
}

int refuse(std::string_view text) {
  fmt::print(stderr, "cost_probe: {}\n", text);
  return 1;
}

/// Driver and model in one thread, with a QP that writes to another.
struct Setup {
  RelaxSwitch relax;
  std::unique_ptr<attach::Function> function;
};

Result<std::unique_ptr<Setup>> set_up() {
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open({model::Options{}}));
  auto setup = std::make_unique<Setup>(Setup{{opened.device().relax}, nullptr});
  const auto switched = [&setup](Device device) {
    device.relax = Relax(&relax_entry, &setup->relax);
    return device;
  };
  PORTCULLIS_TRY_ASSIGN(setup->function,
                        attach::Function::bring_up(std::move(opened), {.present = switched}));
  return setup;
}

Result<void> probe_command(Setup& setup, std::uint64_t iterations) {
  const pmd::Context& context = setup.function->context();
  PORTCULLIS_TRY_ASSIGN(auto port, attach::Port::create(context, {.gid = attach::kLoopbackGid}));
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(context, port.path()));
  for (std::uint64_t i = 0; i < iterations; ++i) {
    setup.relax.is_probing = true;
    const bool is_done = portcullis_cost_command(*context.commands, pair->requester().number());
    setup.relax.is_probing = false;
    if (!is_done) return portcullis::fail(Errc::CommandFailed, "2ERR_QP failed");
  }
  return {};
}

/// WRITEs in batches, all polled before the next; callgrind is told which half to collect.
Result<void> probe_write(Setup& setup, std::uint64_t iterations) {
  constexpr std::uint64_t kBatch = 32;  // what the send queue holds
  const pmd::Context& context = setup.function->context();
  PORTCULLIS_TRY_ASSIGN(auto port, attach::Port::create(context, {.gid = attach::kLoopbackGid}));
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(context, port.path()));
  const std::array<std::byte, proof::Client::kWriteBytes> data{};
  for (std::uint64_t done = 0; done < iterations; done += kBatch) {
    const std::uint64_t count = std::min(kBatch, iterations - done);
    const pmd::WriteRequest request{.remote_address = 0, .rkey = pair->rkey(), .wr_id = done};
    if (portcullis_cost_post(pair->requester(), data, request, count) != count)
      return portcullis::fail(Errc::Busy, "a WRITE was not posted");
    // The model answers here, so that each poll finds its completion at the first look.
    for (int events = 0; events < 1024; ++events)
      context.device.relax(context.device.clock.now_ns() + portcullis::kNsPerUs);
    if (portcullis_cost_poll(pair->cq(), done, count) != count)
      return portcullis::fail(Errc::DeviceFailed, "a WRITE did not complete");
  }
  return {};
}

/// 64 requests that a failed QP left, each with bytes, a buffer and one of eight contracts of its
/// own: all opcodes that a rule answers for, in turn, under every environment, fenced or not.
std::string dump_of_64() {
  constexpr std::array kOpcodes = {"RDMA_WRITE", "RDMA_READ", "ATOMIC_FETCH_AND_ADD",
                                   "ATOMIC_CMP_AND_SWP", "RDMA_WRITE"};
  constexpr std::array kEnvironments = {"quiet", "reuse", "other-writers", "aba"};
  std::string regions, requests;
  for (unsigned i = 0; i < 2 * kEnvironments.size(); ++i)
    regions += fmt::format(R"({}{{"rkey": {}, "environment": "{}", "fenced": {}}})",
                           i == 0 ? "" : ", ", 0x1000 + i, kEnvironments[i / 2], i % 2 == 0);
  for (unsigned i = 0; i < 64; ++i) {
    const std::string_view opcode = kOpcodes[i % kOpcodes.size()];
    const bool is_atomic = opcode.starts_with("ATOMIC");
    requests += fmt::format(
        R"({}{{"wr_id": {}, "opcode": "IBV_WR_{}", "rkey": {}, "remote_addr": {}, "length": {},
          "compare_add": {}, "swap": {}, "qp_num": 17, "status": "IBV_WC_{}",
          "sg_list": [{{"addr": {}, "length": {}, "lkey": 5}}]}})",
        i == 0 ? "" : ",\n", i, opcode, 0x1000 + i % 8, 0x100000 * (i + 1), is_atomic ? 8 : 8192, i,
        i + 1, i == 0 ? "RETRY_EXC_ERR" : "WR_FLUSH_ERR", 0x7f0000000000 + 0x10000 * i,
        is_atomic ? 8 : 8192);
  }
  return fmt::format(R"({{"regions": [{}], "work_requests": [{}]}})", regions, requests);
}

Result<void> probe_advice(std::uint64_t iterations) {
  const std::string text = dump_of_64();
  PORTCULLIS_TRY_ASSIGN(const auto dump, failover::read_dump(text, "dump of 64"));
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::size_t ruled = portcullis_cost_rules(dump);
    if (ruled != dump.size())
      return portcullis::fail(Errc::InvalidArgument,
                              fmt::format("{} of {} requests by rule", ruled, dump.size()));
    if (portcullis_cost_advice(text) == 0)
      return portcullis::fail(Errc::InvalidArgument, "no advice by rule");
  }
  return {};
}

/// What a table of `slots` takes from the heap, as the allocator counts it.
Result<std::size_t> table_bytes(std::uint64_t slots) {
  const auto heap = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::size_t before = heap();
  PORTCULLIS_TRY_ASSIGN(const auto table,
                        lease::LeaseTable::create({.slots = static_cast<std::uint32_t>(slots)}));
  return heap() - before + sizeof table;
}

Result<void> probe(std::string_view name, std::uint64_t count) {
  if (name == "table") {
    PORTCULLIS_TRY_ASSIGN(const std::size_t bytes, table_bytes(count));
    fmt::print("{}\n", bytes);
    return {};
  }
  if (name == "rules" || name == "advice") return probe_advice(count);
  if (name != "command" && name != "post" && name != "poll")
    return portcullis::fail(
        Errc::InvalidArgument,
        fmt::format("{}: accepted are command, post, poll, rules, advice, table", name));
  PORTCULLIS_TRY_ASSIGN(const auto setup, set_up());
  return name == "command" ? probe_command(*setup, count) : probe_write(*setup, count);
}

int act(int argc, char** argv) {
  std::uint64_t count = 0;
  const std::string_view number = argc == 3 ? argv[2] : "";
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc() || end != number.data() + number.size() || count == 0)
    return refuse(
        "usage: cost_probe command|post|poll|rules|advice ITERATIONS, or cost_probe table SLOTS");
  const Result<void> done = probe(argv[1], count);
  return done ? 0 : refuse(done.error().text);
}

}  // namespace

int main(int argc, char** argv) {
  return portcullis::program::run_main("cost_probe", [&] { return act(argc, argv); });
}
