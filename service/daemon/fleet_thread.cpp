// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/fleet_thread.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace portcullis::service::daemon {
namespace {

/// Every address of the host: nobody else can connect to that.
bool is_wildcard(const UdpAddress& address) {
  return address.host() == UdpAddress::any(address.family()).host();
}

}  // namespace

std::string node_name(const FleetConfig& config) {
  if (!config.node.empty()) return config.node;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

Result<void> check_fleet(const Config& config) {
  if (!config.fleet) return {};
  PORTCULLIS_TRY(fleet::check(config.fleet->etcd));
  PORTCULLIS_TRY(fleet::check_node_name(node_name(*config.fleet)));
  const fleet::TlsFiles& files = config.fleet->etcd.tls;
  for (const auto& file : {files.authority, files.certificate, files.key})
    if (!file.empty() && ::access(file.c_str(), R_OK) != 0)
      return fail(Errc::System, fmt::format("etcd: {}: {}", file.string(), std::strerror(errno)));
  if (config.quic && is_wildcard(config.quic->address) && config.fleet->quic_address.empty())
    return fail(Errc::InvalidArgument,
                fmt::format("[quic] listen = \"{}\" in a fleet: other hosts have to be told an "
                            "address of this one; quic_address in [etcd] is accepted, or a listen "
                            "that is no wildcard",
                            config.quic->address.text()));
  if (config.journal) return {};
  return fail(Errc::InvalidArgument,
              "etcd without a journal: nobody would know what this node held before; a journal is "
              "accepted");
}

Result<std::unique_ptr<FleetThread>> FleetThread::start(const Config& config,
                                                        fleet::Registration about,
                                                        const std::function<void(FleetNews)>& tell,
                                                        const LogSink& log) {
  PORTCULLIS_TRY_ASSIGN(auto memory, fleet::NodeMemory::open(config.journal->string() + ".etcd"));
  PORTCULLIS_TRY_ASSIGN(
      auto node, fleet::Node::create(
                     config.fleet->etcd, std::move(memory),
                     {.name = node_name(*config.fleet),
                      .ttl_s = config.fleet->session_s,
                      .isolation = config.fleet->isolation,
                      .about = std::move(about)},
                     {.lives =
                          [tell](std::uint64_t asked_ns, std::uint64_t until_ns) {
                            tell(FleetLives{.until_ns = until_ns, .asked_ns = asked_ns});
                          },
                      .is_out = [tell](const std::string&) { tell(FleetIsOut{}); },
                      .fence =
                          [tell](std::uint64_t tenant, std::uint64_t epoch) {
                            tell(FenceTenant{tenant, epoch});
                          },
                      .quota_changed = [tell](std::uint64_t tenant) { tell(QuotaChanged{tenant}); },
                      .share = [tell](const fleet::ShareIs& share) { tell(share); },
                      .log = log}));
  return std::unique_ptr<FleetThread>(new FleetThread(std::move(node)));
}

void FleetThread::stop(bool holds_nothing) {
  if (!thread_.joinable()) return;
  holds_nothing_ = holds_nothing;
  stop_ = true;
  node_->end_soon();
  inbox_.wake();
  thread_.join();
}

void FleetThread::hand_on(const ToFleet& each) {
  if (const auto* fenced = std::get_if<TenantFenced>(&each))
    node_->fenced(fenced->tenant, fenced->epoch, fenced->torn_down, fenced->fenced);
  if (const auto* wanted = std::get_if<fleet::ShareWanted>(&each)) node_->want(*wanted);
  if (const auto* left = std::get_if<fleet::Amount>(&each)) node_->offer(*left);
}

void FleetThread::run() {
  (void)::pthread_setname_np(::pthread_self(), "fleet");
  while (!stop_) {
    inbox_.heard();
    while (const auto each = inbox_.take()) hand_on(*each);
    if (!inbox_.may_wait()) inbox_.wake();  // the session is kept up all the same
    if (!stop_) node_->work(inbox_.fd());
  }
  node_->end(holds_nothing_);
}

}  // namespace portcullis::service::daemon
