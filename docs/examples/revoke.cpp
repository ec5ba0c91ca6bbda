// SPDX-License-Identifier: BSD-3-Clause
//
// The README's example, whole: a ConnectX-5 in software, a lease on it, and its revoke. Real
// hardware needs another name in open_device and an EAL (pmd/eal.hpp), nothing else.
#include <iostream>

#include "attach/open_device.hpp"
#include "lease/lease_manager.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"

namespace {

using namespace portcullis;

/// The client as it would introduce itself: its QP's number and first PSN, its address.
constexpr lease::Peer kPeer{.qpn = prm::QpNumber{0x1234},
                            .psn = 7,
                            .gid = pmd::Gid::from_ipv4(192, 0, 2, 7),
                            .mac = {{0x02, 0, 0, 0, 0, 0x07}}};
constexpr pmd::RoceAddress kPort{.gid = pmd::Gid::from_ipv4(192, 0, 2, 1),
                                 .mac = {{0x02, 0, 0, 0, 0, 0x01}}};

Result<lease::RevokeAnswer> grant_and_revoke() {
  PORTCULLIS_TRY_ASSIGN(const auto spec, attach::parse_device("model,timing=cx5-16.35.4506"));
  PORTCULLIS_TRY_ASSIGN(auto open, attach::OpenDevice::open(spec));
  PORTCULLIS_TRY_ASSIGN(const auto hca, pmd::Hca::bring_up(open.device(), {}));
  pmd::RoceAddressTable addresses(hca->context());
  PORTCULLIS_TRY(addresses.set(0, kPort));
  PORTCULLIS_TRY_ASSIGN(const auto leases, lease::LeaseManager::create(lease::Host::of(*hca), {}));
  PORTCULLIS_TRY_ASSIGN(const auto grant, leases->grant({.bytes = 1 << 20, .peer = kPeer}));
  // .. the client now writes to grant.address with grant.rkey, through QP grant.qpn ..
  return leases->revoke(grant.lease.id, grant.lease.epoch);
}

}  // namespace

int main() {
  const auto answer = grant_and_revoke();
  if (!answer) {
    std::cerr << "revoke: " << answer.error().text << '\n';
    return 1;
  }
  std::cout << lease::name(answer->outcome) << '\n';
  return answer->outcome == lease::Outcome::TornDown ? 0 : 1;
}
