// SPDX-License-Identifier: BSD-3-Clause
//
// The client's end of a lease, on a port of this process: one RC queue pair that writes and reads
// under the rkey it was told. For trying what a revoke does to a client; a client on another host
// uses its own verbs (docs/soft-roce.md).
//
// Example, leases.cpp:
//   PORTCULLIS_TRY_ASSIGN(auto client, Requester::create(port));
//   PORTCULLIS_TRY_ASSIGN(const auto grant, leases.grant({.bytes = 4096, .peer = client.peer()}));
//   PORTCULLIS_TRY(client.connect(grant));
//   PORTCULLIS_TRY_ASSIGN(const RequestEnd end, client.write(0, kData));
#pragma once

#include <portcullis/address.hpp>
#include <portcullis/export.hpp>
#include <portcullis/lease.hpp>
#include <portcullis/port.hpp>
#include <portcullis/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace portcullis {

/// How a request ended, as its own queue pair tells.
struct RequestEnd {
  std::uint32_t status = 0;  // enum ibv_wc_status of infiniband/verbs.h; 0 is success
  std::string text;          // "IBV_WC_SUCCESS (0)"

  /// Acknowledged by the other end.
  [[nodiscard]] bool is_success() const noexcept { return status == 0; }
};

/// One queue pair that asks.
class PORTCULLIS_API Requester {
 public:
  static constexpr std::size_t kMostBytes = 4096;  // of one request

  /// A queue pair, not connected yet.
  [[nodiscard]] static Result<Requester> create(const Port& port);
  /// One that was moved from can be assigned to or destroyed, and nothing else.
  Requester(Requester&& other) noexcept;
  /// Destroys the queue pair that it had.
  Requester& operator=(Requester&& other) noexcept;
  ~Requester();

  /// Whom to grant a lease to.
  [[nodiscard]] const Peer& peer() const noexcept;
  /// To the lease's queue pair, with its timeout and retry count; also from one to the next, but
  /// not again to one that has had requests: it expects what comes after them, and answers nothing
  /// else. InvalidArgument for a grant that is none leaves all as it was.
  [[nodiscard]] Result<void> connect(const Grant& grant);
  /// RDMA WRITE of 1 to kMostBytes to the region, `offset` bytes into it, and its end. Whether they
  /// are within the region is for the device to say. After a failure the queue pair is in error,
  /// and every request is flushed until connect(). Timeout when the device does not answer in 60 s,
  /// and connect() is due again; InvalidArgument before connect(); DeviceFailed once the function
  /// is broken or was reset, as by drain().
  [[nodiscard]] Result<RequestEnd> write(std::uint64_t offset, std::span<const std::byte> data);
  /// RDMA READ into `data`, which is changed on success alone.
  [[nodiscard]] Result<RequestEnd> read(std::uint64_t offset, std::span<std::byte> data);

 private:
  struct Impl;
  explicit Requester(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace portcullis
