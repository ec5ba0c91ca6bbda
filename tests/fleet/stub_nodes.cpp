// SPDX-License-Identifier: BSD-3-Clause
//
// Many nodes that hold nothing, in one process: each is leased's code for etcd in a thread of its
// own, and answers a fence at once. For what a fleet of that size is to an etcd.
//
//   stub_nodes URL[,URL] NODES SESSION_S FOLDER
//
// Prints "joined NODES" once all have, and goes on until its standard input ends.
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "fleet/node.hpp"

namespace {

using portcullis::Result;
using portcullis::UniqueFd;
namespace fleet = portcullis::fleet;

std::atomic<std::uint64_t> joined{0};
std::atomic<bool> stop{false};

class StubNode {
 public:
  static Result<std::unique_ptr<StubNode>> create(const fleet::EtcdOptions& etcd,
                                                  const std::filesystem::path& folder,
                                                  std::uint64_t number, std::uint64_t session_s) {
    std::unique_ptr<StubNode> stub(new StubNode);
    const std::string name = "node-" + std::to_string(number);
    PORTCULLIS_TRY_ASSIGN(auto memory, fleet::NodeMemory::open(folder / name));
    fleet::NodeListener listener;
    listener.lives = [self = stub.get()](std::uint64_t, std::uint64_t) { self->count(); };
    listener.is_out = [](const std::string&) {};
    listener.fence = [self = stub.get()](std::uint64_t tenant, std::uint64_t epoch) {
      self->fenced_.emplace_back(tenant, epoch);
      self->wake();
    };
    PORTCULLIS_TRY_ASSIGN(
        stub->node_,
        fleet::Node::create(etcd, std::move(memory),
                            {.name = name,
                             .ttl_s = session_s,
                             .about = {.incarnation = number + 1, .device = "none", .slots = 1}},
                            std::move(listener)));
    return stub;
  }
  StubNode(const StubNode&) = delete;
  StubNode& operator=(const StubNode&) = delete;
  ~StubNode() {
    if (thread_.joinable()) thread_.join();
  }

  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void wake() { (void)::eventfd_write(wake_.get(), 1); }

 private:
  StubNode() = default;
  void count() {
    if (std::exchange(has_joined_, true)) return;
    ++joined;
    joined.notify_one();
  }
  void run() {
    while (!stop) {
      eventfd_t woken = 0;
      (void)::eventfd_read(wake_.get(), &woken);
      for (const auto& [tenant, epoch] : std::exchange(fenced_, {}))
        node_->fenced(tenant, epoch, 0, 0);
      node_->work(wake_.get());
    }
  }

  UniqueFd wake_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> fenced_;
  bool has_joined_ = false;
  std::unique_ptr<fleet::Node> node_;
  std::thread thread_;
};

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

int fail(const std::string& why) {
  std::fprintf(stderr, "stub_nodes: %s\n", why.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return fail("URL[,URL] NODES SESSION_S FOLDER");
  const auto endpoints = fleet::parse_endpoints(argv[1]);
  const std::uint64_t nodes = number_of(argv[2]);
  const std::uint64_t session_s = number_of(argv[3]);
  if (!endpoints) return fail(endpoints.error().text);
  if (nodes == 0 || session_s == 0) return fail("NODES and SESSION_S: a number above 0");
  std::vector<std::unique_ptr<StubNode>> stubs;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    auto stub =
        StubNode::create({.endpoints = *endpoints, .deadline_ms = 30'000}, argv[4], i, session_s);
    if (!stub) return fail(stub.error().text);
    stubs.push_back(std::move(*stub));
  }
  for (const auto& each : stubs) each->start();
  for (std::uint64_t now = joined; now < nodes; now = joined) joined.wait(now);
  std::printf("joined %llu\n", static_cast<unsigned long long>(nodes));
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  stop = true;
  for (const auto& each : stubs) each->wake();
  return 0;
}
