// SPDX-License-Identifier: BSD-3-Clause
//
// How the files of Sessions send what they have to say: its templates, and what they share, for
// them alone.
#pragma once

#include "service/daemon/sessions.hpp"

namespace portcullis::service::daemon {

/// Regions are of whole pages, and that is what a tenant is charged with.
[[nodiscard]] std::uint64_t charged_bytes(std::uint64_t bytes) noexcept;
/// How long the number of the client's queue pair rests, as the sweep counts it: four times what
/// that queue pair waits for each of its tries.
[[nodiscard]] std::uint64_t rest_ns_of(const wire::AllocRequest& wanted) noexcept;
/// REVOKED, or EXPIRED where its time was over.
[[nodiscard]] wire::FrameBytes notice_of(const Ending& ending);

template <class Body>
void Sessions::reply_later(ConnectionId connection, std::uint64_t request_id, wire::Op op,
                           const Body& body) {
  send_answer(connection, wire::make_frame(wire::answer_to(op), request_id, body));
}

template <class Body>
void Sessions::reply(const Asking& asking, wire::Op op, const Body& body) {
  ports_.send(asking.id,
              wire::make_frame(wire::answer_to(op), asking.frame->header.request_id, body));
}

template <class Body>
std::optional<Body> Sessions::body_of(const Asking& asking) {
  auto body = wire::read_body<Body>(*asking.frame);
  if (body) return *body;
  refuse(asking, body.error());
  ports_.hang_up(asking.id);
  return std::nullopt;
}

}  // namespace portcullis::service::daemon
