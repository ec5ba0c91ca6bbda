// SPDX-License-Identifier: BSD-3-Clause
//
// devx-loopback DEVICE [WRITES]: two queue pairs of our own on a port that Linux's mlx5_ib keeps,
// InfiniBand or RoCE, with WRITEs between them whose bytes are looked at, then a key that is
// destroyed under its writer. Scenarios devx and roce run it; what it prints is what they look for.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "attach/port.hpp"
#include "base/dma_bytes.hpp"
#include "devx/function.hpp"
#include "devx/libmlx5.hpp"
#include "pmd/memory_key.hpp"
#include "pmd/queue_pair.hpp"

namespace portcullis::testing {
namespace {

constexpr std::size_t kRegionBytes = std::size_t{1} << 20;
constexpr std::uint32_t kLogEntries = 6;
constexpr std::size_t kLine = 64;

/// What a lease would own.
struct Owned {
  static Result<Owned> make(const pmd::Context& context) {
    constexpr pmd::Access kAccess{.local_write = true, .remote_write = true};
    PORTCULLIS_TRY_ASSIGN(auto pd, pmd::ProtectionDomain::create(context));
    PORTCULLIS_TRY_ASSIGN(auto cq, pmd::CompletionQueue::create(context, kLogEntries + 1));
    PORTCULLIS_TRY_ASSIGN(auto qp, pmd::QueuePair::create(context, pd, cq, {kLogEntries}));
    PORTCULLIS_TRY_ASSIGN(auto memory, DmaMemory::create(*context.device.dma, kRegionBytes));
    PORTCULLIS_TRY_ASSIGN(
        auto key,
        pmd::MemoryKey::create_mtt(context, pd, pmd::MemoryRange::zero_based(memory), kAccess));
    PORTCULLIS_TRY(qp.to_init(kAccess));
    return Owned{std::move(pd), std::move(cq), std::move(qp), std::move(memory), std::move(key)};
  }
  Result<void> connect(prm::QpNumber peer, const pmd::RocePath& path) {
    pmd::RtrAttributes rtr;
    rtr.path = path;
    rtr.remote_qpn = peer;
    PORTCULLIS_TRY(qp.to_rtr(rtr));
    return qp.to_rts({.timeout = 14, .retry_count = 7});
  }

  pmd::ProtectionDomain pd;
  pmd::CompletionQueue cq;
  pmd::QueuePair qp;
  DmaMemory memory;
  pmd::MemoryKey key;
};

Result<pmd::Completion> write(Owned& client, const Owned& server, std::uint64_t offset,
                              const std::vector<std::byte>& line, std::uint64_t until_ns) {
  PORTCULLIS_TRY(client.qp.post_write_inline(line, {offset, server.key.rkey(), offset, true}));
  client.qp.ring();
  return client.cq.wait(until_ns);
}

Result<void> run(const std::string& name, std::uint64_t writes) {
  PORTCULLIS_TRY_ASSIGN(auto provider, devx::open_libmlx5(name));
  devx::KeptNic nic(std::move(provider), "devx " + name);
  PORTCULLIS_TRY_ASSIGN(const auto function, devx::Function::open(nic, nic.device()));
  const pmd::Context& context = function->context();
  const auto soon = [&] { return context.device.clock.now_ns() + 30 * kNsPerSecond; };
  PORTCULLIS_TRY_ASSIGN(const attach::Port port, attach::Port::create(context, {}));
  PORTCULLIS_TRY_ASSIGN(Owned client, Owned::make(context));
  PORTCULLIS_TRY_ASSIGN(Owned server, Owned::make(context));
  PORTCULLIS_TRY(client.connect(server.qp.number(), port.path()));
  PORTCULLIS_TRY(server.connect(client.qp.number(), port.path()));
  for (std::uint64_t i = 0; i < writes; ++i) {
    const std::uint64_t offset = i * kLine % kRegionBytes;
    const std::vector<std::byte> line(kLine, static_cast<std::byte>(i));
    PORTCULLIS_TRY_ASSIGN(const auto done, write(client, server, offset, line, soon()));
    if (!done.ok()) return fail(Errc::CommandFailed, describe(done));
    if (dma_peek(server.memory.bytes().data() + offset + kLine - 1) != line.back())
      return fail(Errc::Malformed, fmt::format("WRITE {} is not in memory", i));
  }
  fmt::print("{} WRITEs of {} B by DevX landed\n", writes, kLine);
  PORTCULLIS_TRY(server.key.destroy());
  PORTCULLIS_TRY_ASSIGN(const auto refused,
                        write(client, server, 0, std::vector<std::byte>(kLine), soon()));
  fmt::print("after DESTROY_MKEY: {}\n", describe(refused));
  return {};
}

}  // namespace
}  // namespace portcullis::testing

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: devx-loopback DEVICE [WRITES]\n");
    return 2;
  }
  const auto done =
      portcullis::testing::run(argv[1], argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 1000);
  if (done) return 0;
  fmt::print(stderr, "devx-loopback: {}\n", done.error().text);
  return 1;
}
