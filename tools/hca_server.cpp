// SPDX-License-Identifier: BSD-3-Clause
//
// hca-server: the ConnectX-5 in software as a PCI device of a virtual machine, over vfio-user, or
// as the device of another process of this host.
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
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
#include "program/output_file.hpp"
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
  if (read != 6 || static_cast<std::size_t>(end) != text.size() || !is_plain || (mac[0] & 1) != 0 ||
      mac == std::array<std::uint8_t, 6>{})
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

/// Where the function is offered, and to whom.
struct Offer {
  std::string socket;  // to a guest
  std::string shm;     // to processes
  std::uint32_t reset_delay_ms = 0;
  std::vector<std::string> wires;
  [[nodiscard]] const std::string& path() const { return shm.empty() ? socket : shm; }
};

/// The listener is first: whoever starts a server twice has its files and wire left alone.
Result<void> run(const Offer& offer, model::Options options) {
  PORTCULLIS_TRY_ASSIGN(auto listener, model::vfio_user::Listener::create(offer.path()));
  model::Uplink::Channels channels;
  for (const std::string& wire : offer.wires) {
    PORTCULLIS_TRY_ASSIGN(const model::WireSpec spec, model::WireSpec::parse(wire));
    PORTCULLIS_TRY_ASSIGN(auto channel, model::FrameChannel::open(spec));
    channels.push_back(std::move(channel));
  }
  PORTCULLIS_TRY_ASSIGN(
      const auto function,
      model::HcaFunction::create(std::move(options), std::move(channels),
                                 offer.shm.empty() ? model::Owner::Guest : model::Owner::Process));
  program::heed_stop_signals(stop_asked);
  std::cerr << "hca-server: listening on " << offer.path() << '\n';
  const auto log = [](std::string_view line) { std::cerr << "hca-server: " << line << '\n'; };
  if (offer.shm.empty()) return model::serve_clients(*function, listener, stop_asked, log);
  return model::serve_owners(*function, listener, std::chrono::milliseconds(offer.reset_delay_ms),
                             stop_asked, log);
}

Result<void> check_files(const model::Options& options, const std::string& profile,
                         const Offer& offer) {
  return program::check_outputs({{"--socket or --shm", offer.path()},
                                 {"--pcap", options.pcap_path},
                                 {"--trace", options.trace_path}},
                                {profile});
}

void add_offer(CLI::App& app, Offer& offer) {
  constexpr std::uint32_t kMostDelayMs = 20'000;  // who connects meanwhile waits as long
  auto* const where = app.add_option_group("where", "one of them")->require_option(1);
  where->add_option("--socket", offer.socket, "UNIX socket to listen on, for QEMU")
      ->type_name("PATH");
  auto* const shm =
      where->add_option("--shm", offer.shm,
                        "UNIX socket to listen on, for --device=shm:PATH of a\n"
                        "program on this host: it maps the BAR and shares its memory");
  shm->type_name("PATH");
  app.add_option("--reset-delay-ms", offer.reset_delay_ms,
                 "with --shm: how long the function goes on when its owner is gone, until it is\n"
                 "reset; 0 (default) to 20000")
      ->type_name("MS")
      ->check(CLI::Range(0U, kMostDelayMs))
      ->needs(shm);
}

void add_wires(CLI::App& app, Offer& offer) {
  app.add_option("--wire", offer.wires,
                 "join the port to a socket, as QEMU's -netdev dgram and stream speak:\n"
                 "dgram,local=ADDRESS,remote=ADDRESS | stream,listen=ADDRESS |\n"
                 "stream,connect=ADDRESS; an ADDRESS is HOST:PORT or a path with a '/'.\n"
                 "Several (Ethernet): the server is a switch that learns between them and its port")
      ->type_name("SPEC")
      ->allow_extra_args(false);
}

int act(int argc, char** argv) {
  CLI::App app{
      "A ConnectX-5 in software, offered to a virtual machine over vfio-user or to another "
      "process.",
      "hca-server"};
  std::string mac, port_type = "eth", profile;
  Offer offer;
  model::Options options;
  add_offer(app, offer);
  auto* const timing = app.add_option("--timing", options.timing,
                                      "how long commands take: " + joined(model::timing_names()))
                           ->type_name("NAME")
                           ->capture_default_str();
  app.add_option("--behaviour", options.behaviours, "findings and misbehaviour, listed below")
      ->type_name("NAME[=VALUE]+..")
      ->delimiter('+');
  auto* const port = app.add_option("--port-type", port_type,
                                    "eth: Ethernet with RoCEv2 (default); ib: InfiniBand")
                         ->type_name("eth|ib");
  auto* const vf =
      app.add_flag("--vf", options.virtual_function, "be a virtual function (15b3:1018)");
  app.add_option("--profile", profile,
                 "a bundle of first-light: answer as that device did (not with --timing,\n"
                 "--port-type, --vf)")
      ->type_name("BUNDLE")
      ->excludes(timing)
      ->excludes(port)
      ->excludes(vf);
  add_wires(app, offer);
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
             "From another process, which finds the function reset whenever it has had an owner:\n"
             "  hca-server --shm /tmp/hca &  leased --device=shm:/tmp/hca\n"
             "Two ports on one wire:\n"
             "  hca-server --socket a --wire stream,listen=/tmp/wire\n"
             "  hca-server --socket b --wire stream,connect=/tmp/wire --mac 02:50:43:00:00:02\n"
             "\nexit status: 0 it was told to stop, 1 bad arguments, or it could not be offered");
  const auto text = program::parse_arguments(app, {argv + 1, argv + argc});
  if (!text) return refuse(text.error());
  if (*text) {
    std::cout << **text;
    return 0;
  }

  if (const auto given = take_port(port_type, mac, options); !given) return refuse(given.error());
  if (!profile.empty())
    if (const auto taken = model::adopt_bundle(options, profile); !taken)
      return refuse(taken.error());
  if (const auto apart = check_files(options, profile, offer); !apart) return refuse(apart.error());
  options.on_recording_lost = program::note_lost_file;
  const auto served = run(offer, std::move(options));
  return served ? 0 : refuse(served.error());
}

}  // namespace

int main(int argc, char** argv) {
  return program::run_main("hca-server", [&] { return act(argc, argv); });
}
