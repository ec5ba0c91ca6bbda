// SPDX-License-Identifier: BSD-3-Clause
//
// A driver that posts anything: any bytes in send and receive queue, any producer index. Whatever
// it asks for, memory under keys that give no right stays as it is, every completion is one of the
// queue pair's, and the device goes on. libFuzzer drives it in the asan build; elsewhere
// corpus_test.cpp runs the corpus once.
//
// An input is a header (see Setup) and the bytes of the send queue, then those of the receive
// queue.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tests/model/transport/rig.hpp"

namespace {

using namespace portcullis::model;
namespace prm = portcullis::prm;
using namespace portcullis::model::testing;

constexpr std::uint32_t kQpn = 0x40;
constexpr std::uint32_t kLogBlocks = 4;
constexpr std::size_t kQueueBytes = prm::kSendWqeBlockBytes << kLogBlocks;

/// As make_corpus.py packs it.
struct [[gnu::packed]] Setup {
  std::uint8_t flags;      // 1: number and index of every WQE are put right, 2: a REG_UMR QP
  std::uint16_t producer;  // of the send queue
  std::uint16_t receives;
};

void require(bool held) {
  if (!held) std::abort();
}

/// Whether any block may be taken for a UMR, which may give rights and move keys as it likes.
bool may_change_keys(std::span<const std::byte> queue) {
  constexpr std::size_t kOpcodeByte = 3;
  for (std::size_t at = kOpcodeByte; at < queue.size(); at += prm::kSendWqeBlockBytes)
    if (queue[at] == std::byte{prm::number(prm::WqeOpcode::UMR)}) return true;
  return false;
}

/// Where a WQE would begin, its control segment says so.
void put_right(std::span<std::byte> queue) {
  for (std::size_t block = 0; block * prm::kSendWqeBlockBytes < queue.size();) {
    const auto ctrl = prm::View<prm::mlx5_wqe_ctrl_seg>::at(queue, block * prm::kSendWqeBlockBytes);
    const auto word = ctrl.get<"opmod_idx_opcode">();
    const std::uint32_t ds = std::max(1U, prm::wqe_ds(ctrl.get<"qpn_ds">()));
    ctrl.put<"opmod_idx_opcode">(prm::opmod_idx_opcode(
        prm::wqe_opcode(word), static_cast<std::uint16_t>(block), prm::wqe_opmod(word)));
    ctrl.put<"qpn_ds">(prm::qpn_ds(kQpn, ds));
    block += prm::wqe_blocks(ds);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Setup setup{};
  if (size < sizeof setup) return 0;
  std::memcpy(&setup, data, sizeof setup);
  const auto input = std::as_bytes(std::span(data, size)).subspan(sizeof setup);

  Host host;
  const Region shared = host.map(8192);
  const Region guarded = host.map(8192);
  fill_pattern(guarded.bytes, 3);
  const std::vector<std::byte> pattern(guarded.bytes.begin(), guarded.bytes.end());
  // The keys are 0x25a and 0x35a: inputs may name them.
  static_cast<void>(host.make_key(shared, access::kRemoteWrite | access::kRemoteRead |
                                              access::kLocalWrite | access::kLocalRead));
  static_cast<void>(host.make_key(guarded, access::kLocalRead | access::kRemoteRead));
  QpOptions options{.log_sq_size = kLogBlocks, .log_rq_size = 2, .ack_timeout = 8};
  if ((setup.flags & 2) != 0) options.service = prm::QpServiceType::REG_UMR;
  host.connect(kQpn, kQpn, options);

  const auto sends = host.send_queue(kQpn).first(kQueueBytes);
  const auto receives = host.receive_queue(kQpn);
  std::ranges::copy(input.first(std::min(input.size(), sends.size())), sends.begin());
  if (input.size() > sends.size()) {
    const auto rest = input.subspan(sends.size());
    std::ranges::copy(rest.first(std::min(rest.size(), receives.size())), receives.begin());
  }
  if ((setup.flags & 1) != 0) put_right(sends);
  host.set_receive_record(kQpn, setup.receives);
  host.set_record(kQpn, setup.producer);
  host.transport().kick_uar(kUar);
  host.run_until(100'000'000);

  for (const Cqe& cqe : host.drain_cq()) require(cqe.qpn == kQpn);
  require(may_change_keys(sends) || std::ranges::equal(pattern, guarded.bytes));
  require(host.transport().destroy_qp(kQpn).ok());
  host.run();
  return 0;
}
