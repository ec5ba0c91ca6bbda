// SPDX-License-Identifier: BSD-3-Clause
//
// A command as a handler gets it: input and output through their layouts, lengths and reserved bits
// already checked, and the lists that some commands carry behind their layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/cells.hpp"
#include "base/device.hpp"
#include "model/verdict.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class Core;

template <class In, class Out>
struct Request {
  prm::ConstView<In> in;
  prm::View<Out> out;
  std::span<const std::byte> in_tail;
  std::span<std::byte> out_tail;  // as much room as the driver gave, and none when it cut `out`
  std::uint32_t slot = 0;
};

/// Writes of a list, or of one entry that stands `at` bytes into it, what the driver has room for.
inline void put_in_tail(std::span<std::byte> tail, std::size_t at,
                        std::span<const std::byte> entry) {
  if (at >= tail.size()) return;
  const auto room = tail.subspan(at, std::min(entry.size(), tail.size() - at));
  std::ranges::copy(entry.first(room.size()), room.begin());
}

/// The first `count` addresses of a pas[] list; the caller has checked that they are there.
[[nodiscard]] inline std::vector<Iova> page_list(std::span<const std::byte> pas,
                                                 std::size_t count) {
  std::vector<Iova> pages(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t raw;
    std::memcpy(&raw, pas.data() + i * sizeof raw, sizeof raw);
    pages[i] = cells::be64(raw);
  }
  return pages;
}

}  // namespace portcullis::model
