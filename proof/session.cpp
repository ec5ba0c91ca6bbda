// SPDX-License-Identifier: BSD-3-Clause
#include "proof/session.hpp"

#include <algorithm>
#include <limits>

namespace portcullis::proof {
namespace {

/// A client's empty poll relaxes as well. What the device does must not happen there, behind the
/// back of whoever waits: it would be followed by a wait for the next event before the one that
/// just came has been looked at.
thread_local bool is_pumping = false;

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const attach::DeviceSpec& spec,
                                               const SessionOptions& wanted) {
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open(spec, wanted.on_recording_lost));
  std::unique_ptr<Session> session(new Session(opened.device(), wanted.check_not_stopped));
  attach::Function::Options options{.on_command = wanted.on_command,
                                    .bring_up = {.log = wanted.log}};
  options.present = [&session](Device device) {
    device.relax = Relax(&Session::relax_entry, session.get());
    return device;
  };
  PORTCULLIS_TRY_ASSIGN(session->function_, attach::Function::bring_up(std::move(opened), options));
  attach::Port::Options addressed;
  if (!session->context().is_kept) addressed.gid = attach::kLoopbackGid;
  PORTCULLIS_TRY_ASSIGN(auto port, attach::Port::create(session->context(), addressed));
  session->port_.emplace(std::move(port));
  if (wanted.wants_load_core && !session->device().clock.is_virtual())
    session->load_core_ = LoadCore::take([at_work = session.get()] { at_work->pump_clients(); });
  return session;
}

Session::~Session() { clear_clients(); }

void Session::set_clients(std::vector<Client*> clients) {
  if (load_core_) load_core_->pause();
  clients_ = std::move(clients);
  has_failed_request_ = false;
  if (load_core_ && !clients_.empty()) load_core_->resume();
}

void Session::clear_clients() { set_clients({}); }

Result<void> Session::client_result() const {
  if (has_client_error_) return tl::unexpected<Error>(*client_error_);
  return {};
}

/// The first one stays.
void Session::note_error(Error error) noexcept {
  const std::lock_guard lock(noting_);
  if (has_client_error_) return;
  client_error_ = std::move(error);
  has_client_error_ = true;
}

void Session::relax_entry(void* session, std::uint64_t until_ns) noexcept {
  static_cast<Session*>(session)->relax(until_ns);
}

std::uint64_t Session::pump_clients() noexcept {
  is_pumping = true;
  std::uint64_t next_ns = std::numeric_limits<std::uint64_t>::max();
  for (Client* client : clients_) {
    if (auto pumped = client->pump(); !pumped) note_error(std::move(pumped).error());
    if (client->seen().failure) has_failed_request_ = true;
    next_ns = std::min(next_ns, client->next_ns());
  }
  is_pumping = false;
  return next_ns;
}

void Session::relax(std::uint64_t until_ns) noexcept {
  if (is_pumping) return;
  last_look_ns_ = plain_.clock.now_ns();
  if (background_) {
    is_pumping = true;
    if (auto worked = background_(); !worked) note_error(std::move(worked).error());
    is_pumping = false;
  }
  if (!load_core_) until_ns = std::min(until_ns, pump_clients());
  plain_.relax(until_ns);
}

}  // namespace portcullis::proof
