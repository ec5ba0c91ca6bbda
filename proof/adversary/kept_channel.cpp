// SPDX-License-Identifier: BSD-3-Clause
#include "proof/adversary/kept_channel.hpp"

#include <algorithm>
#include <array>

#include "devx/command_table.hpp"
#include "prm/command_fields.hpp"
#include "prm/enums.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::proof::adversary {
namespace {

/// Of what the lease code sends, what mlx5_internal_err_ret_value (Linux, mlx5/core/cmd.c) says
/// "ok" to; everything else is aborted there with -EIO. Not devx::may_be_faked, which is judged
/// here.
bool is_answered_by_the_kernel(prm::Opcode opcode) noexcept {
  using prm::Opcode;
  constexpr std::array kDone{Opcode::DESTROY_MKEY, Opcode::DESTROY_CQ, Opcode::DESTROY_QP,
                             Opcode::DEALLOC_PD,   Opcode::QP_2ERR,    Opcode::QP_2RST};
  return std::ranges::find(kDone, opcode) != kDone.end();
}

tl::unexpected<Error> aborted() {
  return fail(Errc::DeviceFailed, "the kernel aborts it: the device is in internal error");
}

}  // namespace

Result<pmd::Ticket> KeptChannel::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                        pmd::SlotClass slot_class) {
  PORTCULLIS_TRY_ASSIGN(const pmd::Ticket ticket, pass_on(in, out_bytes, slot_class));
  const auto* const how = devx::handling_of(prm::opcode_of(in));
  if (how != nullptr && devx::may_be_faked(*how)) doubtful_.insert(ticket.slot);
  return ticket;
}

Result<pmd::Ticket> KeptChannel::pass_on(std::span<const std::byte> in, std::size_t out_bytes,
                                         pmd::SlotClass slot_class) {
  if (!is_broken()) {
    if (left_) --*left_;
    return channel_->submit(in, out_bytes, slot_class);
  }
  if (!is_answered_by_the_kernel(prm::opcode_of(in))) return aborted();
  const pmd::Ticket ticket{.slot = kFirstFake + faked_++};
  fakes_.insert(ticket.slot);
  return ticket;
}

Result<void> KeptChannel::await(pmd::Ticket ticket, std::span<std::byte> out,
                                std::uint64_t deadline_ns) {
  const bool is_doubtful = doubtful_.erase(ticket.slot) != 0;
  if (fakes_.erase(ticket.slot) != 0)
    std::ranges::fill(out, std::byte{0});
  else
    PORTCULLIS_TRY(channel_->await(ticket, out, deadline_ns));
  return is_doubtful && !believes_ ? confirm(deadline_ns) : Result<void>{};
}

/// What devx::Channel asks: a command that the kernel aborts where it takes the device for broken.
Result<void> KeptChannel::confirm(std::uint64_t deadline_ns) {
  if (is_broken()) return aborted();
  prm::Buffer<prm::query_issi_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QUERY_ISSI)>();
  PORTCULLIS_TRY(pmd::run<prm::query_issi_out>(*channel_, in, deadline_ns, pmd::SlotClass::Fence));
  return {};
}

}  // namespace portcullis::proof::adversary
