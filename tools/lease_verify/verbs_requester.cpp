// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/verbs_requester.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/entropy.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using service::exchange::Grant;

std::string message(int error) { return std::generic_category().message(error); }

struct DeviceList {
  DeviceList() : devices(ibv_get_device_list(&count)) {}
  ~DeviceList() {
    if (devices != nullptr) ibv_free_device_list(devices);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  int count = 0;
  ibv_device** devices;
};

Result<Verbs<ibv_context>> open_device(const std::string& name) {
  const DeviceList list;
  if (list.devices == nullptr || list.count == 0)
    return fail(Errc::NotFound,
                "this machine shows no RDMA device; soft-RoCE makes one: modprobe rdma_rxe; rdma "
                "link add rxe0 type rxe netdev eth0");
  std::vector<std::string> names;
  ibv_device* chosen = nullptr;
  for (int i = 0; i < list.count; ++i) {
    names.emplace_back(ibv_get_device_name(list.devices[i]));
    if (names.back() == name || (name.empty() && list.count == 1)) chosen = list.devices[i];
  }
  if (chosen == nullptr)
    return fail(Errc::NotFound, name.empty()
                                    ? fmt::format("several RDMA devices here; --device takes one "
                                                  "of {}",
                                                  fmt::join(names, ", "))
                                    : fmt::format("--device {}; this machine has {}", name,
                                                  fmt::join(names, ", ")));
  Verbs<ibv_context> context(ibv_open_device(chosen));
  if (context == nullptr)
    return fail(Errc::System, fmt::format("{} cannot be opened: {}; /dev/infiniband/uverbs* must "
                                          "be readable and writable",
                                          ibv_get_device_name(chosen), message(errno)));
  return context;
}

pmd::Gid to_gid(const ibv_gid& raw) {
  pmd::Gid gid;
  std::memcpy(gid.bytes.data(), raw.raw, gid.bytes.size());
  return gid;
}

ibv_mtu code_of(std::uint32_t bytes) {  // IBV_MTU_256 is 1
  return static_cast<ibv_mtu>(std::countr_zero(bytes) - 7);
}
std::uint32_t bytes_of(ibv_mtu code) { return 128U << static_cast<unsigned>(code); }

}  // namespace

Result<std::unique_ptr<VerbsRequester>> VerbsRequester::create(const VerbsOptions& options) {
  std::unique_ptr<VerbsRequester> made(new VerbsRequester);
  PORTCULLIS_TRY_ASSIGN(made->context_, open_device(options.device));
  made->port_number_ = options.port;
  if (const int error = ibv_query_port(made->context_.get(), options.port, &made->port_);
      error != 0)
    return fail(Errc::NotFound,
                fmt::format("port {} of {}: {}", options.port,
                            ibv_get_device_name(made->context_->device), message(error)));
  if (made->port_.state != IBV_PORT_ACTIVE)
    return fail(Errc::DeviceFailed,
                fmt::format("port {} of {} is {}; bring its network interface up", options.port,
                            ibv_get_device_name(made->context_->device),
                            ibv_port_state_str(made->port_.state)));
  PORTCULLIS_TRY(made->choose_address(options));
  PORTCULLIS_TRY(made->find_mac());
  PORTCULLIS_TRY(made->make_objects(options));
  PORTCULLIS_TRY(made->to_init());
  return made;
}

Result<void> VerbsRequester::choose_address(const VerbsOptions& options) {
  constexpr std::size_t kMost = 256;
  std::vector<ibv_gid_entry> entries(kMost);
  const ssize_t count = ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0);
  entries.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  std::erase_if(entries, [&](const ibv_gid_entry& entry) {
    return entry.port_num != options.port || entry.gid_type != IBV_GID_TYPE_ROCE_V2;
  });
  const auto is_chosen = [&](const ibv_gid_entry& entry) {
    return options.gid_index < 0 ? to_gid(entry.gid).is_ipv4()
                                 : entry.gid_index == static_cast<std::uint32_t>(options.gid_index);
  };
  auto chosen = std::ranges::find_if(entries, is_chosen);
  if (chosen == entries.end() && options.gid_index < 0) chosen = entries.begin();
  if (chosen == entries.end()) {
    std::vector<std::string> known;
    for (const ibv_gid_entry& entry : entries)
      known.push_back(fmt::format("{} ({})", entry.gid_index, to_gid(entry.gid).text()));
    return fail(
        Errc::NotFound,
        fmt::format("--gid-index {}; the RoCEv2 addresses of this port are {}", options.gid_index,
                    known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  }
  gid_ = *chosen;
  local_.gid = to_gid(gid_.gid);
  return {};
}

Result<void> VerbsRequester::find_mac() {
  std::array<char, IF_NAMESIZE> name{};
  if (if_indextoname(gid_.ndev_ifindex, name.data()) == nullptr)
    return fail(Errc::NotFound,
                fmt::format("GID {} has no network interface: {}", gid_.gid_index, message(errno)));
  netdev_ = name.data();
  std::string text;
  std::ifstream("/sys/class/net/" + netdev_ + "/address") >> text;
  PORTCULLIS_TRY_ASSIGN(local_.mac, pmd::Mac::parse(text));
  return {};
}

Result<void> VerbsRequester::make_objects(const VerbsOptions& options) {
  const auto made = [](const auto& object, const char* what) -> Result<void> {
    if (object != nullptr) return {};
    return fail(Errc::System, fmt::format("{}: {}", what, message(errno)));
  };
  ibv_device_attr limits{};
  if (ibv_query_device(context_.get(), &limits) == 0) {
    most_reads_ = static_cast<std::uint8_t>(std::clamp(limits.max_qp_init_rd_atom, 1, 4));
    nic_ = {
        .vendor = limits.vendor_id,
        .part = limits.vendor_part_id,
        .firmware = std::string(std::begin(limits.fw_ver), std::ranges::find(limits.fw_ver, '\0'))};
  }
  pd_.reset(ibv_alloc_pd(context_.get()));
  PORTCULLIS_TRY(made(pd_, "ibv_alloc_pd"));
  memory_.resize(options.buffer_bytes);
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE;
  key_.reset(ibv_reg_mr(pd_.get(), memory_.data(), memory_.size(), kRights));
  PORTCULLIS_TRY(made(key_, "ibv_reg_mr"));
  channel_.reset(ibv_create_comp_channel(context_.get()));
  PORTCULLIS_TRY(made(channel_, "ibv_create_comp_channel"));
  cq_.reset(ibv_create_cq(context_.get(), static_cast<int>(options.depth) * 2, nullptr,
                          channel_.get(), 0));
  PORTCULLIS_TRY(made(cq_, "ibv_create_cq"));
  ibv_qp_init_attr init{};
  init.send_cq = cq_.get();
  init.recv_cq = cq_.get();
  init.cap.max_send_wr = options.depth;
  init.cap.max_recv_wr = 1;
  init.cap.max_send_sge = 1;
  init.cap.max_recv_sge = 1;
  init.qp_type = IBV_QPT_RC;
  qp_.reset(ibv_create_qp(pd_.get(), &init));
  PORTCULLIS_TRY(made(qp_, "ibv_create_qp"));
  local_.qpn = qp_->qp_num;
  PORTCULLIS_TRY_ASSIGN(local_.psn, random_psn());
  return {};
}

Result<void> VerbsRequester::to_init() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port_number_;
  constexpr int kMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  const int error = ibv_modify_qp(qp_.get(), &attributes, kMask);
  if (error == 0) return {};
  return fail(Errc::System, fmt::format("QP to INIT: {}", message(error)));
}

Result<void> VerbsRequester::to_rtr(const Grant& grant) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = code_of(grant.mtu);
  attributes.dest_qp_num = grant.server.qpn;
  attributes.rq_psn = grant.server.psn;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.port_num = port_number_;
  attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid_.gid_index);
  attributes.ah_attr.grh.hop_limit = 64;
  std::memcpy(attributes.ah_attr.grh.dgid.raw, grant.server.gid.bytes.data(),
              grant.server.gid.bytes.size());
  constexpr int kMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                        IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  const int error = ibv_modify_qp(qp_.get(), &attributes, kMask);
  if (error == 0) return {};
  return fail(
      Errc::System,
      fmt::format("QP to RTR: {}; when nobody answers for the address: ip neigh replace {} "
                  "lladdr {} dev {}",
                  message(error), grant.server.gid.text(), grant.server.mac.text(), netdev_));
}

Result<void> VerbsRequester::to_rts(const Grant& grant) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = local_.psn;
  attributes.timeout = grant.timeout;
  attributes.retry_cnt = grant.retry;
  attributes.rnr_retry = 7;
  // A READ and an atomic at the responder each take one of what it has; it grants at least four.
  attributes.max_rd_atomic = most_reads_;
  constexpr int kMask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  const int error = ibv_modify_qp(qp_.get(), &attributes, kMask);
  if (error == 0) return {};
  return fail(Errc::System, fmt::format("QP to RTS: {}", message(error)));
}

Result<void> VerbsRequester::connect(const Grant& grant) {
  if (grant.server.gid.is_ipv4() != local_.gid.is_ipv4())
    return fail(Errc::InvalidArgument,
                fmt::format("the server's address {} and ours, {}, are not both IPv4 or both IPv6; "
                            "--gid-index chooses another",
                            grant.server.gid.text(), local_.gid.text()));
  if (grant.mtu > bytes_of(port_.active_mtu))
    return fail(Errc::InvalidArgument, fmt::format("the server grants MTU {}; this port has {}",
                                                   grant.mtu, bytes_of(port_.active_mtu)));
  rkey_ = grant.rkey;
  PORTCULLIS_TRY(to_rtr(grant));
  return to_rts(grant);
}

Result<void> VerbsRequester::post(const Operation& operation) {
  ibv_sge piece{};
  piece.addr = std::bit_cast<std::uint64_t>(memory_.data() + operation.local_offset);
  piece.length = static_cast<std::uint32_t>(operation.bytes);
  piece.lkey = key_->lkey;
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  const bool is_atomic = operation.op == Op::FetchAdd || operation.op == Op::CompareSwap;
  if (is_atomic) {
    request.opcode =
        operation.op == Op::FetchAdd ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.atomic.remote_addr = operation.remote_address;
    request.wr.atomic.rkey = rkey_;
    request.wr.atomic.compare_add = operation.compare_add;
    request.wr.atomic.swap = operation.swap;
  } else {
    request.opcode = operation.op == Op::Write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    request.wr.rdma.remote_addr = operation.remote_address;
    request.wr.rdma.rkey = rkey_;
  }
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(qp_.get(), &request, &refused);
  if (error == 0) return {};
  return fail(Errc::System, fmt::format("posting {}: {}", name(operation.op), message(error)));
}

Result<std::optional<WorkResult>> VerbsRequester::poll() {
  ibv_wc completion{};
  const int count = ibv_poll_cq(cq_.get(), 1, &completion);
  if (count < 0) return fail(Errc::System, "ibv_poll_cq failed");
  if (count == 0) return std::nullopt;
  return WorkResult{static_cast<prm::WcStatus>(completion.status), completion.vendor_err};
}

/// Sleeps on the completion channel: a client that spins would take the time of a responder on the
/// same host.
Result<std::optional<WorkResult>> VerbsRequester::wait(std::uint64_t until_ns) {
  while (true) {
    PORTCULLIS_TRY_ASSIGN(const auto result, poll());
    if (result) return result;
    if (!std::exchange(armed_, true)) {
      if (const int error = ibv_req_notify_cq(cq_.get(), 0); error != 0)
        return fail(Errc::System, fmt::format("ibv_req_notify_cq: {}", message(error)));
      continue;  // what came before it was armed gives no event
    }
    const std::uint64_t now = clock().now_ns();
    if (now >= until_ns) return std::nullopt;
    constexpr std::uint64_t kMostMs = 100;
    pollfd waited{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    const auto wait_ms = std::min((until_ns - now) / kNsPerMs + 1, kMostMs);
    if (::poll(&waited, 1, static_cast<int>(wait_ms)) <= 0) continue;
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &cq, &context) != 0)
      return fail(Errc::System, fmt::format("ibv_get_cq_event: {}", message(errno)));
    ibv_ack_cq_events(cq, 1);
    armed_ = false;
  }
}

service::exchange::Request VerbsRequester::request() const {
  return {.client = local_, .mtu = bytes_of(port_.active_mtu)};
}

std::string VerbsRequester::description() const {
  return fmt::format("{} port {} GID {} ({}) on {}, MTU {}", ibv_get_device_name(context_->device),
                     port_number_, gid_.gid_index, local_.gid.text(), netdev_,
                     bytes_of(port_.active_mtu));
}

}  // namespace portcullis::tools::lease_verify
