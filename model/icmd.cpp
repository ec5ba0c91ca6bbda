// SPDX-License-Identifier: BSD-3-Clause
#include "model/icmd.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "model/core.hpp"
#include "model/register_access.hpp"
#include "prm/enums.hpp"
#include "prm/management_registers.hpp"
#include "prm/view.hpp"

namespace portcullis::model {
namespace {

namespace icmd = prm::icmd;
namespace emad = prm::emad;

constexpr std::uint32_t kWordBytes = 4;
constexpr std::size_t kRegisterAt = emad::kOpBytes + emad::kRegBytes;

/// Where in the mailbox a word lies; none: the address is none of its words.
std::optional<std::size_t> place_of(std::uint32_t address) noexcept {
  if (address < icmd::kMailbox || address % kWordBytes != 0) return std::nullopt;
  const std::size_t at = address - icmd::kMailbox;
  return at < icmd::kMailboxBytes ? std::optional(at) : std::nullopt;
}

constexpr std::uint32_t type_of(std::uint32_t header) noexcept {
  return header >> emad::kTypeShift;
}
constexpr std::uint32_t dwords_of(std::uint32_t header) noexcept {
  return header >> emad::kLengthShift & emad::kLengthMask;
}

prm::EmadStatus status_of(const Verdict& verdict) noexcept {
  if (verdict.later) return prm::EmadStatus::BUSY;
  return verdict.ok() ? prm::EmadStatus::SUCCESS : prm::EmadStatus::BAD_PARAMETER;
}

}  // namespace

void Icmd::reset() noexcept {
  control_ = 0;
  mailbox_.fill(std::byte{0});
}

std::uint32_t Icmd::word(std::size_t at) const noexcept {
  return prm::detail::load_dword(&mailbox_[at]);
}

void Icmd::put_word(std::size_t at, std::uint32_t value) noexcept {
  prm::detail::store_dword(&mailbox_[at], value);
}

std::uint32_t Icmd::read(std::uint32_t address) const noexcept {
  if (address == icmd::kControl) return control_;
  if (address == icmd::kMailboxSize) return icmd::kMailboxBytes;
  const auto at = place_of(address);
  return at ? word(*at) : 0;
}

void Icmd::write(std::uint32_t address, std::uint32_t value) {
  if (const auto at = place_of(address)) return put_word(*at, value);
  if (address != icmd::kControl) return;
  control_ = value & ~(icmd::kBusy | icmd::kStatusMask);
  if ((value & icmd::kBusy) == 0) return;
  const prm::IcmdStatus status = run(static_cast<std::uint16_t>(value >> icmd::kOpcodeShift));
  control_ |= std::uint32_t{prm::number(status)} << icmd::kStatusShift;
}

prm::IcmdStatus Icmd::run(std::uint16_t opcode) {
  if (opcode != icmd::kAccessRegister) return prm::IcmdStatus::INVALID_OPCODE;
  if (type_of(word(0)) != prm::kEmadTypeOp || dwords_of(word(0)) != prm::kEmadOpDwords)
    return prm::IcmdStatus::INVALID_CMD;
  const prm::EmadStatus status = access_register();
  put_word(
      0, (word(0) & ~emad::kStatusMask) | std::uint32_t{prm::number(status)} << emad::kStatusShift);
  put_word(kWordBytes, word(kWordBytes) | emad::kResponse);
  return prm::IcmdStatus::OK;
}

prm::EmadStatus Icmd::access_register() {
  const std::uint32_t operation = word(kWordBytes);
  const std::uint32_t header = word(emad::kOpBytes);
  const std::uint32_t method = operation >> emad::kMethodShift & emad::kMethodMask;
  const bool write = method == prm::number(prm::EmadMethod::WRITE);
  if ((operation & emad::kClassMask) != prm::kEmadClassRegAccess)
    return prm::EmadStatus::CLASS_NOT_SUPPORTED;
  if (!write && method != prm::number(prm::EmadMethod::QUERY))
    return prm::EmadStatus::METHOD_NOT_SUPPORTED;
  if (type_of(header) != prm::kEmadTypeReg || dwords_of(header) == 0)
    return prm::EmadStatus::UNKNOWN_TLV;
  const auto id = prm::RegisterId{static_cast<std::uint16_t>(operation >> emad::kRegisterIdShift)};
  if (!registers::is_known(id)) return prm::EmadStatus::REGISTER_NOT_SUPPORTED;
  // The firmware's reset tells whoever asked for it by the slot of his command; here is none.
  if (write && prm::number(id) == prm::number(prm::ManagementRegisterId::MFRL))
    return prm::EmadStatus::METHOD_NOT_SUPPORTED;
  const std::size_t told = (dwords_of(header) - 1) * kWordBytes;
  const auto room = std::span(mailbox_).subspan(kRegisterAt);
  const auto data = room.first(std::min(told, room.size()));
  return status_of(registers::access(core_, id, write, data, data, 0));
}

}  // namespace portcullis::model
