// SPDX-License-Identifier: BSD-3-Clause
//
// What became of a work request or a receive, as a completion queue entry tells it: verbs' status,
// and for an error the CQE's own syndrome and the vendor's.
#pragma once

#include <cstdint>
#include <string>

#include "prm/cqe.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

struct Completion {
  std::uint64_t wr_id = 0;  // of the request
  prm::QpNumber qpn{};
  std::uint16_t wqe_counter = 0;
  prm::WcStatus status = prm::WcStatus::SUCCESS;
  std::uint8_t syndrome = 0;         // prm::CqeSyndrome, 0 on success
  std::uint8_t vendor_syndrome = 0;  // vendor_err_synd, 0 on success
  // What follows holds for a success only, as in verbs.
  prm::WcOpcode opcode = prm::WcOpcode::RDMA_WRITE;  // a UMR is DRIVER1
  bool has_immediate = false;                        // `immediate` is what the peer sent
  bool has_invalidated = false;  // `immediate` is the key that the peer's SEND_INVAL invalidated
  std::uint32_t byte_count = 0;  // of a receive, a READ, an atomic
  std::uint32_t immediate = 0;

  [[nodiscard]] bool ok() const noexcept { return status == prm::WcStatus::SUCCESS; }
};

/// One line: "qpn 0x12 wqe 3: IBV_WC_RETRY_EXC_ERR (12), syndrome 0x15, vendor syndrome 0x81".
[[nodiscard]] std::string describe(const Completion& completion);

}  // namespace portcullis::pmd
