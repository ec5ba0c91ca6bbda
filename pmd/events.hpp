// SPDX-License-Identifier: BSD-3-Clause
//
// What an EQE says, decoded and checked. The bytes come from a device and are not trusted: a type
// that is not known, or a field out of its range, is an UnknownEvent, never a guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "prm/eqe.hpp"
#include "prm/numbers.hpp"

namespace portcullis::pmd {

/// Something happened to a QP: its type is one of prm's event types (SQ_DRAINED, WQ_CATAS_ERROR,
/// WQ_INVAL_REQ_ERROR, WQ_ACCESS_ERROR, ..).
struct QpEvent {
  std::uint8_t type = 0;
  prm::QpNumber qpn{};
};

struct CqErrorEvent {
  std::uint32_t cqn = 0;
  std::uint8_t syndrome = 0;
};

struct PortChangeEvent {
  std::uint8_t port = 0;
  std::uint8_t sub_type = 0;  // 1 down, 4 active, ..
};

/// The firmware wants `pages` more, or gives -pages back.
struct PageRequestEvent {
  std::uint16_t function_id = 0;
  bool embedded_cpu_function = false;
  bool release_all = false;
  std::int32_t pages = 0;
};

struct InternalErrorEvent {};

struct UnknownEvent {
  std::uint8_t type = 0;
  std::uint8_t sub_type = 0;
};

using Event = std::variant<UnknownEvent, QpEvent, CqErrorEvent, PortChangeEvent, PageRequestEvent,
                           InternalErrorEvent>;

/// Any 64 bytes give an Event.
[[nodiscard]] Event decode_event(std::span<const std::byte, prm::kEqeBytes> eqe) noexcept;
/// One line for logs: "WQ_ACCESS_ERROR qpn 0x12".
[[nodiscard]] std::string describe(const Event& event);

}  // namespace portcullis::pmd
