// SPDX-License-Identifier: BSD-3-Clause
//
// The numbers by which a driver names objects to the device, each a type of its own, so that two of
// them cannot change places. The layouts know them as plain fields: put() takes them as they are,
// prm::number() gives the integer. They are what the device said or a caller asked for, and nothing
// here says that such an object exists.
#pragma once

#include <cstdint>

#include "prm/enums.hpp"

namespace portcullis::prm {

/// A queue pair: ours, or a peer\'s. 24 bits.
enum class QpNumber : std::uint32_t {};
/// A protection domain.
enum class PdNumber : std::uint32_t {};
/// A memory key without its low byte, as CREATE_MKEY answers it and DESTROY_MKEY takes it.
enum class MkeyIndex : std::uint32_t {};
/// The whole key, as a peer or a UMR names it: a secret.
enum class Rkey : std::uint32_t {};

[[nodiscard]] constexpr Rkey rkey_of(MkeyIndex index, std::uint8_t variant) noexcept {
  return Rkey{number(index) << 8 | variant};
}
[[nodiscard]] constexpr MkeyIndex index_of(Rkey key) noexcept {
  return MkeyIndex{number(key) >> 8};
}

}  // namespace portcullis::prm
