// SPDX-License-Identifier: BSD-3-Clause
//
// What a CQE says of tag matching beside the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "prm/tag_matching.hpp"

namespace portcullis::model {

struct TagReport {
  prm::CqeAppOp op{};
  std::uint16_t index = 0;  // app_info: the entry that is meant
  /// How the CQE begins: with the header that matched, or with mlx5_tm_cqe.
  std::array<std::byte, prm::ibv_tmh::bytes> head{};
};

}  // namespace portcullis::model
