// SPDX-License-Identifier: BSD-3-Clause
//
// What the headers about devices, ports and leases show, built and run.
#include <portcullis/lease_manager.hpp>
#include <portcullis/requester.hpp>
#include <portcullis/version.hpp>

#include <array>
#include <cstddef>
#include <iostream>

namespace {

using namespace portcullis;

constexpr std::array kData{std::byte{0x42}};

void show_errors() {
  const auto spec = DeviceSpec::parse("modle");
  if (!spec) std::cout << spec.error().text << '\n';  // names the word and what is accepted
}

Result<Peer> client_elsewhere() {
  PORTCULLIS_TRY_ASSIGN(const Gid gid, Gid::parse("192.0.2.7"));
  PORTCULLIS_TRY_ASSIGN(const Mac mac, Mac::parse("02:00:00:00:00:07"));
  std::cout << gid.text() << " is at " << mac.text() << '\n';
  return Peer{.qpn = Qpn{0x1234}, .psn = Psn{7}, .gid = gid, .mac = mac};
}

Result<void> lease_out() {
  PORTCULLIS_TRY_ASSIGN(const auto spec, DeviceSpec::parse("model,timing=cx5-16.35.4506"));
  const PortOptions options{.address = Gid::from_ipv4(192, 0, 2, 1)};
  PORTCULLIS_TRY_ASSIGN(const auto port, Port::open(spec, options));
  std::cout << port.description() << '\n' << port.gid().text() << '\n';

  PORTCULLIS_TRY_ASSIGN(auto leases, LeaseManager::create(port, {.grace_ms = 1'000}));
  PORTCULLIS_TRY_ASSIGN(const Peer peer, client_elsewhere());
  const LeaseRequest request{.bytes = 1 << 20, .peer = peer, .ttl_ms = 30'000};
  PORTCULLIS_TRY_ASSIGN(const Grant elsewhere, leases.grant(request));
  std::cout << elsewhere.bytes << " bytes\n";
  const RevokeAnswer answer = leases.revoke(elsewhere.lease);
  std::cout << name(answer.outcome) << ", memory " << name(answer.memory) << '\n';

  PORTCULLIS_TRY_ASSIGN(auto client, Requester::create(port));
  PORTCULLIS_TRY_ASSIGN(const auto grant, leases.grant({.bytes = 4096, .peer = client.peer()}));
  PORTCULLIS_TRY(client.connect(grant));
  PORTCULLIS_TRY_ASSIGN(const RequestEnd end, client.write(0, kData));
  std::cout << end.text << '\n';

  PORTCULLIS_TRY_ASSIGN(const auto plan, FencePlan::parse("nak-first"));
  std::cout << plan.name() << ": " << plan.steps() << '\n';
  std::cout << name(leases.revoke(grant.lease, plan).outcome) << '\n';
  return leases.tear_down();
}

}  // namespace

int main() {
  std::cout << "Portcullis " << version() << '\n';
  show_errors();
  const auto done = lease_out();
  if (!done) std::cerr << "leases: " << done.error().text << '\n';
  return done ? 0 : 1;
}
