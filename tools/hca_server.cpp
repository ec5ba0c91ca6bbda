// SPDX-License-Identifier: BSD-3-Clause
//
// hca-server: the ConnectX-5 in software as a PCI device of a virtual machine, over vfio-user.
#include <atomic>
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <map>
#include <string>

#include "model/hca_server/serve.hpp"
#include "model/model.hpp"

namespace {

using namespace portcullis;

std::atomic<bool> stop_asked{false};

extern "C" void ask_to_stop(int /*signal*/) { stop_asked.store(true); }

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

int refuse(const Error& error) {
  std::cerr << "hca-server: " << error.text << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A ConnectX-5 in software, offered to a virtual machine over vfio-user."};
  std::string socket;
  model::Options options;
  app.add_option("--socket", socket, "UNIX socket to listen on")->required();
  app.add_option("--timing", options.timing, "one of: " + joined(model::timing_names()));
  app.add_option("--behaviour", options.behaviours, "any of: " + joined(model::behaviour_names()))
      ->delimiter('+');
  app.add_option("--port-type", options.port_type,
                 "eth: Ethernet with RoCEv2 (default); ib: InfiniBand")
      ->transform(CLI::Transformer(std::map<std::string, model::PortType>{
          {"eth", model::PortType::Ethernet}, {"ib", model::PortType::InfiniBand}}))
      ->type_name("eth|ib");
  app.add_flag("--vf", options.virtual_function, "be a virtual function (15b3:1018)");
  app.add_option("--pcap", options.pcap_path, "write every frame to this file");
  app.add_option("--trace", options.trace_path,
                 "record every command the driver gives, with its fields by name");
  app.add_option("--seed", options.seed, "order of what happens at one instant");
  app.footer(
      "Use it with QEMU 10.1 or newer, guest memory shared:\n"
      "  -device "
      "'{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"SOCKET\"}}'");
  CLI11_PARSE(app, argc, argv);

  auto function = model::HcaFunction::create(options);
  if (!function) return refuse(function.error());
  auto listener = model::vfio_user::Listener::create(socket);
  if (!listener) return refuse(listener.error());
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  std::cerr << "hca-server: listening on " << socket << '\n';
  const auto served = model::serve_clients(
      **function, *listener, stop_asked,
      [](std::string_view line) { std::cerr << "hca-server: " << line << '\n'; });
  return served ? 0 : refuse(served.error());
}
