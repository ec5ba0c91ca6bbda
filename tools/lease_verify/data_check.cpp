// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_verify/data_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "base/clock.hpp"
#include "prm/enums.hpp"

namespace portcullis::tools::lease_verify {
namespace {

using service::exchange::Grant;

constexpr std::size_t kWord = sizeof(std::uint64_t);

class DataCheck {
 public:
  DataCheck(Requester& requester, const Grant& grant, const DataCheckOptions& options)
      : requester_(&requester),
        grant_(&grant),
        options_(&options),
        bytes_(static_cast<std::size_t>(
            std::min<std::uint64_t>(grant.length, requester.buffer().size() / 2))) {}

  Result<DataReport> run() {
    for (std::uint32_t round = 0; round < options_->rounds; ++round) {
      if (grant_->access.remote_write) PORTCULLIS_TRY(write_all(round));
      if (grant_->access.remote_read) PORTCULLIS_TRY(read_all());
    }
    if (grant_->access.remote_atomic) PORTCULLIS_TRY(check_atomics());
    return report_;
  }

 private:
  // The buffer has two halves: what was written, and what is read back.
  std::span<std::byte> written() { return requester_->buffer().first(bytes_); }
  std::span<std::byte> read() { return requester_->buffer().subspan(bytes_, bytes_); }

  Result<void> run_one(const Operation& operation) {
    if (options_->stop && options_->stop()) return fail(Errc::Busy, "interrupted");
    PORTCULLIS_TRY(requester_->post(operation));
    const std::uint64_t until_ns = requester_->clock().now_ns() + options_->deadline_ms * kNsPerMs;
    PORTCULLIS_TRY_ASSIGN(const auto result, wait_unless(options_->stop, *requester_, until_ns));
    const auto what = [&] {
      return fmt::format("{} of {} bytes at {:#x}", name(operation.op), operation.bytes,
                         operation.remote_address);
    };
    if (!result)
      return fail(Errc::Timeout,
                  fmt::format("{} has no completion after {} ms", what(), options_->deadline_ms));
    if (result->ok()) return {};
    return fail(Errc::CommandFailed,
                fmt::format("{}: {} ({}), vendor syndrome {:#x}", what(), prm::name(result->status),
                            prm::number(result->status), result->vendor_syndrome));
  }

  /// Message lengths in turn, so that each kind of packet is sent: only, first and last, middle.
  std::size_t next_length(std::size_t left) {
    const std::size_t mtu = grant_->mtu;
    const std::array<std::size_t, 9> lengths = {1,       8,       64,          mtu - 1, mtu,
                                                mtu + 1, 2 * mtu, 4 * mtu + 3, 16 * mtu};
    return std::min(lengths[length_++ % lengths.size()], left);
  }

  Result<void> write_all(std::uint32_t round) {
    std::mt19937_64 random(options_->seed + round);
    for (std::byte& byte : written()) byte = static_cast<std::byte>(random());
    for (std::size_t at = 0; at < bytes_;) {
      const std::size_t bytes = next_length(bytes_ - at);
      PORTCULLIS_TRY(run_one({.op = Op::Write,
                              .remote_address = grant_->address + at,
                              .local_offset = at,
                              .bytes = bytes}));
      ++report_.writes;
      report_.bytes_written += bytes;
      at += bytes;
    }
    return {};
  }

  Result<void> read_all() {
    std::ranges::fill(read(), std::byte{0});
    for (std::size_t at = 0; at < bytes_;) {
      const std::size_t bytes = next_length(bytes_ - at);
      PORTCULLIS_TRY(run_one({.op = Op::Read,
                              .remote_address = grant_->address + at,
                              .local_offset = bytes_ + at,
                              .bytes = bytes}));
      ++report_.reads;
      at += bytes;
    }
    return grant_->access.remote_write ? compare() : Result<void>{};
  }

  Result<void> compare() {
    const auto [is, was] = std::ranges::mismatch(read(), written());
    if (is == read().end()) {
      report_.bytes_compared += bytes_;
      return {};
    }
    return fail(Errc::Malformed,
                fmt::format("byte {:#x} of the region reads {:#04x}, but {:#04x} was written",
                            is - read().begin(), std::to_integer<unsigned>(*is),
                            std::to_integer<unsigned>(*was)));
  }

  /// The value that stood there before, as the atomic left it in the buffer.
  Result<std::uint64_t> atomic(Op op, std::uint64_t compare_add, std::uint64_t swap) {
    PORTCULLIS_TRY(run_one({.op = op,
                            .remote_address = word_address(),
                            .local_offset = 0,
                            .bytes = kWord,
                            .compare_add = compare_add,
                            .swap = swap}));
    ++report_.atomics;
    std::uint64_t old = 0;
    std::memcpy(&old, requester_->buffer().data(), kWord);
    return old;
  }
  /// The first aligned word of the region; parse_grant() lets no region pass without one.
  [[nodiscard]] std::uint64_t word_address() const { return (grant_->address + 7) / 8 * 8; }

  Result<void> expect(const char* what, std::uint64_t is, std::uint64_t wanted) {
    if (is == wanted) return {};
    return fail(Errc::Malformed, fmt::format("{} at {:#x} answered {:#x}, but {:#x} stood there",
                                             what, word_address(), is, wanted));
  }

  Result<void> check_atomics() {
    constexpr std::uint64_t kAdds = 16;
    constexpr std::uint64_t kStep = 0x0123456789abcdef;
    constexpr std::uint64_t kSwapped = 0xfedcba9876543210;
    // The first answer is what stood there; every later one follows from it.
    PORTCULLIS_TRY_ASSIGN(std::uint64_t value, atomic(Op::FetchAdd, 0, 0));
    for (std::uint64_t i = 0; i < kAdds; ++i) {
      PORTCULLIS_TRY_ASSIGN(const std::uint64_t old, atomic(Op::FetchAdd, kStep, 0));
      PORTCULLIS_TRY(expect("FETCH_ADD", old, value));
      value += kStep;
    }
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t missed, atomic(Op::CompareSwap, ~value, kSwapped));
    PORTCULLIS_TRY(expect("CMP_SWAP of another value", missed, value));
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t met, atomic(Op::CompareSwap, value, kSwapped));
    PORTCULLIS_TRY(expect("CMP_SWAP", met, value));
    PORTCULLIS_TRY_ASSIGN(const std::uint64_t last, atomic(Op::FetchAdd, 0, 0));
    return expect("FETCH_ADD after CMP_SWAP", last, kSwapped);
  }

  Requester* requester_;
  const Grant* grant_;
  const DataCheckOptions* options_;
  std::size_t bytes_;
  std::size_t length_ = 0;
  DataReport report_;
};

}  // namespace

std::string_view name(Op op) noexcept {
  switch (op) {
    case Op::Write:
      return "RDMA WRITE";
    case Op::Read:
      return "RDMA READ";
    case Op::FetchAdd:
      return "FETCH_ADD";
    case Op::CompareSwap:
      return "CMP_SWAP";
  }
  return "?";
}

std::vector<std::string> DataReport::lines(const pmd::Access& access) const {
  const auto line = [](bool granted, std::string_view what, const std::string& text) {
    return fmt::format("{:5} {:11} {}", granted ? "ok" : "-", what, granted ? text : "not granted");
  };
  const std::string compared = access.remote_write
                                   ? fmt::format("{} bytes as they were written", bytes_compared)
                                   : "nothing to compare with: WRITE is not granted";
  return {line(access.remote_write, "RDMA WRITE",
               fmt::format("{} messages, {} bytes", writes, bytes_written)),
          line(access.remote_read, "RDMA READ", fmt::format("{} messages, {}", reads, compared)),
          line(access.remote_atomic, "atomics",
               fmt::format("{} FETCH_ADD and CMP_SWAP, each answer as it must be", atomics))};
}

Result<DataReport> check_data(Requester& requester, const Grant& grant,
                              const DataCheckOptions& options) {
  return DataCheck(requester, grant, options).run();
}

}  // namespace portcullis::tools::lease_verify
