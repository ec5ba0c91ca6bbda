// SPDX-License-Identifier: BSD-3-Clause
//
// The transitions of a QP. Each passes the fields and optional-parameter bits that Linux passes
// for the usual attribute masks of verbs: drivers/infiniband/hw/mlx5/qp.c, __mlx5_ib_modify_qp,
// mlx5_set_path and opt_mask.
#include <algorithm>
#include <bit>
#include <string>

#include "pmd/fence_commands.hpp"
#include "pmd/queue_pair.hpp"
#include "prm/qp_commands.hpp"

namespace portcullis::pmd {
namespace {

/// ConnectX-5 has one port a function.
constexpr std::uint32_t kPort = 1;
/// MLX5_IB_ACK_REQ_FREQ: how often the requester asks for an acknowledgement.
constexpr std::uint32_t kLogAckReqFreq = 8;

/// The logarithm as Linux rounds it: fls(n - 1).
std::uint32_t log_ceil(std::uint8_t n) noexcept {
  return n == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1u));
}

struct Common {
  prm::QpNumber qpn;
  prm::PdNumber pdn;
  std::uint32_t cqn;
  prm::QpServiceType service = prm::QpServiceType::RC;
};

/// What every transition with a context carries.
template <class In>
prm::Buffer<In> prepare(prm::Opcode opcode, const Common& common) {
  prm::Buffer<In> in;
  in.template put<"opcode">(prm::number(opcode));
  in.template put<"qpn">(common.qpn);
  in.template put<"qpc.st">(common.service);
  in.template set<"qpc.pm_state", prm::number(prm::QpPathMigration::MIGRATED)>();
  in.template put<"qpc.pd">(common.pdn);
  in.template put<"qpc.cqn_snd">(common.cqn);
  in.template put<"qpc.cqn_rcv">(common.cqn);
  in.template set<"qpc.log_ack_req_freq", kLogAckReqFreq>();
  return in;
}

template <class In>
void put_access(prm::Buffer<In>& in, Access access, const Capabilities& caps) {
  in.template put<"qpc.rwe">(access.remote_write ? 1 : 0);
  in.template put<"qpc.rre">(access.remote_read ? 1 : 0);
  in.template put<"qpc.rae">(access.remote_atomic ? 1 : 0);
  if (access.remote_atomic) in.template put<"qpc.atomic_mode">(caps.atomic_mode);
}

/// Refuses a depth that the function does not have (mlx5_ib refuses it in mlx5_ib_modify_qp). The
/// capability has six bits, so what it says is no width to shift by before it is held against one.
Result<void> check_depth(const char* name, std::uint8_t depth, std::uint32_t log_most) {
  if (log_ceil(depth) <= log_most) return {};
  return fail(Errc::InvalidArgument, std::string(name) + " " + std::to_string(depth) +
                                         "; at most " + std::to_string(1u << log_most));
}

/// With room for no READ and no atomic a QP answers none (set_qpc_atomic_flags of mlx5_ib).
Access answered(Access access, std::uint8_t max_dest_rd_atomic) noexcept {
  if (max_dest_rd_atomic == 0) access.remote_read = access.remote_atomic = false;
  return access;
}

/// What an access path of a REG_UMR QP is instead (__mlx5_ib_modify_qp): MTU and message size.
template <class In>
void put_umr_sizes(prm::Buffer<In>& in) {
  constexpr std::uint32_t kLogMessage = 12;
  in.template set<"qpc.mtu", prm::number(prm::QpcMtu::MTU_4096)>();
  in.template set<"qpc.log_msg_max", kLogMessage>();
}

void put_path(prm::Buffer<prm::init2rtr_qp_in>& in, const RocePath& path, std::uint16_t udp_sport) {
  const std::uint64_t mac = path.remote_mac.number();
  in.put<"qpc.primary_address_path.rmac_47_32">(mac >> 32);
  in.put<"qpc.primary_address_path.rmac_31_0">(mac & 0xffffffff);
  in.put<"qpc.primary_address_path.udp_sport">(udp_sport);
  in.put<"qpc.primary_address_path.eth_prio">(path.priority);
  in.put<"qpc.primary_address_path.dscp">(path.traffic_class >> 2);
  in.put<"qpc.primary_address_path.src_addr_index">(path.source_address_index);
  in.put<"qpc.primary_address_path.hop_limit">(path.hop_limit);
  in.put<"qpc.primary_address_path.tclass">(path.traffic_class);
  in.put<"qpc.primary_address_path.flow_label">(path.flow_label);
  in.set<"qpc.primary_address_path.vhca_port_num", kPort>();
  in.put<"qpc.primary_address_path.fl">(path.is_forced_back ? 1 : 0);
  std::copy(path.remote_gid.bytes.begin(), path.remote_gid.bytes.end(),
            in.bytes<"qpc.primary_address_path.rgid_rip">().begin());
}

/// Of the same subnet: no GRH.
void put_infiniband_path(prm::Buffer<prm::init2rtr_qp_in>& in, const RocePath& path) {
  in.put<"qpc.primary_address_path.rlid">(path.remote_lid);
  in.put<"qpc.primary_address_path.fl">(path.is_forced_back ? 1 : 0);
  in.set<"qpc.primary_address_path.vhca_port_num", kPort>();
}

}  // namespace

Result<void> QueuePair::to_init(Access access) {
  auto in =
      prepare<prm::rst2init_qp_in>(prm::Opcode::RST2INIT_QP, {number(), pdn_, cqn_, service_});
  in.set<"qpc.primary_address_path.vhca_port_num", kPort>();
  put_access(in, access, context_->caps);
  in.put<"qpc.counter_set_id">(counter_set_);
  if (queues_->receive() != nullptr) in.put<"qpc.dbr_addr">(queues_->record_iova());
  PORTCULLIS_TRY(run<prm::rst2init_qp_out>(*context_->commands, in));
  access_ = access;
  return {};
}

Result<void> QueuePair::to_rtr(const RtrAttributes& attributes) {
  using enum prm::QpOptPar;
  PORTCULLIS_TRY(check_depth("max_dest_rd_atomic", attributes.max_dest_rd_atomic,
                             context_->caps.log_max_ra_res_qp));
  auto in =
      prepare<prm::init2rtr_qp_in>(prm::Opcode::INIT2RTR_QP, {number(), pdn_, cqn_, service_});
  in.put<"opt_param_mask">(RRE | RAE);
  put_access(in, answered(access_, attributes.max_dest_rd_atomic), context_->caps);
  if (context_->caps.port_type == prm::number(prm::PortType::IB))
    put_infiniband_path(in, attributes.path);
  else
    put_path(in, attributes.path,
             udp_source_port(attributes.path.flow_label, number(), attributes.remote_qpn));
  in.put<"qpc.mtu">(prm::number(attributes.mtu));
  in.put<"qpc.log_msg_max">(context_->caps.log_max_msg);
  in.put<"qpc.remote_qpn">(attributes.remote_qpn);
  in.put<"qpc.next_rcv_psn">(attributes.rq_psn);
  in.put<"qpc.min_rnr_nak">(attributes.min_rnr_nak);
  in.put<"qpc.log_rra_max">(log_ceil(attributes.max_dest_rd_atomic));
  PORTCULLIS_TRY(run<prm::init2rtr_qp_out>(*context_->commands, in));
  return {};
}

Result<void> QueuePair::to_rts(const RtsAttributes& attributes) {
  PORTCULLIS_TRY(
      check_depth("max_rd_atomic", attributes.max_rd_atomic, context_->caps.log_max_ra_req_qp));
  auto in = prepare<prm::rtr2rts_qp_in>(prm::Opcode::RTR2RTS_QP, {number(), pdn_, cqn_, service_});
  in.put<"qpc.primary_address_path.ack_timeout">(attributes.timeout);
  in.put<"qpc.retry_count">(attributes.retry_count);
  in.put<"qpc.rnr_retry">(attributes.rnr_retry);
  in.put<"qpc.next_send_psn">(attributes.sq_psn);
  in.put<"qpc.log_sra_max">(log_ceil(attributes.max_rd_atomic));
  PORTCULLIS_TRY(run<prm::rtr2rts_qp_out>(*context_->commands, in));
  return {};
}

Result<void> QueuePair::change_access_in_init(Access access) {
  using enum prm::QpOptPar;
  auto in =
      prepare<prm::init2init_qp_in>(prm::Opcode::INIT2INIT_QP, {number(), pdn_, cqn_, service_});
  in.put<"opt_param_mask">(RRE | RWE | RAE);
  put_access(in, access, context_->caps);
  PORTCULLIS_TRY(run<prm::init2init_qp_out>(*context_->commands, in));
  access_ = access;
  return {};
}

Result<void> QueuePair::change_access(Access access) {
  using enum prm::QpOptPar;
  auto in = prepare<prm::rts2rts_qp_in>(prm::Opcode::RTS2RTS_QP, {number(), pdn_, cqn_, service_});
  in.put<"opt_param_mask">(RRE | RWE | RAE);
  put_access(in, access, context_->caps);
  PORTCULLIS_TRY(run<prm::rts2rts_qp_out>(*context_->commands, in));
  return {};
}

// How a driver learns that the queue is drained: the state QUERY_QP tells, or the event SQ_DRAINED,
// which is left to whoever reads the event queue.
Result<void> QueuePair::drain(std::uint64_t until_ns) {
  const auto in =
      prepare<prm::sqd2rts_qp_in>(prm::Opcode::RTS2SQD_QP, {number(), pdn_, cqn_, service_});
  PORTCULLIS_TRY(run<prm::sqd2rts_qp_out>(*context_->commands, in));
  constexpr std::uint64_t kBetweenLooksNs = 100 * kNsPerUs;
  const Device& device = context_->device;
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const QueuePairState now, query());
    if (now.state == prm::QpState::SQD) return {};
    if (now.state != prm::QpState::SQ_DRAINING)
      return fail(Errc::DeviceFailed, "qpn " + std::to_string(prm::number(number())) +
                                          " is in state " + std::string(prm::name(now.state)) +
                                          " while its send queue drains");
    const std::uint64_t now_ns = device.clock.now_ns();
    if (now_ns >= until_ns)
      return fail(Errc::Timeout, "the send queue of qpn " + std::to_string(prm::number(number())) +
                                     " is still draining");
    const std::uint64_t look_ns = std::min(until_ns, now_ns + kBetweenLooksNs);
    (void)wait_until(device, look_ns, [] { return false; });
  }
}

Result<void> QueuePair::resume() {
  const auto in =
      prepare<prm::sqd2rts_qp_in>(prm::Opcode::SQD_RTS_QP, {number(), pdn_, cqn_, service_});
  PORTCULLIS_TRY(run<prm::sqd2rts_qp_out>(*context_->commands, in));
  return {};
}

Result<void> QueuePair::to_rts_without_peer() {
  const Common common{number(), pdn_, cqn_, service_};
  auto init = prepare<prm::rst2init_qp_in>(prm::Opcode::RST2INIT_QP, common);
  put_umr_sizes(init);
  init.set<"qpc.primary_address_path.vhca_port_num", kPort>();
  PORTCULLIS_TRY(run<prm::rst2init_qp_out>(*context_->commands, init));
  auto rtr = prepare<prm::init2rtr_qp_in>(prm::Opcode::INIT2RTR_QP, common);
  put_umr_sizes(rtr);
  PORTCULLIS_TRY(run<prm::init2rtr_qp_out>(*context_->commands, rtr));
  auto rts = prepare<prm::rtr2rts_qp_in>(prm::Opcode::RTR2RTS_QP, common);
  put_umr_sizes(rts);
  PORTCULLIS_TRY(run<prm::rtr2rts_qp_out>(*context_->commands, rts));
  return {};
}

Result<void> QueuePair::to_error() { return error_qp_command(number()).run(*context_->commands); }

Result<void> QueuePair::to_reset() {
  PORTCULLIS_TRY(reset_qp_command(number()).run(*context_->commands));
  confirm_reset();
  return {};
}

Result<QueuePairState> QueuePair::query() const {
  prm::Buffer<prm::query_qp_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QUERY_QP)>().put<"qpn">(number());
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_qp_out>(*context_->commands, in));
  const auto byte = [](std::uint32_t value) { return static_cast<std::uint8_t>(value); };
  QueuePairState state;
  state.state = prm::QpState{byte(out.get<"qpc.state">())};
  state.access.remote_write = out.get<"qpc.rwe">() != 0;
  state.access.remote_read = out.get<"qpc.rre">() != 0;
  state.access.remote_atomic = out.get<"qpc.rae">() != 0;
  state.remote_qpn = prm::QpNumber{out.get<"qpc.remote_qpn">()};
  state.next_send_psn = out.get<"qpc.next_send_psn">();
  state.next_rcv_psn = out.get<"qpc.next_rcv_psn">();
  state.last_acked_psn = out.get<"qpc.last_acked_psn">();
  state.pdn = prm::PdNumber{out.get<"qpc.pd">()};
  state.mtu = prm::QpcMtu{byte(out.get<"qpc.mtu">())};
  state.timeout = byte(out.get<"qpc.primary_address_path.ack_timeout">());
  state.retry_count = byte(out.get<"qpc.retry_count">());
  state.rnr_retry = byte(out.get<"qpc.rnr_retry">());
  state.retries_left = byte(out.get<"qpc.cur_retry_count">());
  state.rnr_retries_left = byte(out.get<"qpc.cur_rnr_retry">());
  state.min_rnr_nak = byte(out.get<"qpc.min_rnr_nak">());
  state.max_rd_atomic = byte(1u << out.get<"qpc.log_sra_max">());
  state.max_dest_rd_atomic = byte(1u << out.get<"qpc.log_rra_max">());
  state.counter_set = byte(out.get<"qpc.counter_set_id">());
  return state;
}

}  // namespace portcullis::pmd
