// SPDX-License-Identifier: BSD-3-Clause
//
// What flow steering forwards to: transport domains, receive queues (RQ) and the TIR in front of
// one. A frame for a TIR goes whole into the oldest receive of its RQ, as a raw packet QP of
// mlx5_ib takes it (create_raw_packet_qp_rq, create_raw_packet_qp_tir); with nothing posted it is
// lost. Of the TIRs only the direct ones are here: no hashing, no RQ table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "model/cq.hpp"
#include "model/dma.hpp"
#include "model/domains.hpp"
#include "model/id_table.hpp"
#include "model/mkey.hpp"
#include "model/receive_ring.hpp"
#include "model/references.hpp"
#include "model/scheduler.hpp"
#include "model/transport/receive_queue.hpp"
#include "model/verdict.hpp"
#include "prm/receive_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

class ReceiveTargets {
 public:
  static constexpr std::uint32_t kLogMaxDomain = 10;
  static constexpr std::uint32_t kLogMaxRq = 16;
  static constexpr std::uint32_t kLogMaxTir = 16;

  struct Deps {
    Dma* dma = nullptr;
    const MkeyTable* mkeys = nullptr;
    CqTable* cqs = nullptr;
    const Scheduler* scheduler = nullptr;
    std::uint64_t* lost = nullptr;  // frames without a place
  };
  explicit ReceiveTargets(const Deps& deps) noexcept : deps_(deps) {}

  // Commands: model/commands_receive.cpp has looked at PD and CQ, and at who forwards to a TIR.
  /// `pas` is the list behind the context.
  Verdict create_rq(prm::ConstView<prm::rqc> context, std::span<const std::byte> pas,
                    std::uint32_t& number);
  Verdict modify_rq(prm::ConstView<prm::modify_rq_in> in);
  /// `pd` and `cqn` are those that it held.
  Verdict destroy_rq(std::uint32_t number, std::uint32_t& pd, std::uint32_t& cqn);
  Verdict create_tir(prm::ConstView<prm::tirc> context, std::uint32_t& number);
  Verdict destroy_tir(std::uint32_t number);

  [[nodiscard]] Domains& domains() noexcept { return domains_; }
  [[nodiscard]] bool has_tir(std::uint32_t number) const noexcept { return tirs_.contains(number); }
  /// A frame that an entry forwards to `tirn`.
  void deliver(std::uint32_t tirn, std::span<const std::byte> frame);

  void clear();
  [[nodiscard]] std::size_t rqs() const noexcept { return rqs_.size(); }
  [[nodiscard]] std::size_t tirs() const noexcept { return tirs_.size(); }

 private:
  struct Rq {
    prm::RqState state = prm::RqState::RST;
    std::uint32_t pd = 0;
    std::uint32_t cqn = 0;
    std::uint32_t user_index = 0;
    Iova record = 0;
    ReceiveRing ring;
    std::uint16_t consumed = 0;  // receives
  };
  struct Tir {
    std::uint32_t rqn = 0;
    std::uint32_t domain = 0;
  };

  /// False when a key or the memory behind it does not allow it.
  bool scatter(const Rq& rq, std::span<const ReceivePiece> pieces,
               std::span<const std::byte> frame);

  Deps deps_;
  Domains domains_{kLogMaxDomain};
  std::unordered_map<std::uint32_t, Rq> rqs_;
  std::unordered_map<std::uint32_t, Tir> tirs_;
  References rq_references_;
  IdAllocator rq_ids_{1, 1U << kLogMaxRq};
  IdAllocator tir_ids_{1, 1U << kLogMaxTir};
};

}  // namespace portcullis::model
