// SPDX-License-Identifier: BSD-3-Clause
//
// A requester whose responder is an array of bytes: operations succeed at once on a virtual clock,
// until the test says otherwise.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "tools/lease_verify/requester.hpp"

namespace portcullis::testing {

class MemoryRequester : public tools::lease_verify::Requester {
 public:
  using Operation = tools::lease_verify::Operation;
  using WorkResult = tools::lease_verify::WorkResult;
  using Op = tools::lease_verify::Op;

  static constexpr std::size_t kRegionBytes = 65536;
  static constexpr std::uint64_t kAddress = 0x4000;
  static constexpr std::uint64_t kOperationNs = 1'000;

  static service::exchange::Grant grant() {
    service::exchange::Grant granted;
    granted.address = kAddress;
    granted.length = kRegionBytes;
    granted.access = {.remote_write = true, .remote_read = true, .remote_atomic = true};
    return granted;
  }

  service::exchange::Request request() const override {
    return {.client = {.qpn = 0x11,
                       .psn = 7,
                       .gid = pmd::Gid::from_ipv4(192, 0, 2, 2),
                       .mac = {{2, 0, 0, 0, 0, 2}}},
            .mtu = 1024};
  }
  std::string description() const override { return "memory"; }
  Result<void> connect(const service::exchange::Grant& grant) override {
    connected = grant.server;
    return {};
  }
  std::span<std::byte> buffer() noexcept override { return buffer_; }
  Result<void> post(const Operation& operation) override {
    posted.push_back(operation);
    pending_.push_back(operation);
    return {};
  }
  Result<std::optional<WorkResult>> wait(std::uint64_t until_ns) override {
    if (silent_from && posted.size() - pending_.size() >= *silent_from) {
      now_ns = until_ns;
      return std::nullopt;
    }
    const Operation operation = pending_.front();
    pending_.pop_front();
    now_ns += kOperationNs;
    const WorkResult result = verdict ? verdict(operation) : WorkResult{};
    if (result.ok()) serve(operation);
    return result;
  }
  Clock clock() const override {
    return Clock::simulated(
        [](const void* self) noexcept { return static_cast<const MemoryRequester*>(self)->now_ns; },
        this);
  }

  std::vector<std::byte> region = std::vector<std::byte>(kRegionBytes);
  std::vector<Operation> posted;
  std::optional<service::exchange::Endpoint> connected;
  std::function<WorkResult(const Operation&)> verdict;  // none: success
  std::optional<std::size_t> silent_from;               // operations that complete before silence
  std::uint64_t now_ns = 1'000'000;

 private:
  void serve(const Operation& operation) {
    std::byte* const at = region.data() + (operation.remote_address - kAddress);
    std::byte* const local = buffer_.data() + operation.local_offset;
    std::uint64_t word = 0;
    switch (operation.op) {
      case Op::Write:
        std::memcpy(at, local, operation.bytes);
        return;
      case Op::Read:
        std::memcpy(local, at, operation.bytes);
        return;
      case Op::FetchAdd:
      case Op::CompareSwap:
        std::memcpy(&word, at, sizeof word);
        std::memcpy(local, &word, sizeof word);
        if (operation.op == Op::FetchAdd) word += operation.compare_add;
        if (operation.op == Op::CompareSwap && word == operation.compare_add) word = operation.swap;
        std::memcpy(at, &word, sizeof word);
        return;
    }
  }

  std::vector<std::byte> buffer_ = std::vector<std::byte>(2 * kRegionBytes);
  std::deque<Operation> pending_;
};

}  // namespace portcullis::testing
