// SPDX-License-Identifier: BSD-3-Clause
//
// lease-verify --sweep as it is, but that its NIC is a model in another process (hca-server --shm)
// driven by our own driver: no host of the tests has two RDMA NICs.
//
//   sweeping-peer SHM_PATH LISTEN
#include <array>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "attach/open_device.hpp"
#include "pmd/completion_queue.hpp"
#include "pmd/eal.hpp"
#include "pmd/protection_domain.hpp"
#include "pmd/queue_pair.hpp"
#include "service/served_port.hpp"
#include "tools/lease_verify/sweep.hpp"

namespace {

namespace verify = portcullis::tools::lease_verify;
namespace exchange = portcullis::service::exchange;
using namespace portcullis;

/// One queue pair of the port, for WRITEs of a word.
class DriverRequester final : public verify::Requester {
 public:
  static Result<std::unique_ptr<verify::Requester>> create(service::ServedPort& port) {
    const pmd::Context& context = port.driver().context();
    PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
    PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, 4));
    PORTCULLIS_TRY_ASSIGN(
        auto qp, pmd::QueuePair::create(context, pd, cq, *context.uar, {.log_sq_size = 4}));
    return std::unique_ptr<verify::Requester>(
        new DriverRequester(port, std::move(pd), std::move(cq), std::move(qp)));
  }

  exchange::Request request() const override {
    return {.client = {.qpn = prm::number(qp_.number()),
                       .psn = kPsn,
                       .gid = port_->address().gid,
                       .mac = port_->address().mac},
            .mtu = 1024};
  }
  std::string description() const override { return port_->description(); }
  exchange::SweepPeer nic() const override {
    return {.vendor = 0x2c9, .part = 4119, .firmware = port_->driver().firmware_version()};
  }
  Result<void> connect(const exchange::Grant& grant) override {
    rkey_ = prm::Rkey{grant.rkey};
    pmd::RtrAttributes rtr;
    rtr.path.remote_gid = grant.server.gid;
    rtr.path.remote_mac = grant.server.mac;
    rtr.path.source_address_index = port_->address_index();
    rtr.remote_qpn = prm::QpNumber{grant.server.qpn};
    rtr.rq_psn = grant.server.psn;
    PORTCULLIS_TRY(qp_.to_init({}));
    PORTCULLIS_TRY(qp_.to_rtr(rtr));
    return qp_.to_rts({.sq_psn = kPsn, .timeout = grant.timeout, .retry_count = grant.retry});
  }
  std::span<std::byte> buffer() noexcept override { return buffer_; }
  Result<void> post(const verify::Operation& operation) override {
    PORTCULLIS_TRY(
        qp_.post_write_inline(std::span(buffer_).subspan(operation.local_offset, operation.bytes),
                              {.remote_address = operation.remote_address, .rkey = rkey_}));
    qp_.ring();
    return {};
  }
  Result<std::optional<verify::WorkResult>> wait(std::uint64_t until_ns) override {
    while (true) {
      PORTCULLIS_TRY_ASSIGN(const auto done, cq_.try_poll());
      if (done) return verify::WorkResult{.status = done->status};
      if (clock().now_ns() >= until_ns) return std::nullopt;
      PORTCULLIS_TRY(port_->idle(kNsPerUs * 20));
    }
  }

 private:
  static constexpr std::uint32_t kPsn = 5;

  DriverRequester(service::ServedPort& port, pmd::ProtectionDomain pd, pmd::CompletionQueue cq,
                  pmd::QueuePair qp)
      : port_(&port), pd_(std::move(pd)), cq_(std::move(cq)), qp_(std::move(qp)) {}

  service::ServedPort* port_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(4096);
  pmd::ProtectionDomain pd_;
  pmd::CompletionQueue cq_;
  pmd::QueuePair qp_;
  prm::Rkey rkey_{};
};

Result<void> run(const char* program, const std::string& shm, const std::string& listen) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device("shm:" + shm));
  PORTCULLIS_TRY_ASSIGN(const auto eal, spec.start_eal({program}));
  PORTCULLIS_TRY_ASSIGN(const auto port, service::ServedPort::open(
                                             spec, {.address = pmd::Gid::from_ipv4(192, 0, 2, 2)}));
  verify::Options options;
  options.listen = listen;
  const verify::World world{
      [&port](const verify::Options&) { return DriverRequester::create(*port); },
      [] { return false; }, [](const std::string& line) { std::cout << line << std::endl; }};
  return verify::run_sweep(options, world);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto done = run(argv[0], argv[1], argv[2]);
  if (done) return 0;
  std::cerr << "sweeping-peer: " << done.error().text << '\n';
  return 2;
}
