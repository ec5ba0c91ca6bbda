// SPDX-License-Identifier: BSD-3-Clause
#include "service/client_desk.hpp"

#include <fmt/format.h>

#include <span>
#include <utility>

namespace portcullis::service {
namespace {

using exchange::Request;

constexpr std::uint64_t kLookAgainNs = kNsPerMs;

}  // namespace

prm::QpcMtu ClientDesk::mtu_of(std::uint32_t client_bytes) noexcept {
  auto best = prm::QpcMtu::MTU_256;
  for (const auto mtu : {prm::QpcMtu::MTU_256, prm::QpcMtu::MTU_512, prm::QpcMtu::MTU_1024})
    if (prm::bytes_of(mtu) <= client_bytes) best = mtu;
  return best;
}

Result<std::optional<Request>> ClientDesk::await_request(const std::function<bool()>& stop) {
  while (!stop()) {
    auto line = channel_->poll_line();
    if (!line || *line) {
      auto request = line ? exchange::parse_request(**line)
                          : Result<Request>(tl::unexpected<Error>(line.error()));
      if (request) request = check(*std::move(request));
      if (request) return *request;
      refuse(request.error().text);
    }
    // After a refusal too: who sends nothing but nonsense must not keep the device from being
    // served.
    PORTCULLIS_TRY(port_->idle(kLookAgainNs));
  }
  return std::nullopt;
}

Result<Request> ClientDesk::check(Request request) const {
  if (channel_->is_peer_gone())  // while another's lease was held, for instance
    return fail(Errc::NotFound, "it hung up before it could be granted a lease");
  PORTCULLIS_TRY(check_address(request));
  return request;
}

Result<void> ClientDesk::check_address(const Request& request) const {
  const pmd::Gid& own = port_->address().gid;
  if (request.client.gid == own)
    return fail(Errc::InvalidArgument,
                fmt::format("lease-request: gid={} is this port's own", own.text()));
  if (request.client.gid.is_ipv4() == own.is_ipv4()) return {};
  return fail(Errc::InvalidArgument,
              fmt::format("lease-request: gid={}; this port has {}: an address of that family "
                          "is accepted",
                          request.client.gid.text(), own.text()));
}

void ClientDesk::refuse(const std::string& why) {
  const std::string peer = channel_->peer() + ": ";  // which what the channel says begins with too
  say_("refused", why.starts_with(peer) ? why : peer + why);
  (void)channel_->send_line(exchange::refusal(why));  // it may be gone
  channel_->drop();
}

Result<lease::Grant> ClientDesk::grant(lease::LeaseManager& manager, const lease::Plan& plan,
                                       const Request& request, const LeaseTerms& terms) {
  const auto& client = request.client;
  const lease::GrantRequest wanted{.bytes = terms.bytes,
                                   .peer = {.qpn = prm::QpNumber{client.qpn},
                                            .psn = client.psn,
                                            .gid = client.gid,
                                            .mac = client.mac},
                                   .access = terms.access,
                                   .ack_timeout = static_cast<std::uint8_t>(terms.timeout),
                                   .retry_count = static_cast<std::uint8_t>(terms.retry)};
  return plan.is_for_groups()
             ? manager.grant_together(std::span(&wanted, 1)).map([](const auto& grants) {
                 return grants.front();
               })
             : manager.grant(wanted);
}

Result<bool> ClientDesk::tell(const lease::Grant& grant, const LeaseTerms& terms) {
  const exchange::Grant line{.server = {.qpn = prm::number(grant.qpn),
                                        .psn = grant.psn,
                                        .gid = port_->address().gid,
                                        .mac = port_->address().mac},
                             .mtu = prm::bytes_of(grant.mtu),
                             .rkey = prm::number(grant.rkey),
                             .address = grant.address,
                             .length = grant.bytes,
                             .timeout = grant.ack_timeout,
                             .retry = grant.retry_count,
                             .access = terms.access};
  auto sent = channel_->send_line(to_line(line));
  if (sent) return true;
  if (!channel_->is_peer_gone()) return forward_error(std::move(sent));
  say_("log", sent.error().text);
  return false;
}

}  // namespace portcullis::service
