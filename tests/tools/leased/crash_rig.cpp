// SPDX-License-Identifier: BSD-3-Clause
//
// What outlives leased when it is killed: the hardware, offered at a socket for --device=shm:, the
// clients that go on writing, and a judge of what their WRITEs may change. Whoever runs the test
// says what clients were told, a line each, and each line is answered by one:
//
//   crash_rig SOCKET RESET_DELAY_MS
//   addresses CLIENT_GID PORT_GID CLIENT_MAC PORT_MAC     (hexadecimal)
//   grant TAG OWN_QPN QPN PSN RKEY ADDRESS BYTES          a lease was granted; its client writes
//   meet TAG NONCE                                        it is challenged to write that (hex.)
//   end TAG PROVED                                        its outcome was told
//   landed TAG                                            how many of its WRITEs changed memory
//   moments landed, moments refused                       TAG NS of each such WRITE
//   report                                                counts, then what was wrong, `; ` between
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/hca_server/serve.hpp"
#include "tests/tools/leased/writers.hpp"

namespace {

using portcullis::testing::Addresses;
using portcullis::testing::Judge;
using portcullis::testing::Moment;
using portcullis::testing::Target;
using portcullis::testing::Writers;
namespace model = portcullis::model;

template <class Bytes>
void read_hex(std::istream& from, Bytes& bytes) {
  std::string text;
  from >> text;
  for (std::size_t i = 0; i < bytes.size() && 2 * i + 1 < text.size(); ++i)
    bytes[i] =
        static_cast<typename Bytes::value_type>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
}

std::string report_of(const Writers& writers, const Judge& judge) {
  const Judge::Report report = judge.report();
  std::ostringstream text;
  text << writers.sent() << ' ' << report.landed << ' ' << report.landed_orphaned << ' '
       << report.owners << ' ' << report.resets << ' ';
  for (const std::string& wrong : report.wrong) text << wrong << "; ";
  return text.str();
}

std::string text_of(const std::vector<Moment>& moments) {
  std::ostringstream text;
  text << moments.size();
  for (const Moment& each : moments) text << ' ' << each.tag << ' ' << each.ns;
  return text.str();
}

std::string answer(const std::string& line, Writers& writers, Judge& judge) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  std::uint64_t tag = 0;
  if (what == "addresses") {
    Addresses addresses;
    read_hex(words, addresses.client_gid);
    read_hex(words, addresses.port_gid);
    read_hex(words, addresses.client_mac);
    read_hex(words, addresses.port_mac);
    writers.set_addresses(addresses);
  } else if (what == "grant") {
    Target target;
    words >> target.tag >> target.own_qpn >> target.qpn >> target.psn >> target.rkey >>
        target.address >> target.bytes;
    judge.grant(target.tag);
    writers.add(target);
  } else if (what == "meet") {
    words >> tag;
    std::array<std::uint8_t, 8> nonce{};
    read_hex(words, nonce);
    writers.meet(tag, std::bit_cast<std::uint64_t>(nonce));
  } else if (what == "end") {
    bool is_proved = false;
    words >> tag >> is_proved;
    judge.end(tag, is_proved);
  } else if (what == "landed") {
    words >> tag;
    return std::to_string(judge.landed_of(tag));
  } else if (what == "moments") {
    words >> what;
    return text_of(what == "refused" ? writers.refused() : judge.landed());
  } else if (what == "report") {
    return report_of(writers, judge);
  }
  return words.fail() || what.empty() ? "not understood" : "ok";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return EXIT_FAILURE;
  auto channel = std::make_unique<Writers>();
  Writers& writers = *channel;
  Judge judge;
  auto function = model::HcaFunction::create({}, model::Uplink::only(std::move(channel)),
                                             model::Owner::Process);
  auto listener = model::vfio_user::Listener::create(argv[1]);
  if (!function || !listener) return EXIT_FAILURE;
  (*function)->observe_dma(&judge);
  std::atomic<bool> stop{false};
  std::thread hardware([&] {
    static_cast<void>(model::serve_owners(**function, *listener,
                                          std::chrono::milliseconds(std::stoul(argv[2])), stop,
                                          [&judge](std::string_view line) {
                                            if (line.starts_with("owner connected"))
                                              judge.owner(true);
                                            if (line.starts_with("owner gone")) judge.owner(false);
                                            if (line.starts_with("function reset")) judge.reset();
                                          }));
  });
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(line, writers, judge) << std::endl;
  stop = true;
  hardware.join();
  return EXIT_SUCCESS;
}
