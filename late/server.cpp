// SPDX-License-Identifier: BSD-3-Clause
#include "late/server.hpp"

#include <utility>

#include "attach/open_device.hpp"

namespace portcullis::late {

Result<std::unique_ptr<Server>> Server::bring_up(const std::shared_ptr<model::EventLoop>& loop,
                                                 const Options& options) {
  std::unique_ptr<Server> server(new Server);
  server->wire_ = std::make_shared<model::Wire>();
  server->wire_->loop() = loop;
  const pmd::RoceAddress address{.gid = pmd::Gid::from_ipv4(192, 0, 2, options.number),
                                 .mac = {{2, 0, 0, 0, 0, options.number}}};
  model::Options model;
  model.seed = options.seed;
  model.behaviours = options.behaviours;
  model.wire = server->wire_;
  model.mac = address.mac.octets;
  model.pcap_path = options.pcap_path;
  PORTCULLIS_TRY_ASSIGN(auto opened, attach::OpenDevice::open({std::move(model)}));
  PORTCULLIS_TRY_ASSIGN(server->function_, attach::Function::bring_up(std::move(opened)));
  PORTCULLIS_TRY_ASSIGN(auto port, attach::Port::create(server->function_->context(),
                                                        {.gid = address.gid, .mac = address.mac}));
  server->port_.emplace(std::move(port));
  return server;
}

}  // namespace portcullis::late
