// SPDX-License-Identifier: BSD-3-Clause
#include "proof/session.hpp"

#include <algorithm>

namespace portcullis::proof {

Result<std::unique_ptr<Session>> Session::open(const attach::DeviceSpec& spec,
                                               const SessionOptions& wanted) {
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open(spec, wanted.on_recording_lost));
  std::unique_ptr<Session> session(new Session(opened.device(), wanted.check_not_stopped));
  attach::Function::Options options{.bring_up = {.log = wanted.log}};
  options.present = [&session](Device device) {
    device.relax = Relax(&Session::relax_entry, session.get());
    return device;
  };
  PORTCULLIS_TRY_ASSIGN(session->function_, attach::Function::bring_up(std::move(opened), options));
  attach::Port::Options addressed;
  if (!session->context().is_kept) addressed.gid = attach::kLoopbackGid;
  PORTCULLIS_TRY_ASSIGN(auto port, attach::Port::create(session->context(), addressed));
  session->port_.emplace(std::move(port));
  return session;
}

Session::~Session() { clients_.clear(); }

Result<void> Session::client_result() const {
  if (client_error_) return tl::unexpected<Error>(*client_error_);
  return {};
}

void Session::relax_entry(void* session, std::uint64_t until_ns) noexcept {
  static_cast<Session*>(session)->relax(until_ns);
}

void Session::relax(std::uint64_t until_ns) noexcept {
  // A client's empty poll relaxes as well. What the device does must not happen there, behind the
  // back of whoever waits: it would be followed by a wait for the next event before the one that
  // just came has been looked at.
  if (is_pumping_) return;
  is_pumping_ = true;
  if (background_) {
    if (auto worked = background_(); !worked && !client_error_)
      client_error_ = std::move(worked).error();
  }
  for (Client* client : clients_) {
    if (auto pumped = client->pump(); !pumped && !client_error_)
      client_error_ = std::move(pumped).error();
    until_ns = std::min(until_ns, client->next_ns());
  }
  is_pumping_ = false;
  plain_.relax(until_ns);
}

}  // namespace portcullis::proof
