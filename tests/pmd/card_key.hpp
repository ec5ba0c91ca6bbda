// SPDX-License-Identifier: BSD-3-Clause
//
// A key over memory of the card, as mlx5_ib_get_dm_mr of mlx5_ib/mr.c asks for it.
#pragma once

#include <cstdint>

#include "pmd/command_channel.hpp"
#include "pmd/memory_key.hpp"
#include "prm/object_commands.hpp"

namespace portcullis::testing {

/// The key of `bytes` from `at` on, with every right but atomics and those if asked for; `mode` is
/// one of prm::kMkcMode*.
[[nodiscard]] inline std::uint32_t make_card_key(pmd::CommandChannel& commands,
                                                 const pmd::ProtectionDomain& pd,
                                                 std::uint32_t mode, std::uint64_t at,
                                                 std::uint64_t bytes, bool has_atomics = false) {
  prm::Buffer<prm::create_mkey_in> in;
  in.set<"opcode", prm::Opcode::CREATE_MKEY>();
  in.put<"memory_key_mkey_entry.access_mode_1_0">(mode & 3)
      .put<"memory_key_mkey_entry.access_mode_4_2">(mode >> 2)
      .set<"memory_key_mkey_entry.lr", 1>()
      .set<"memory_key_mkey_entry.lw", 1>()
      .set<"memory_key_mkey_entry.rr", 1>()
      .set<"memory_key_mkey_entry.rw", 1>()
      .set<"memory_key_mkey_entry.qpn", prm::kMkcQpnAny>();
  in.put<"memory_key_mkey_entry.a">(has_atomics)
      .put<"memory_key_mkey_entry.pd">(prm::number(pd.number()))
      .put<"memory_key_mkey_entry.start_addr">(at)
      .put<"memory_key_mkey_entry.len">(bytes);
  return pmd::run<prm::create_mkey_out>(commands, in).value().get<"mkey_index">() << 8;
}

}  // namespace portcullis::testing
