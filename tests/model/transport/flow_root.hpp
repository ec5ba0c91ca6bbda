// SPDX-License-Identifier: BSD-3-Clause
//
// A root table with one entry in a host's flow tables, without commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/model/flow_commands.hpp"
#include "tests/model/transport/rig.hpp"

namespace portcullis::model::testing {

/// One that drops what `value` says where `mask` asks or, with a destination, forwards it there.
/// `underlay`: whose root it is.
Place make_root(Host& host, prm::FlowTableType type, const Match& mask, const Match& value,
                std::span<const std::byte> to = {}, std::uint32_t underlay = prm::kNoUnderlayQpn);

}  // namespace portcullis::model::testing
