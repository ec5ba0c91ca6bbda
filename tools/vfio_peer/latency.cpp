// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/latency.hpp"

#include "base/clock.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

using prm::Opcode;

/// Runs `step(ns)` once unseen and `samples` times more; it stores what it measured.
template <class Step>
Result<Series> sample(std::string name, std::uint32_t samples, Step step) {
  Series series{std::move(name), {}};
  for (std::uint32_t i = 0; i <= samples; ++i) {
    std::uint64_t ns = 0;
    PORTCULLIS_TRY(step(ns));
    if (i > 0) series.ns.push_back(ns);
  }
  return series;
}

/// The provider's call for one command, and how long it took.
template <class Out, class In>
Result<void> timed(Device& device, const prm::Buffer<In>& in, std::uint64_t& ns) {
  prm::Buffer<Out> out;
  const std::uint64_t started_ns = Clock::wall().now_ns();
  Result<void> done = device.execute(in.all(), out.all());
  ns = Clock::wall().now_ns() - started_ns;
  return done;
}

Result<Series> measure_read(const Device& device, std::uint32_t samples) {
  const auto registers = device.registers();
  return sample("fw_rev", samples, [&](std::uint64_t& ns) -> Result<void> {
    const std::uint64_t started_ns = Clock::wall().now_ns();
    const std::uint32_t revision = registers.get<"fw_rev">();
    ns = Clock::wall().now_ns() - started_ns;
    if (revision == ~std::uint32_t{0})
      return fail(Errc::DeviceGone, "fw_rev reads all ones: the function is gone");
    return {};
  });
}

/// Each time of a queue pair that has come to RTS.
Result<Series> measure_2err(Device& device, const Port& port, const CompletionQueue& completions,
                            std::uint32_t samples) {
  PORTCULLIS_TRY_ASSIGN(const auto pair, QueuePair::create(device, completions));
  return sample("2ERR_QP", samples, [&](std::uint64_t& ns) -> Result<void> {
    PORTCULLIS_TRY(pair->connect(port, pair->number()));
    prm::Buffer<prm::qp_2err_in> in;
    in.set<"opcode", Opcode::QP_2ERR>().put<"qpn">(pair->number());
    PORTCULLIS_TRY(timed<prm::qp_2err_out>(device, in, ns));
    return pair->to_reset();
  });
}

/// Each time of a fresh key that needs no translations (access mode PA).
Result<Series> measure_destroy_mkey(Device& device, std::uint32_t samples) {
  return sample("DESTROY_MKEY", samples, [&](std::uint64_t& ns) -> Result<void> {
    prm::Buffer<prm::create_mkey_in> create;
    create.set<"opcode", Opcode::CREATE_MKEY>()
        .put<"memory_key_mkey_entry.access_mode_1_0">(prm::MkcAccessMode::PA)
        .set<"memory_key_mkey_entry.lr", 1>()
        .set<"memory_key_mkey_entry.length64", 1>()
        .put<"memory_key_mkey_entry.qpn">(prm::kMkcQpnAny)
        .put<"memory_key_mkey_entry.pd">(device.pd());
    PORTCULLIS_TRY_ASSIGN(const auto key, device.run<prm::create_mkey_out>(create));
    prm::Buffer<prm::destroy_mkey_in> in;
    in.set<"opcode", Opcode::DESTROY_MKEY>().put<"mkey_index">(key.get<"mkey_index">());
    return timed<prm::destroy_mkey_out>(device, in, ns);
  });
}

Result<Series> measure_query(Device& device, std::uint32_t samples) {
  return sample("QUERY_ISSI", samples, [&](std::uint64_t& ns) -> Result<void> {
    prm::Buffer<prm::query_issi_in> in;
    in.set<"opcode", Opcode::QUERY_ISSI>();
    return timed<prm::query_issi_out>(device, in, ns);
  });
}

}  // namespace

Result<Latencies> measure(Device& device, const Port& port, std::uint32_t eqn,
                          std::uint32_t samples) {
  Latencies all;
  PORTCULLIS_TRY_ASSIGN(all.register_read, measure_read(device, samples));
  PORTCULLIS_TRY_ASSIGN(const auto completions, CompletionQueue::create(device, eqn));
  PORTCULLIS_TRY_ASSIGN(auto to_error, measure_2err(device, port, *completions, samples));
  all.commands.push_back(std::move(to_error));
  PORTCULLIS_TRY_ASSIGN(auto destroy, measure_destroy_mkey(device, samples));
  all.commands.push_back(std::move(destroy));
  PORTCULLIS_TRY_ASSIGN(auto query, measure_query(device, samples));
  all.commands.push_back(std::move(query));
  return all;
}

}  // namespace portcullis::tools::vfio_peer
