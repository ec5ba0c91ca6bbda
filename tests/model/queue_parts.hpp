// SPDX-License-Identifier: BSD-3-Clause
//
// What a test of queues needs beside them, made by the tables themselves and no command: a CQ with
// its EQ, and a key over all memory.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "model/cq.hpp"
#include "model/eq.hpp"
#include "model/mkey.hpp"
#include "prm/view.hpp"

namespace portcullis::model::testing {

/// Where a CQ and its EQ stand.
struct CqPlaces {
  std::uint32_t uar = 0;
  std::uint32_t log_size = 0;
  Iova eq = 0;
  Iova cq = 0;
  Iova record = 0;
};
/// The CQ's number.
[[nodiscard]] inline std::uint32_t make_cq(EqTable& eqs, CqTable& cqs, const CqPlaces& places) {
  prm::Buffer<prm::eqc> eq;
  eq.set<"log_eq_size", 2>().put<"uar_page">(places.uar);
  const std::array<std::byte, 32> mask{};
  std::uint32_t eqn = 0;
  EXPECT_TRUE(eqs.create(prm::ConstView<prm::eqc>{eq.all()}, mask, {places.eq}, eqn).ok());
  prm::Buffer<prm::cqc> cq;
  cq.put<"log_cq_size">(places.log_size).put<"uar_page">(places.uar);
  cq.put<"c_eqn_or_apu_element">(eqn).put<"dbr_addr">(places.record);
  std::uint32_t cqn = 0;
  EXPECT_TRUE(cqs.create(prm::ConstView<prm::cqc>{cq.all()}, {places.cq}, cqn).ok());
  return cqn;
}

/// By IOVA, for local reads and writes in that domain.
[[nodiscard]] inline std::uint32_t make_lkey(MkeyTable& mkeys, std::uint32_t pd) {
  prm::Buffer<prm::mkc> context;
  context.put<"access_mode_1_0">(prm::MkcAccessMode::PA).set<"lr", 1>().set<"lw", 1>();
  context.put<"qpn">(prm::kMkcQpnAny).put<"pd">(pd).set<"length64", 1>();
  std::uint32_t index = 0;
  EXPECT_TRUE(mkeys.create({prm::ConstView<prm::mkc>{context.all()}, false, 0, {}}, index).ok());
  return index << 8;
}

}  // namespace portcullis::model::testing
