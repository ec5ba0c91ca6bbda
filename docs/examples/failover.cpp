// SPDX-License-Identifier: BSD-3-Clause
//
// What the headers about failover show: advice about a send queue, and a protocol explored.
#include <portcullis/failover.hpp>
#include <portcullis/protocols.hpp>

#include <iostream>
#include <string_view>

namespace {

using namespace portcullis;

constexpr std::string_view kJson = R"({
  "regions": [{"rkey": 4096, "environment": "reuse", "consumer": "notified"}],
  "work_requests": [
    {"wr_id": 7, "opcode": "IBV_WR_RDMA_WRITE", "rkey": 4096, "remote_addr": 1024, "length": 8192,
     "qp_num": 17, "status": "IBV_WC_RETRY_EXC_ERR"}
  ]
})";

Result<void> advise() {
  PORTCULLIS_TRY_ASSIGN(const auto dump, Dump::parse(kJson, "dump.json"));
  PORTCULLIS_TRY_ASSIGN(const auto advice, classify(dump));
  for (const RequestAdvice& one : advice)
    std::cout << one.wr_id << ' ' << name(one.advice) << ": " << one.reason << '\n';
  return {};
}

Result<void> look() {
  PORTCULLIS_TRY_ASSIGN(const auto verdict, explore("blind-fadd", {.late = 1}));
  std::cout << name(verdict.ending) << " with " << verdict.bounds.late << " late packet\n";
  std::cout << verdict.violation << '\n' << verdict.counterexample;
  return {};
}

}  // namespace

int main() {
  for (const auto& done : {advise(), look()}) {
    if (done) continue;
    std::cerr << "failover: " << done.error().text << '\n';
    return 1;
  }
  return 0;
}
