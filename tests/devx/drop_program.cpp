// SPDX-License-Identifier: BSD-3-Clause
//
// devx-drop DEVICE [hold]: the DROP entry of RDMA_RX on a port that Linux's mlx5_ib keeps, through
// a flow table of DevX that a rule of the kernel's leads into. WRITEs before it, under it and
// behind it, and beside it those of another QP. With "hold" it says so once the entry stands and
// waits to be killed. Scenario devx_drop runs it; what it prints is what that looks
// for.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attach/port.hpp"
#include "devx/function.hpp"
#include "devx/libmlx5.hpp"
#include "steering/flow_drop.hpp"
#include "steering/loopback_pair.hpp"

namespace portcullis::testing {
namespace {

constexpr std::uint64_t kQuietNs = 60 * kNsPerMs;
constexpr std::uint64_t kSoonNs = 30 * kNsPerSecond;

using Pair = std::unique_ptr<steering::LoopbackPair>;

Result<void> lands(steering::LoopbackPair& pair, std::uint64_t value, std::string_view what) {
  PORTCULLIS_TRY_ASSIGN(const auto ended, pair.outcome(kSoonNs));
  if (ended != prm::WcStatus::SUCCESS)
    return fail(Errc::CommandFailed,
                fmt::format("{}: {}", what, ended ? prm::name(*ended) : "nothing came of it"));
  if (pair.word() != value) return fail(Errc::Malformed, fmt::format("{}: not in memory", what));
  fmt::print("{}: landed\n", what);
  return {};
}

Result<void> is_silenced(steering::LoopbackPair& pair, std::uint64_t before) {
  PORTCULLIS_TRY_ASSIGN(const auto ended, pair.outcome(kQuietNs));
  if (ended)
    return fail(Errc::CommandFailed, fmt::format("under the entry: {}", prm::name(*ended)));
  if (pair.word() != before) return fail(Errc::CommandFailed, "under the entry: memory changed");
  fmt::print("under the entry: silence, and memory is as it was\n");
  return {};
}

/// Entries that come and go, and how long the longest took.
Result<void> come_and_go(steering::DropRule& drop, const steering::DropTarget& target,
                         const Clock& clock) {
  constexpr int kRounds = 32;
  std::uint64_t longest_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t start_ns = clock.now_ns();
    PORTCULLIS_TRY(drop.install(target, start_ns + kSoonNs));
    PORTCULLIS_TRY(drop.remove(target, clock.now_ns() + kSoonNs));
    longest_ns = std::max(longest_ns, clock.now_ns() - start_ns);
  }
  fmt::print("{} entries came and went, the longest in {} us\n", kRounds, longest_ns / kNsPerUs);
  return {};
}

Result<void> run(const std::string& name, bool holds) {
  PORTCULLIS_TRY_ASSIGN(auto provider, devx::open_libmlx5(name));
  devx::KeptNic nic(std::move(provider), "devx " + name);
  PORTCULLIS_TRY_ASSIGN(const auto function, devx::Function::open(nic, nic.device()));
  const pmd::Context& context = function->context();
  PORTCULLIS_TRY_ASSIGN(const attach::Port port, attach::Port::create(context, {}));
  steering::FlowDrop::Options wanted;
  wanted.choice = {steering::Choice::Kind::One, steering::Shape::DstQp};
  wanted.loopback = port.path();
  PORTCULLIS_TRY_ASSIGN(const auto drop, steering::FlowDrop::set_up(context, wanted, {}));
  fmt::print("{}\n", drop->describe());
  const auto soon = [&context] { return context.device.clock.now_ns() + kSoonNs; };
  PORTCULLIS_TRY_ASSIGN(const Pair pair, steering::LoopbackPair::create(context, port.path()));
  PORTCULLIS_TRY_ASSIGN(const Pair other, steering::LoopbackPair::create(context, port.path()));
  PORTCULLIS_TRY(pair->post(1));
  PORTCULLIS_TRY(lands(*pair, 1, "before the entry"));
  PORTCULLIS_TRY(drop->install(pair->target(0), soon()));
  PORTCULLIS_TRY(pair->post(2));
  PORTCULLIS_TRY(is_silenced(*pair, 1));
  PORTCULLIS_TRY(other->post(3));
  PORTCULLIS_TRY(lands(*other, 3, "another QP beside it"));
  if (holds) {
    fmt::print("holding\n");
    std::fflush(stdout);
    constexpr unsigned kLongS = 600;
    sleep(kLongS);
  }
  PORTCULLIS_TRY(drop->remove(pair->target(0), soon()));
  PORTCULLIS_TRY(lands(*pair, 2, "the entry taken away"));
  return come_and_go(*drop, pair->target(0), context.device.clock);
}

}  // namespace
}  // namespace portcullis::testing

int main(int argc, char** argv) {
  const bool holds = argc == 3 && std::string_view(argv[2]) == "hold";
  if (argc != 2 && !holds) {
    fmt::print(stderr, "usage: devx-drop DEVICE [hold]\n");
    return 2;
  }
  const auto done = portcullis::testing::run(argv[1], holds);
  if (done) return 0;
  std::fflush(stdout);  // what was seen before comes first
  fmt::print(stderr, "devx-drop: {}\n", done.error().text);
  return 1;
}
