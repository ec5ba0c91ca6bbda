// SPDX-License-Identifier: BSD-3-Clause
//
// A place for values: leased memory of one server, and the queue pair that reaches it, by the
// client library and libibverbs alone. When the lease is over, so is the place; another is opened.
#pragma once

#include <infiniband/verbs.h>
#include <net/if.h>
#include <portcullis_client.h>
#include <portcullis_verbs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <portcullis/result.hpp>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace kv {

using portcullis::Errc;
using portcullis::fail;
using portcullis::Result;
using Time = std::chrono::steady_clock;

inline tl::unexpected<portcullis::Error> system_error(const std::string& what, int error) {
  return fail(Errc::System, what + ": " + std::generic_category().message(error));
}

struct Closer {
  void operator()(ibv_context* context) const noexcept { ibv_close_device(context); }
  void operator()(ibv_pd* domain) const noexcept { ibv_dealloc_pd(domain); }
  void operator()(ibv_mr* memory) const noexcept { ibv_dereg_mr(memory); }
  void operator()(ibv_cq* queue) const noexcept { ibv_destroy_cq(queue); }
  void operator()(ibv_qp* pair) const noexcept { ibv_destroy_qp(pair); }
  void operator()(portcullis_client* client) const noexcept { portcullis_client_close(client); }
};
template <class T>
using Owned = std::unique_ptr<T, Closer>;

/// This host's port: the first RoCEv2 address of IPv4.
class Nic {
 public:
  static Result<Nic> open(const std::string& name) {
    int count = 0;
    ibv_device** list = ibv_get_device_list(&count);
    Nic nic;
    for (int i = 0; list != nullptr && i < count && !nic.context; ++i)
      if (name.empty() || name == ibv_get_device_name(list[i]))
        nic.context.reset(ibv_open_device(list[i]));
    if (list != nullptr) ibv_free_device_list(list);
    if (!nic.context)
      return fail(Errc::NotFound,
                  "--device \"" + name + "\" is no RDMA device that opens; see ibv_devices");
    if (const int error = ibv_query_port(nic.context.get(), kPort, &nic.port); error != 0)
      return system_error("ibv_query_port", error);
    PORTCULLIS_TRY(nic.find_address());
    nic.domain.reset(ibv_alloc_pd(nic.context.get()));
    if (!nic.domain) return system_error("ibv_alloc_pd", errno);
    return nic;
  }

  static constexpr std::uint8_t kPort = 1;
  Owned<ibv_context> context;
  ibv_port_attr port{};
  ibv_gid_entry gid{};
  std::array<std::uint8_t, 6> mac{};
  Owned<ibv_pd> domain;

 private:
  Result<void> find_address() {
    std::vector<ibv_gid_entry> table(256);
    const auto count = ibv_query_gid_table(context.get(), table.data(), table.size(), 0);
    table.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    const auto is_ipv4 = [](const ibv_gid_entry& entry) {
      const std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
      return entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
             std::equal(mapped.begin(), mapped.end(), std::begin(entry.gid.raw));
    };
    const auto found = std::ranges::find_if(table, is_ipv4);
    if (found == table.end())
      return fail(Errc::NotFound, "the device has no RoCEv2 address of IPv4");
    gid = *found;
    std::array<char, IF_NAMESIZE> name{};
    if (if_indextoname(gid.ndev_ifindex, name.data()) == nullptr)
      return system_error("the network interface of the address", errno);
    std::ifstream file(std::string("/sys/class/net/") + name.data() + "/address");
    char colon = 0;
    for (std::uint8_t& octet : mac) {
      unsigned value = 0;
      file >> std::hex >> value;
      octet = static_cast<std::uint8_t>(value);
      file >> colon;
    }
    return {};
  }
};

/// A request that is under way, or was when the lease ended.
struct Request {
  bool is_put = false;
  std::uint64_t key = 0;
  std::uint64_t version = 0;
  std::uint64_t buffer = 0;  // which piece of local memory
};

class Place {
 public:
  /// A lease of `bytes`, and a queue pair with `buffers` pieces of `piece` bytes of local memory.
  static Result<std::unique_ptr<Place>> open(const Nic& nic, portcullis_client* client,
                                             std::uint64_t bytes, std::uint64_t piece,
                                             std::uint32_t buffers) {
    std::unique_ptr<Place> place(new Place(nic, client, piece));
    PORTCULLIS_TRY(place->make_queue_pair(buffers));
    PORTCULLIS_TRY(place->ask_for_lease(bytes));
    PORTCULLIS_TRY(place->connect());
    PORTCULLIS_TRY(place->meet_challenge());
    return place;
  }

  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  /// Gives back what is still held.
  ~Place() {
    if (lease_.gate != nullptr && !has_left_)
      (void)portcullis_client_release(client_, &lease_, nullptr, nullptr);
  }

  /// Whether requests may still be posted: one load.
  bool is_open() const { return !is_broken_ && portcullis_lease_is_open(&lease_) != 0; }
  std::span<std::byte> piece(std::uint64_t buffer) {
    return std::span(memory_).subspan(buffer * piece_, piece_);
  }
  std::size_t under_way() const { return requests_.size(); }

  /// A value from or to its place in the leased memory, in one message.
  Result<void> post(const Request& request) {
    ibv_sge local{};
    local.addr = std::bit_cast<std::uint64_t>(piece(request.buffer).data());
    local.length = static_cast<std::uint32_t>(piece_);
    local.lkey = key_->lkey;
    ibv_send_wr work{};
    work.sg_list = &local;
    work.num_sge = 1;
    work.send_flags = IBV_SEND_SIGNALED;
    work.opcode = request.is_put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    work.wr.rdma.remote_addr = address_of(request.key);
    work.wr.rdma.rkey = lease_.rkey;
    ibv_send_wr* refused = nullptr;
    if (const int error = ibv_post_send(pair_.get(), &work, &refused); error != 0)
      return system_error("ibv_post_send", error);
    requests_.push_back(request);
    return {};
  }

  /// The oldest request, once it has succeeded. None yet, or none any more: then is_open() is
  /// false, and what failed is still among those that leave() asks about.
  std::optional<Request> take() {
    ibv_wc done{};
    if (is_broken_ || ibv_poll_cq(queue_.get(), 1, &done) != 1) return std::nullopt;
    if (done.status != IBV_WC_SUCCESS) {
      is_broken_ = true;
      status_ = done.status;
      return std::nullopt;
    }
    const Request first = requests_.front();
    requests_.erase(requests_.begin());
    return first;
  }

  /// When the lease has ended: how it did, and the library's advice on what had no answer.
  Result<std::string> leave(portcullis_end& end) {
    has_left_ = true;
    // Nothing of this side is under way any more, whatever the other side does.
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    (void)ibv_modify_qp(pair_.get(), &error, IBV_QP_STATE);
    constexpr std::uint32_t kMostMs = 2'000;
    char* text = nullptr;
    portcullis_error why{};
    if (portcullis_client_advise(client_, &lease_, send_queue().c_str(), kMostMs, &end, &text,
                                 &why) != PORTCULLIS_OK)
      return fail(Errc::System, why.text);
    const std::string advice = text;
    portcullis_client_text_free(text);
    return advice;
  }

 private:
  Place(const Nic& nic, portcullis_client* client, std::uint64_t piece)
      : nic_(&nic), client_(client), piece_(piece) {}

  std::uint64_t address_of(std::uint64_t key) const { return lease_.address + key * piece_; }

  Result<void> make_queue_pair(std::uint32_t buffers) {
    memory_.resize(buffers * piece_);
    constexpr int kRights = IBV_ACCESS_LOCAL_WRITE;  // ibv_reg_mr is a macro, and wants an int
    key_.reset(ibv_reg_mr(nic_->domain.get(), memory_.data(), memory_.size(), kRights));
    if (!key_) return system_error("ibv_reg_mr", errno);
    queue_.reset(
        ibv_create_cq(nic_->context.get(), static_cast<int>(buffers) + 1, nullptr, nullptr, 0));
    if (!queue_) return system_error("ibv_create_cq", errno);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = queue_.get();
    wanted.recv_cq = queue_.get();
    wanted.cap = {.max_send_wr = buffers + 1,
                  .max_recv_wr = 1,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 8};  // the challenge's number
    wanted.qp_type = IBV_QPT_RC;
    pair_.reset(ibv_create_qp(nic_->domain.get(), &wanted));
    if (!pair_) return system_error("ibv_create_qp", errno);
    psn_ = std::random_device{}() & 0xffffffU;
    return {};
  }

  Result<void> ask_for_lease(std::uint64_t bytes) {
    portcullis_request wanted = PORTCULLIS_REQUEST_INIT;
    wanted.bytes = bytes;
    std::memcpy(wanted.gid, nic_->gid.gid.raw, sizeof wanted.gid);
    std::memcpy(wanted.mac, nic_->mac.data(), nic_->mac.size());
    wanted.mtu = static_cast<std::uint16_t>(128U << nic_->port.active_mtu);
    wanted.qpn = pair_->qp_num;
    wanted.psn = psn_;
    portcullis_error why{};
    const int code = portcullis_client_alloc(client_, &wanted, &lease_, &why);
    if (code == PORTCULLIS_OK) return {};
    // What another server, or the same one later, may answer otherwise.
    const bool is_refused = code == PORTCULLIS_INVALID || code == PORTCULLIS_NOT_ALLOWED;
    return fail(is_refused ? Errc::InvalidArgument : Errc::Busy, why.text);
  }

  Result<void> modify(ibv_qp_attr& to, int mask, const char* what) {
    const int error = ibv_modify_qp(pair_.get(), &to, mask | IBV_QP_STATE);
    if (error != 0) return system_error(what, error);
    return {};
  }

  Result<void> connect() {
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = Nic::kPort;
    PORTCULLIS_TRY(modify(init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "to INIT"));
    ibv_qp_attr ready{};
    ready.qp_state = IBV_QPS_RTR;
    ready.path_mtu = static_cast<ibv_mtu>(std::bit_width(unsigned{lease_.mtu}) - 8);
    ready.dest_qp_num = lease_.qpn;
    ready.rq_psn = lease_.psn;
    ready.max_dest_rd_atomic = 1;
    ready.min_rnr_timer = 12;
    ready.ah_attr.is_global = 1;
    ready.ah_attr.port_num = Nic::kPort;
    ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(nic_->gid.gid_index);
    ready.ah_attr.grh.hop_limit = 64;
    std::memcpy(ready.ah_attr.grh.dgid.raw, lease_.gid, sizeof lease_.gid);
    PORTCULLIS_TRY(modify(ready,
                          IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                          "to RTR"));
    ibv_qp_attr sends{};
    sends.qp_state = IBV_QPS_RTS;
    sends.sq_psn = psn_;
    sends.timeout = lease_.ack_timeout;
    sends.retry_cnt = lease_.retry_count;
    sends.rnr_retry = 6;
    sends.max_rd_atomic = 1;
    return modify(sends,
                  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                      IBV_QP_MAX_QP_RD_ATOMIC,
                  "to RTS");
  }

  /// The server may want to see that this side's requests arrive (docs/leased.md, The challenge).
  Result<void> meet_challenge() {
    portcullis_challenge challenge{};
    portcullis_error why{};
    if (portcullis_client_challenge(client_, &lease_, &challenge, &why) != PORTCULLIS_OK)
      return fail(Errc::Busy, why.text);
    if (challenge.state != PORTCULLIS_CHALLENGE_OPEN) return {};
    if (const int error = portcullis_challenge_post(pair_.get(), &lease_, &challenge, 0);
        error != 0)
      return system_error("the challenge's WRITE", error);
    const auto until = Time::now() + std::chrono::milliseconds(challenge.left_ms);
    ibv_wc done{};
    while (ibv_poll_cq(queue_.get(), 1, &done) == 0) {
      if (Time::now() > until) return fail(Errc::Busy, "the challenge's WRITE is not answered");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (done.status != IBV_WC_SUCCESS) return fail(Errc::Busy, ibv_wc_status_str(done.status));
    constexpr std::uint32_t kMostMs = 1'000;
    if (portcullis_client_challenge_wait(client_, &lease_, kMostMs, &challenge, &why) !=
        PORTCULLIS_OK)
      return fail(Errc::Busy, why.text);
    return {};
  }

  /// As docs/failover.md has it: nobody else has the key, and a GET may come at any time.
  std::string send_queue() const {
    const std::string rkey = "\"rkey\": " + std::to_string(lease_.rkey);
    std::string text = "{\"regions\": [{" + rkey +
                       ", \"environment\": \"quiet\", \"consumer\": \"polls\"}], "
                       "\"work_requests\": [";
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Request& one = requests_[i];
      text += std::string(i == 0 ? "" : ", ") + "{\"wr_id\": " + std::to_string(i + 1) +
              ", \"opcode\": \"" + (one.is_put ? "IBV_WR_RDMA_WRITE" : "IBV_WR_RDMA_READ") +
              "\", " + rkey + ", \"remote_addr\": " + std::to_string(address_of(one.key)) +
              ", \"length\": " + std::to_string(piece_) +
              ", \"qp_num\": " + std::to_string(lease_.qpn);
      if (i == 0 && status_ == IBV_WC_RETRY_EXC_ERR)
        text += ", \"status\": \"IBV_WC_RETRY_EXC_ERR\"";
      if (i == 0 && status_ == IBV_WC_REM_ACCESS_ERR)
        text += ", \"status\": \"IBV_WC_REM_ACCESS_ERR\"";
      text += "}";
    }
    return text + "]}";
  }

  const Nic* nic_;
  portcullis_client* client_;
  std::uint64_t piece_;
  std::uint32_t psn_ = 0;
  bool is_broken_ = false;
  bool has_left_ = false;
  ibv_wc_status status_ = IBV_WC_SUCCESS;  // of what failed first
  portcullis_lease lease_{};
  std::vector<Request> requests_;  // in posting order
  std::vector<std::byte> memory_;
  Owned<ibv_mr> key_;
  Owned<ibv_cq> queue_;
  Owned<ibv_qp> pair_;
};

}  // namespace kv
