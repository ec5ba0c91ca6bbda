// SPDX-License-Identifier: BSD-3-Clause
//
// hca-server: the ConnectX-5 in software as a PCI device of a virtual machine, over vfio-user.
#include <array>
#include <atomic>
#include <charconv>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/hca_server/serve.hpp"
#include "model/model.hpp"
#include "program/command_line.hpp"
#include "program/signals.hpp"
#include "program/standard_streams.hpp"

namespace {

using namespace portcullis;

std::atomic<bool> stop_asked{false};

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

int refuse(const Error& error) {
  std::cerr << "hca-server: " << error.text << '\n';
  return 1;
}

/// No address given: the model's own.
Result<void> take_port(const std::string& type, const std::string& text, model::Options& options) {
  if (type != "eth" && type != "ib")
    return fail(Errc::InvalidArgument, "--port-type '" + type + "': eth and ib are accepted");
  options.port_type = type == "ib" ? model::PortType::InfiniBand : model::PortType::Ethernet;
  if (text.empty()) return {};
  std::array<std::uint8_t, 6> mac{};
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
                               &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &end);
  const bool is_plain = text.find_first_not_of("0123456789abcdefABCDEF:") == std::string::npos;
  if (read != 6 || static_cast<std::size_t>(end) != text.size() || !is_plain || (mac[0] & 1) != 0)
    return fail(Errc::InvalidArgument,
                "--mac '" + text + "': a unicast address such as 02:50:43:00:00:01 is accepted");
  options.mac = mac;
  return {};
}

/// Empty: it is one. CLI11 itself takes -1, and what is too large, for the largest number.
std::string why_no_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc() && rest == end) return {};
  return "'" + text + "': a number from 0 to 18446744073709551615 is accepted";
}

/// The listener is first: whoever starts a server twice has its files and wire left alone.
Result<void> run(const std::string& socket, const std::string& wire, model::Options options) {
  PORTCULLIS_TRY_ASSIGN(auto listener, model::vfio_user::Listener::create(socket));
  std::unique_ptr<model::FrameChannel> channel;
  if (!wire.empty()) {
    PORTCULLIS_TRY_ASSIGN(const model::WireSpec spec, model::WireSpec::parse(wire));
    PORTCULLIS_TRY_ASSIGN(channel, model::FrameChannel::open(spec));
  }
  PORTCULLIS_TRY_ASSIGN(const auto function,
                        model::HcaFunction::create(std::move(options), std::move(channel)));
  program::heed_stop_signals(stop_asked);
  std::cerr << "hca-server: listening on " << socket << '\n';
  return model::serve_clients(*function, listener, stop_asked, [](std::string_view line) {
    std::cerr << "hca-server: " << line << '\n';
  });
}

int act(int argc, char** argv) {
  CLI::App app{"A ConnectX-5 in software, offered to a virtual machine over vfio-user.",
               "hca-server"};
  std::string socket, wire, mac, port_type = "eth";
  model::Options options;
  app.add_option("--socket", socket, "UNIX socket to listen on")->required()->type_name("PATH");
  app.add_option("--timing", options.timing,
                 "how long commands take: " + joined(model::timing_names()))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--behaviour", options.behaviours, "findings and misbehaviour, listed below")
      ->type_name("NAME[=VALUE]+..")
      ->delimiter('+');
  app.add_option("--port-type", port_type, "eth: Ethernet with RoCEv2 (default); ib: InfiniBand")
      ->type_name("eth|ib");
  app.add_flag("--vf", options.virtual_function, "be a virtual function (15b3:1018)");
  app.add_option("--wire", wire,
                 "join the port to a socket, as QEMU's -netdev dgram and stream speak:\n"
                 "dgram,local=ADDRESS,remote=ADDRESS | stream,listen=ADDRESS |\n"
                 "stream,connect=ADDRESS; an ADDRESS is HOST:PORT or a path with a '/'")
      ->type_name("SPEC");
  app.add_option("--mac", mac, "the port's address; ports on one wire need different ones")
      ->type_name("XX:XX:XX:XX:XX:XX");
  app.add_option("--pcap", options.pcap_path, "write every frame to this file")->type_name("FILE");
  app.add_option("--trace", options.trace_path,
                 "record every command the driver gives, with its fields by name")
      ->type_name("FILE");
  app.add_option("--seed", options.seed,
                 "order of what happens at one instant, and which frames meet a fault")
      ->type_name("N")
      ->check([](const std::string& text) { return why_no_seed(text); });
  app.footer("Behaviours; NAME=off takes back what a timing switches on:\n" +
             model::behaviour_help() +
             "Use it with QEMU 10.1 or newer, guest memory shared:\n"
             "  -device "
             "'{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"SOCKET\"}}'\n"
             "Two ports on one wire:\n"
             "  hca-server --socket a --wire stream,listen=/tmp/wire\n"
             "  hca-server --socket b --wire stream,connect=/tmp/wire --mac 02:50:43:00:00:02");
  const auto text = program::parse_arguments(app, {argv + 1, argv + argc});
  if (!text) return refuse(text.error());
  if (*text) {
    std::cout << **text;
    return 0;
  }

  if (const auto given = take_port(port_type, mac, options); !given) return refuse(given.error());
  options.on_recording_lost = program::note_lost_file;
  const auto served = run(socket, wire, std::move(options));
  return served ? 0 : refuse(served.error());
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_main("hca-server", [&] { return act(argc, argv); });
}
