// SPDX-License-Identifier: BSD-3-Clause
//
// The server's loop: one client after the other on one socket, and the function's own time between
// their messages. Guests find the function as the last one left it. A process of this host owns it
// as one owns a function under VFIO: alone, and reset behind it.
#pragma once

#include <poll.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/hca_server/hca_function.hpp"
#include "model/vfio_user/connection.hpp"

namespace portcullis::model {

/// Serves until `stop`. When a client hangs up, or we hang up on it, `log` gets a line; the next
/// client is waited for and meets the function as the last one left it. Meanwhile a page that a
/// client takes away under us is no end of the process (vfio_user::LostPages).
[[nodiscard]] Result<void> serve_clients(HcaFunction& function, vfio_user::Listener& listener,
                                         const std::atomic<bool>& stop,
                                         const std::function<void(std::string_view)>& log);

/// The same for owners, on a core that it keeps busy while one is there; `function` is one made for
/// Owner::Process. Who connects while another has it is refused. When an owner goes the function
/// goes on for `linger`, commands, traffic and memory, and is reset then; whoever has connected
/// meanwhile has it after that.
[[nodiscard]] Result<void> serve_owners(HcaFunction& function, vfio_user::Listener& listener,
                                        std::chrono::milliseconds linger,
                                        const std::atomic<bool>& stop,
                                        const std::function<void(std::string_view)>& log);

}  // namespace portcullis::model
