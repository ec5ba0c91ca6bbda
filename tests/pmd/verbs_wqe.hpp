// SPDX-License-Identifier: BSD-3-Clause
//
// WQEs as rdma-core builds them: its structs and inline helpers (infiniband/mlx5dv.h) filled in
// member by member, for comparison with what the driver leaves in its queues.
#pragma once

#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pmd/work_request.hpp"
#include "tests/pmd/object_rig.hpp"

namespace portcullis::testing {

class VerbsWqe {
 public:
  VerbsWqe(std::uint16_t index, std::uint8_t opcode, std::uint8_t ds, std::uint8_t fm_ce_se,
           std::uint32_t immediate = 0) {
    mlx5_wqe_ctrl_seg control{};
    mlx5dv_set_ctrl_seg(&control, index, opcode, 0, kQpn, fm_ce_se, ds, 0, htobe32(immediate));
    append(control);
  }
  VerbsWqe& remote(std::uint64_t address, std::uint32_t rkey) {
    return append(mlx5_wqe_raddr_seg{htobe64(address), htobe32(rkey), 0});
  }
  VerbsWqe& atomic(std::uint64_t swap_add, std::uint64_t compare) {
    return append(mlx5_wqe_atomic_seg{htobe64(swap_add), htobe64(compare)});
  }
  VerbsWqe& piece(const pmd::GatherEntry& entry) {
    mlx5_wqe_data_seg segment{};
    mlx5dv_set_data_seg(&segment, entry.bytes, entry.lkey, entry.address);
    return append(segment);
  }
  VerbsWqe& inlined(std::span<const std::byte> data) {
    append(
        mlx5_wqe_inl_data_seg{htobe32(static_cast<std::uint32_t>(data.size()) | MLX5_INLINE_SEG)});
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    return *this;
  }
  template <class Segment>
  VerbsWqe& append(const Segment& segment) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof segment>>(segment);
    for (const std::byte b : raw) bytes_.push_back(b);  // gcc 12 takes insert() for an overflow
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

inline std::vector<std::byte> counting(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i + 1);
  return data;
}

}  // namespace portcullis::testing
