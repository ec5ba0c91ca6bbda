// SPDX-License-Identifier: BSD-3-Clause
//
// What somebody does who has Portcullis installed: a lease on the model, written to and taken back;
// advice about a failed send queue; the circle of a fabric that can lock. Prints one line for each
// thing that the test beside it compares.
#include <portcullis/buffer_cycles.hpp>
#include <portcullis/failover.hpp>
#include <portcullis/lease_manager.hpp>
#include <portcullis/requester.hpp>
#include <portcullis/residence.hpp>
#include <portcullis/version.hpp>

#include <array>
#include <cstddef>
#include <iostream>
#include <string_view>

namespace {

using namespace portcullis;

constexpr std::string_view kDump = R"({
  "regions": [{"rkey": 4096, "environment": "quiet", "consumer": "notified", "fenced": true}],
  "work_requests": [
    {"wr_id": 1, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 4096, "remote_addr": 0, "length": 8,
     "qp_num": 17, "status": "IBV_WC_RETRY_EXC_ERR"},
    {"wr_id": 2, "opcode": "IBV_WR_ATOMIC_FETCH_AND_ADD", "rkey": 4096, "remote_addr": 64,
     "compare_add": 1, "qp_num": 17, "status": "IBV_WC_WR_FLUSH_ERR"}
  ]
})";

Result<void> lease_and_revoke() {
  PORTCULLIS_TRY_ASSIGN(const auto spec, DeviceSpec::parse("model"));
  PORTCULLIS_TRY_ASSIGN(const auto port, Port::open(spec));
  PORTCULLIS_TRY_ASSIGN(auto leases, LeaseManager::create(port));
  PORTCULLIS_TRY_ASSIGN(auto client, Requester::create(port));
  PORTCULLIS_TRY_ASSIGN(const auto grant, leases.grant({.bytes = 4096, .peer = client.peer()}));
  PORTCULLIS_TRY(client.connect(grant));
  constexpr std::array kData{std::byte{0x42}};
  PORTCULLIS_TRY_ASSIGN(const auto before, client.write(7, kData));
  std::cout << "before: " << before.text << ", byte "
            << std::to_integer<int>(leases.memory(grant.lease)[7]) << '\n';
  PORTCULLIS_TRY_ASSIGN(const auto plan, FencePlan::parse("nak-first"));
  const auto started = leases.start_revoke(grant.lease, plan);
  PORTCULLIS_TRY_ASSIGN(const auto after, client.write(7, kData));
  std::cout << "after: " << after.text << '\n';
  const auto answer = started ? *started : leases.revoke(grant.lease);
  std::cout << "outcome: " << name(answer.outcome) << ", memory " << name(answer.memory) << '\n';
  return leases.tear_down();
}

Result<void> classify_dump() {
  PORTCULLIS_TRY_ASSIGN(const auto dump, Dump::parse(kDump, "dump.json"));
  PORTCULLIS_TRY_ASSIGN(const auto advice, classify(dump));
  for (const auto& one : advice)
    std::cout << "wr " << one.wr_id << ": " << one.opcode << ' ' << name(one.advice) << '\n';
  return {};
}

Result<void> ask_fabric() {
  PORTCULLIS_TRY_ASSIGN(const auto fabric, Fabric::make("ring:3,2"));
  PORTCULLIS_TRY_ASSIGN(const auto found, find_buffer_cycles(fabric));
  std::cout << "cycle:";
  for (const auto& priority : found)
    for (const auto& knot : priority.knots)
      for (const auto& link : knot.shortest) std::cout << ' ' << link;
  PORTCULLIS_TRY_ASSIGN(const auto bound, bound_residence(fabric));
  std::cout << '\n' << "residence: " << (bound.most_us ? "bound" : "no bound") << '\n';
  return {};
}

int refuse(const Error& error) {
  std::cerr << "outside: " << error.text << '\n';
  return 1;
}

}  // namespace

int main() {
  std::cout << "version: " << portcullis::version() << '\n';
  if (const auto done = lease_and_revoke(); !done) return refuse(done.error());
  if (const auto done = classify_dump(); !done) return refuse(done.error());
  if (const auto done = ask_fabric(); !done) return refuse(done.error());
  return 0;
}
