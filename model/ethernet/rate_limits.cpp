// SPDX-License-Identifier: BSD-3-Clause
#include "model/ethernet/rate_limits.hpp"

#include <algorithm>

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t { kNoSuchEntry = 0xe30001, kRate };

constexpr std::uint64_t kFcsBytes = 4;
/// A bit at 1 kbit/s takes so long.
constexpr std::uint64_t kNsPerBit = 1'000'000;
/// A queue that waited goes on where it was due, though it is woken later: as far as this. The
/// server looks at its clock once a millisecond (docs/hca-server.md), and a busy machine lets it
/// wait.
constexpr std::uint64_t kLatestWakeNs = 5'000'000;

std::uint64_t work_of(std::uint64_t bytes) noexcept { return bytes * 8 * kNsPerBit; }

}  // namespace

Verdict RateLimits::check(std::uint32_t index, std::uint32_t entries) {
  if (index != 0 && index >= std::min(entries, kEntries))
    return refuse(CommandStatus::IX_ERR, kNoSuchEntry);
  return {};
}

Verdict RateLimits::set(prm::ConstView<prm::set_pp_rate_limit_in> in, std::uint32_t entries) {
  const std::uint32_t index = in.get<"rate_limit_index">();
  if (index == 0) return refuse(CommandStatus::IX_ERR, kNoSuchEntry);
  if (const Verdict verdict = check(index, entries); !verdict.ok()) return verdict;
  const std::uint32_t kbps = in.get<"ctx.rate_limit">();
  if (kbps > kMostKbps) return refuse(CommandStatus::BAD_PARAM_ERR, kRate);
  limits_[index] = {kbps, kbps == 0 ? 0 : in.get<"ctx.burst_upper_bound">()};
  return {};
}

std::uint64_t QueuePace::wait_until_ns(const RateLimit& limit, std::uint64_t frame_bytes,
                                       std::uint64_t now_ns) {
  if (limit.kbps == 0) return 0;
  const std::uint64_t frame = frame_bytes + kFcsBytes;
  const std::uint64_t ahead = limit.burst_bytes > frame ? limit.burst_bytes - frame : 0;
  const std::uint64_t due = empty_ns_ - std::min(empty_ns_, work_of(ahead) / limit.kbps);
  if (due <= now_ns) return 0;
  has_waited_ = true;
  return due;
}

void QueuePace::spend(const RateLimit& limit, std::uint64_t frame_bytes, std::uint64_t now_ns) {
  if (limit.kbps == 0) return;
  const std::uint64_t late = has_waited_ ? kLatestWakeNs : 0;
  if (empty_ns_ + late < now_ns) {
    empty_ns_ = now_ns;
    rest_ = 0;
  }
  const std::uint64_t work = work_of(frame_bytes + kFcsBytes) + rest_;
  empty_ns_ += work / limit.kbps;
  rest_ = work % limit.kbps;
  // The next one makes up for the same wake, as long as it lasts.
  has_waited_ = has_waited_ && empty_ns_ <= now_ns;
}

}  // namespace portcullis::model
