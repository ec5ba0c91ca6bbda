// SPDX-License-Identifier: BSD-3-Clause
//
// The round trip of each firmware command, from filling its slot until its output is decoded: the
// two that a fence rests on first, then what else a lease's life consists of. A command is measured
// inside a cycle that leaves everything as it found it.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "attach/open_device.hpp"
#include "bench/common/suite.hpp"
#include "bench/common/timed_channel.hpp"
#include "pmd/uar.hpp"
#include "prm/hca_commands.hpp"
#include "prm/init_segment.hpp"
#include "prm/opcodes.hpp"
#include "prm/port_commands.hpp"

namespace portcullis::bench {
namespace {

using prm::Opcode;

/// What a cycle works with: a context whose commands are timed, and objects that stay.
struct Rig {
  Rig(proof::Session& session, Opcode opcode)
      : channel(*session.context().commands, session.device(), opcode),
        context(session.context()),
        path(session.path()) {
    context.commands = &channel;
  }

  TimedChannel channel;
  pmd::Context context;
  pmd::RocePath path;
  std::optional<DmaMemory> region;
  std::optional<pmd::ProtectionDomain> pd;
  std::optional<pmd::CompletionQueue> cq;
  std::optional<pmd::QueuePair> qp;
};

Result<std::shared_ptr<Rig>> make_rig(proof::Session& session, Opcode opcode) {
  auto rig = std::make_shared<Rig>(session, opcode);
  PORTCULLIS_TRY_ASSIGN(rig->region, DmaMemory::create(*rig->context.device.dma, kPageBytes));
  PORTCULLIS_TRY_ASSIGN(rig->pd, pmd::ProtectionDomain::create(rig->context));
  PORTCULLIS_TRY_ASSIGN(rig->cq, pmd::CompletionQueue::create(rig->context, 7));
  PORTCULLIS_TRY_ASSIGN(rig->qp, pmd::QueuePair::create(rig->context, *rig->pd, *rig->cq));
  (void)rig->channel.take();  // making these was no sample
  return rig;
}

/// Once through the states; the QP is its own peer.
Result<void> cycle_states(Rig& rig) {
  PORTCULLIS_TRY(rig.qp->to_init({.remote_write = true}));
  pmd::RtrAttributes rtr;
  rtr.path = rig.path;
  rtr.remote_qpn = rig.qp->number();
  PORTCULLIS_TRY(rig.qp->to_rtr(rtr));
  PORTCULLIS_TRY(rig.qp->to_rts({}));
  PORTCULLIS_TRY(rig.qp->change_access({}));
  PORTCULLIS_TRY(rig.qp->query());
  PORTCULLIS_TRY(rig.qp->to_error());
  return rig.qp->to_reset();
}

Result<void> cycle_key(Rig& rig) {
  PORTCULLIS_TRY_ASSIGN(auto key,
                        pmd::MemoryKey::create_mtt(rig.context, *rig.pd, *rig.region,
                                                   {.local_write = true, .remote_write = true}));
  return key.destroy();
}

Result<void> cycle_qp(Rig& rig) {
  PORTCULLIS_TRY_ASSIGN(auto qp, pmd::QueuePair::create(rig.context, *rig.pd, *rig.cq));
  return qp.destroy();
}

Result<void> cycle_cq(Rig& rig) {
  PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(rig.context, 6));
  return cq.destroy();
}

Result<void> cycle_pd(Rig& rig) {
  PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(rig.context));
  return pd.destroy();
}

Result<void> cycle_uar(Rig& rig) {
  PORTCULLIS_TRY_ASSIGN(auto uar, pmd::Uar::create(rig.context));
  return uar.destroy();
}

Result<void> cycle_address(Rig& rig) {
  pmd::RoceAddressTable addresses(rig.context);
  PORTCULLIS_TRY(
      addresses.set(1, {.gid = pmd::Gid::from_ipv4(192, 0, 2, 2), .mac = rig.path.remote_mac}));
  PORTCULLIS_TRY(addresses.query(1));
  return addresses.clear(1);
}

/// A query that needs nothing but its opcode.
template <class In, class Out, Opcode opcode, std::uint16_t op_mod = 0>
Result<void> query(Rig& rig) {
  prm::Buffer<In> in;
  in.template put<"opcode">(static_cast<std::uint64_t>(opcode));
  in.template put<"op_mod">(op_mod);
  PORTCULLIS_TRY(pmd::run<Out>(rig.context.commands[0], in));
  return {};
}

struct Command {
  Opcode opcode;
  const char* picture;
  Result<void> (*cycle)(Rig& rig);
};

/// Current values of the general capabilities: op_mod 1 (HCA_CAP_OPMOD_GET_CUR, set 0).
constexpr std::uint16_t kGeneralCurrent = 1;

constexpr Command kCommands[] = {
    {Opcode::QP_2ERR, "fence", &cycle_states},
    {Opcode::DESTROY_MKEY, "fence", &cycle_key},
    {Opcode::QP_2RST, "fence", &cycle_states},
    {Opcode::DESTROY_QP, "fence", &cycle_qp},
    {Opcode::DEALLOC_PD, "fence", &cycle_pd},
    {Opcode::RST2INIT_QP, "transitions", &cycle_states},
    {Opcode::INIT2RTR_QP, "transitions", &cycle_states},
    {Opcode::RTR2RTS_QP, "transitions", &cycle_states},
    {Opcode::RTS2RTS_QP, "transitions", &cycle_states},
    {Opcode::CREATE_QP, "objects", &cycle_qp},
    {Opcode::CREATE_MKEY, "objects", &cycle_key},
    {Opcode::CREATE_CQ, "objects", &cycle_cq},
    {Opcode::DESTROY_CQ, "objects", &cycle_cq},
    {Opcode::ALLOC_PD, "objects", &cycle_pd},
    {Opcode::ALLOC_UAR, "objects", &cycle_uar},
    {Opcode::DEALLOC_UAR, "objects", &cycle_uar},
    {Opcode::SET_ROCE_ADDRESS, "objects", &cycle_address},
    {Opcode::QUERY_QP, "queries", &cycle_states},
    {Opcode::QUERY_ROCE_ADDRESS, "queries", &cycle_address},
    {Opcode::QUERY_ISSI, "queries",
     &query<prm::query_issi_in, prm::query_issi_out, Opcode::QUERY_ISSI>},
    {Opcode::QUERY_ADAPTER, "queries",
     &query<prm::query_adapter_in, prm::query_adapter_out, Opcode::QUERY_ADAPTER>},
    {Opcode::QUERY_VPORT_STATE, "queries",
     &query<prm::query_vport_state_in, prm::query_vport_state_out, Opcode::QUERY_VPORT_STATE>},
    {Opcode::QUERY_HCA_CAP, "queries",
     &query<prm::query_hca_cap_in, prm::query_hca_cap_out, Opcode::QUERY_HCA_CAP, kGeneralCurrent>},
};

Result<std::optional<std::uint64_t>> one_sample(Rig& rig, const Command& command) {
  PORTCULLIS_TRY(command.cycle(rig));
  const auto time = rig.channel.take();
  if (!time)
    return fail(Errc::InvalidArgument,
                fmt::format("{} was not sent in its cycle", prm::name(command.opcode)));
  return time;
}

/// One read of a register, here the firmware's revision: what every command costs at least where a
/// doorbell traps, and what a device's round trip is compared with.
SeriesPlan register_read(const Options& options) {
  SeriesPlan series;
  series.name = "register_read";
  series.picture = "registers";
  series.wall_samples = options.samples;
  series.prepare = [](proof::Session& session) -> Result<Sampler> {
    return Sampler([&session]() -> Result<std::optional<std::uint64_t>> {
      const std::uint64_t before_ns = session.now_ns();
      static_cast<void>(prm::Registers<prm::mlx5_init_seg>(session.device().bar).get<"fw_rev">());
      return session.now_ns() - before_ns;
    });
  };
  return series;
}

std::vector<SeriesPlan> series(const Options& options) {
  std::vector<SeriesPlan> all;
  for (const Command& command : kCommands) {
    SeriesPlan series;
    series.name = fmt::format("command/{}", prm::name(command.opcode));
    series.picture = command.picture;
    series.wall_samples = options.samples;
    series.prepare = [&command](proof::Session& session) -> Result<Sampler> {
      PORTCULLIS_TRY_ASSIGN(const auto rig, make_rig(session, command.opcode));
      return Sampler([rig, &command] { return one_sample(*rig, command); });
    };
    all.push_back(std::move(series));
  }
  // The registers of a NIC that its kernel driver keeps are the kernel's.
  const auto spec = attach::parse_device(options.device);
  if (spec && !spec->is_kept()) all.push_back(register_read(options));
  return all;
}

}  // namespace
}  // namespace portcullis::bench

int main(int argc, char** argv) {
  using portcullis::bench::Suite;
  Suite suite;
  suite.info = {.name = "command_bench",
                .summary =
                    "The round trip of each firmware command, slot filled to output "
                    "decoded.",
                .has_plans = false,
                .has_leases = false,
                .has_retry = false,
                .default_samples = 1000,
                .quick_samples = 20};
  suite.title = "command_bench: round trip of firmware commands";
  suite.series = portcullis::bench::series;
  return portcullis::bench::run_suite(argc, argv, suite);
}
