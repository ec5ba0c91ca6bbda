// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/session.hpp"

#include <algorithm>

#include "tools/log_line.hpp"

namespace portcullis::bench {

Session::Session(tools::OpenDevice opened) : opened_(std::move(opened)), plain_(opened_.device()) {}

Result<std::unique_ptr<Session>> Session::open(const tools::DeviceSpec& spec) {
  PORTCULLIS_TRY_ASSIGN(auto opened, tools::OpenDevice::open(spec));
  std::unique_ptr<Session> session(new Session(std::move(opened)));
  PORTCULLIS_TRY(session->start_model());
  Device device = session->plain_;
  device.relax = Relax(&Session::relax_entry, session.get());
  PORTCULLIS_TRY_ASSIGN(session->hca_, pmd::Hca::bring_up(device, {.log = tools::log_to_stderr()}));
  PORTCULLIS_TRY_ASSIGN(auto port, Port::create(session->context()));
  session->port_.emplace(std::move(port));
  return session;
}

Session::~Session() {
  clients_.clear();
  port_.reset();
  hca_.reset();
  stop_ = true;
  lcore_.reset();
  if (thread_.joinable()) thread_.join();
}

Result<void> Session::start_model() {
  if (!opened_.needs_core()) return {};
  const auto serve = [this] { opened_.serve(stop_); };
  const std::vector<unsigned> workers = pmd::Eal::worker_lcores();
  if (workers.empty()) {
    thread_ = std::thread(serve);
    return {};
  }
  PORTCULLIS_TRY_ASSIGN(auto task, pmd::LcoreTask::launch(workers.front(), serve));
  lcore_.emplace(std::move(task));
  return {};
}

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

}  // namespace portcullis::bench
