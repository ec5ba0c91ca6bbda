// SPDX-License-Identifier: BSD-3-Clause
//
// What clients post: every request that an RC queue pair can make of a lease, and how often each
// was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prm/wqe.hpp"

namespace portcullis::proof::adversary {

enum class Operation : std::uint8_t {
  Write,
  WriteImmediate,
  Send,
  SendImmediate,
  Read,
  FetchAdd,
  CompareSwap,
};

struct OperationInfo {
  Operation operation;
  prm::WqeOpcode opcode;
  std::string_view name;
};

/// In the order of Operation.
inline constexpr std::array kOperations{
    OperationInfo{Operation::Write, prm::WqeOpcode::RDMA_WRITE, "WRITE"},
    OperationInfo{Operation::WriteImmediate, prm::WqeOpcode::RDMA_WRITE_IMM,
                  "WRITE with immediate"},
    OperationInfo{Operation::Send, prm::WqeOpcode::SEND, "SEND"},
    OperationInfo{Operation::SendImmediate, prm::WqeOpcode::SEND_IMM, "SEND with immediate"},
    OperationInfo{Operation::Read, prm::WqeOpcode::RDMA_READ, "READ"},
    OperationInfo{Operation::FetchAdd, prm::WqeOpcode::ATOMIC_FA, "FETCH_ADD"},
    OperationInfo{Operation::CompareSwap, prm::WqeOpcode::ATOMIC_CS, "CMP_SWAP"},
};
using OperationCounts = std::array<std::uint64_t, kOperations.size()>;

[[nodiscard]] constexpr std::size_t index_of(Operation operation) noexcept {
  return static_cast<std::size_t>(operation);
}
[[nodiscard]] constexpr bool is_send(Operation operation) noexcept {
  return operation == Operation::Send || operation == Operation::SendImmediate;
}
[[nodiscard]] constexpr bool needs_receive(Operation operation) noexcept {
  return is_send(operation) || operation == Operation::WriteImmediate;
}
[[nodiscard]] constexpr bool is_atomic(Operation operation) noexcept {
  return operation == Operation::FetchAdd || operation == Operation::CompareSwap;
}
/// Data comes back to whoever asked.
[[nodiscard]] constexpr bool comes_back(Operation operation) noexcept {
  return operation == Operation::Read || is_atomic(operation);
}

}  // namespace portcullis::proof::adversary
