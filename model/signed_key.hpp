// SPDX-License-Identifier: BSD-3-Clause
//
// Data that goes through a key with signatures. Out of memory it is read block by block as often as
// a packet asks for it, so what is sent again is computed again. Into memory it comes once and in
// order: the computation goes on from packet to packet, and a block is checked, and gets a
// signature in memory, only if it came whole. That blocks of which a transfer begins or ends in the
// middle are not checked is a hypothesis.
//
// The first fault of a key is reported, and no other until a UMR expects the next one: mlx5_ib and
// rdma-core begin with mkc.expected_sigerr_count 1 and flip it for each CQE they saw
// (set_sig_mkey_segment of mlx5_ib/wr.c, upd_mkc_sig_err_cnt of rdma-core's mlx5/qp.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/block_format.hpp"

namespace portcullis::model {

class Dma;
class MkeyTable;
class PsvTable;

/// What a key with signatures has beside others.
struct SignedKey {
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

  BlockFormat format;
  std::uint64_t data_bytes = 0;
  std::uint32_t next_error = 1;  // what mkc.expected_sigerr_count must be for it to be reported

  // Where data stands that comes in.
  std::uint64_t next = kNowhere;  // on the wire
  BlockGuard wire_guard;
  BlockGuard memory_guard;
  bool is_wire_whole = false;  // the block in hand was seen from its beginning
  bool is_memory_whole = false;
  SignatureBytes found{};  // the wire's signature, so far

  [[nodiscard]] std::uint64_t wire_bytes() const noexcept { return format.wire.place(data_bytes); }
};

/// What a transfer writes: bytes one behind the other, and where they go.
struct SignedWrites {
  struct Part {
    std::uint64_t at = 0;  // in the key's memory, from its start on
    std::uint32_t bytes = 0;
  };
  std::vector<Part> parts;
  std::vector<std::byte> bytes;

  void add(std::uint64_t at, std::span<const std::byte> data);
};

class SignedTransfer {
 public:
  /// Without `psvs` every computation begins with zero.
  SignedTransfer(MkeyTable& mkeys, Dma& dma, const PsvTable* psvs) noexcept
      : mkeys_(&mkeys), dma_(&dma), psvs_(psvs) {}

  /// Bytes of the wire from `va` on. False: they are not all the key's, or their memory cannot be
  /// read.
  [[nodiscard]] bool gather(std::uint32_t key, std::uint64_t va, std::span<std::byte> out);
  /// What bytes of the wire come to in memory. False: the key has no signatures, or other bytes.
  [[nodiscard]] bool scatter(std::uint32_t key, std::uint64_t va, std::span<const std::byte> in,
                             SignedWrites& out);
  /// The fault that the last call found, if it is to be reported.
  [[nodiscard]] const std::optional<SignatureFault>& fault() const noexcept { return fault_; }

 private:
  bool begin(std::uint32_t key, std::uint64_t va, std::uint64_t bytes);
  [[nodiscard]] bool read(std::uint64_t at, std::span<std::byte> out);
  [[nodiscard]] bool read_data(std::uint64_t at, std::span<std::byte> out);
  [[nodiscard]] bool gather_data(std::uint64_t at, std::span<std::byte> out);
  [[nodiscard]] bool check_memory(std::uint64_t block);
  [[nodiscard]] bool compute(const SignatureDomain& domain, std::uint64_t block,
                             std::uint64_t& value);
  [[nodiscard]] bool stored(std::uint64_t block, std::uint64_t& value);
  [[nodiscard]] bool wire_signature(std::uint64_t block, SignatureBytes& out);
  void scatter_data(std::uint64_t at, std::span<const std::byte> in, SignedWrites& out);
  void scatter_signature(std::uint64_t block, std::uint64_t from, std::span<const std::byte> in,
                         SignedWrites& out);
  void write_signature(std::uint64_t block, std::uint64_t copied, SignedWrites& out);
  [[nodiscard]] bool waits_for_wire() const noexcept;
  [[nodiscard]] std::uint64_t first_of(const SignatureDomain& domain) const;
  void compare(const SignatureDomain& domain, std::uint32_t which, std::uint64_t block,
               std::uint64_t found, std::uint64_t computed);

  MkeyTable* mkeys_;
  Dma* dma_;
  const PsvTable* psvs_;
  std::uint32_t key_ = 0;
  SignedKey* signed_ = nullptr;
  std::uint64_t at_ = 0;  // on the wire
  std::optional<SignatureFault> fault_;
};

}  // namespace portcullis::model
