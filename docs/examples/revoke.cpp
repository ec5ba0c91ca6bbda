// SPDX-License-Identifier: BSD-3-Clause
//
// The README's example, whole: a ConnectX-5 in software, a lease on it, a client that writes, and
// the revoke. Real hardware needs another name in the first line (docs/front-door.md).
#include <portcullis/lease_manager.hpp>
#include <portcullis/requester.hpp>

#include <array>
#include <cstddef>
#include <iostream>

namespace {

using namespace portcullis;

constexpr std::array kData{std::byte{0x42}};

Result<RevokeAnswer> grant_and_revoke() {
  PORTCULLIS_TRY_ASSIGN(const auto spec, DeviceSpec::parse("model,timing=cx5-16.35.4506"));
  PORTCULLIS_TRY_ASSIGN(const auto port, Port::open(spec));
  PORTCULLIS_TRY_ASSIGN(auto leases, LeaseManager::create(port));
  PORTCULLIS_TRY_ASSIGN(auto client, Requester::create(port));  // or one on another host
  PORTCULLIS_TRY_ASSIGN(const auto grant, leases.grant({.bytes = 4096, .peer = client.peer()}));
  PORTCULLIS_TRY(client.connect(grant));
  PORTCULLIS_TRY(client.write(0, kData));  // RDMA, through grant.port.qpn with grant.rkey
  return leases.revoke(grant.lease);       // the client's next WRITE fails
}

}  // namespace

int main() {
  const auto answer = grant_and_revoke();
  if (!answer) {
    std::cerr << "revoke: " << answer.error().text << '\n';
    return 1;
  }
  std::cout << name(answer->outcome) << '\n';
  return answer->outcome == Outcome::TornDown ? 0 : 1;
}
