// SPDX-License-Identifier: BSD-3-Clause
//
// One revoke after the other by whoever is not the holder, on a server that has nothing else to do:
// how long its answer takes, and when the holder hears of it.
#pragma once

#include <cstdint>

#include "base/histogram.hpp"
#include "base/result.hpp"
#include "bench/service/baselines.hpp"
#include "bench/service/fleet.hpp"

namespace portcullis::bench {

class SingleRevokes {
 public:
  [[nodiscard]] static Result<SingleRevokes> connect(const LeasedProcess& leased,
                                                     Transport transport);

  /// From before the request is sent until its answer is read; the holder is looked after between.
  [[nodiscard]] Result<void> measure(std::uint64_t samples, Pace pace, Histogram& revoke);

  struct Notices {
    Histogram behind;           // the answer; 0 for one that came before it
    std::uint64_t earlier = 0;  // than the answer
  };
  /// Holder and revoker on threads of their own, each woken by what it waits for.
  [[nodiscard]] Result<Notices> measure_notices(std::uint64_t samples);

 private:
  SingleRevokes(Fleet holder, Fleet revoker)
      : holder_(std::move(holder)), revoker_(std::move(revoker)) {}
  [[nodiscard]] Result<wire::RevokeRequest> grant();
  [[nodiscard]] Result<std::uint64_t> revoke(const wire::RevokeRequest& lease);
  [[nodiscard]] Result<std::uint64_t> hear_of_end(const wire::RevokeRequest& lease);

  Fleet holder_;
  Fleet revoker_;
  std::uint64_t next_request_ = 1'000;
};

}  // namespace portcullis::bench
