// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/fence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

using prm::WcStatus;

constexpr std::uint32_t kTimeoutMs = 10000;
constexpr std::chrono::milliseconds kAftermath{50};  // how long a late write is waited for

/// Source and target, and the pair between them. The source holds one message for each WRITE, and
/// no two of them, nor the target at first, agree in a byte.
struct Scene {
  explicit Scene(const Options& options)
      : bytes(options.bytes),
        source(std::size_t{options.bytes} * (options.writes + 1)),
        target(options.bytes) {
    const auto all = source.bytes();
    for (std::size_t at = 0; at < all.size(); ++at)
      all[at] = static_cast<std::byte>(1 + at / bytes + at % bytes * 64);
  }

  /// The WRITE of message `index`.
  [[nodiscard]] Write message(std::uint32_t index) const {
    return {source.address() + std::uint64_t{index} * bytes, source_key->lkey, target.address(),
            target_rkey, bytes};
  }
  [[nodiscard]] std::uint64_t differing_from(std::span<const std::byte> other) const {
    const auto now = target.bytes().first(bytes);
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < bytes; ++at) count += now[at] != other[at] ? 1 : 0;
    return count;
  }

  std::uint32_t bytes;
  Memory source;
  Memory target;
  Owned<ibv_mr> source_key;
  Owned<ibv_mr> target_key;
  std::uint32_t target_rkey = 0;
  std::unique_ptr<CompletionQueue> completions;  // goes after the queue pairs
  std::unique_ptr<QueuePair> requester;
  std::unique_ptr<QueuePair> responder;
};

Result<void> set(Device& device, const Port& port, const EventQueue& events, Scene& scene) {
  PORTCULLIS_TRY_ASSIGN(scene.source_key, device.create_key(scene.source));
  PORTCULLIS_TRY_ASSIGN(scene.target_key, device.create_key(scene.target));
  scene.target_rkey = scene.target_key->rkey;
  PORTCULLIS_TRY_ASSIGN(scene.completions, CompletionQueue::create(device, events.number()));
  PORTCULLIS_TRY_ASSIGN(scene.requester, QueuePair::create(device, *scene.completions));
  PORTCULLIS_TRY_ASSIGN(scene.responder, QueuePair::create(device, *scene.completions));
  PORTCULLIS_TRY(scene.responder->connect(port, scene.requester->number()));
  return scene.requester->connect(port, scene.responder->number());
}

/// One WRITE: its event, its completion, its bytes.
Result<void> check_write(Scene& scene, EventQueue& events) {
  scene.completions->arm(0);
  scene.requester->post(scene.message(0));
  PORTCULLIS_TRY_ASSIGN(const auto event, events.wait(kTimeoutMs));
  const auto completion = prm::ConstView<prm::comp_event>::at(event.bytes<"event_data">());
  if (event.get<"event_type">() != prm::number(prm::EventType::COMP) ||
      completion.get<"cq_number">() != scene.completions->number())
    return fail(Errc::DeviceFailed,
                fmt::format("event type {:#x} of CQ {:#x}, expected a completion of CQ {:#x}",
                            event.get<"event_type">(), completion.get<"cq_number">(),
                            scene.completions->number()));
  PORTCULLIS_TRY_ASSIGN(const Completion done, scene.completions->wait(kTimeoutMs));
  if (done.status != WcStatus::SUCCESS)
    return fail(Errc::DeviceFailed,
                fmt::format("the first WRITE ended with {}", prm::name(done.status)));
  const std::uint64_t wrong = scene.differing_from(scene.source.bytes().first(scene.bytes));
  if (wrong != 0)
    return fail(Errc::DeviceFailed, fmt::format("{} of {} bytes of the first WRITE did not arrive",
                                                wrong, scene.bytes));
  return {};
}

/// Takes `count` completions into the report. `started_ns` is when the fence began.
Result<void> drain(Scene& scene, std::uint32_t count, std::uint64_t started_ns,
                   FenceReport& report) {
  for (std::uint32_t i = 0; i < count; ++i) {
    PORTCULLIS_TRY_ASSIGN(const Completion done, scene.completions->wait(kTimeoutMs));
    if (done.status == WcStatus::SUCCESS) {
      ++report.written;
    } else if (report.first_failure == WcStatus::SUCCESS) {
      report.first_failure = done.status;
      report.failure_ms = (Clock::wall().now_ns() - started_ns) / kNsPerMs;
    } else {
      ++(done.status == WcStatus::WR_FLUSH_ERR ? report.flushed : report.other_failures);
    }
  }
  return {};
}

/// With WRITEs outstanding, the commands in their order. Bytes count from DESTROY_MKEY's answer on.
Result<void> fence(Device& device, Scene& scene, std::uint32_t writes, FenceReport& report) {
  for (std::uint32_t i = 1; i < writes; ++i) scene.requester->post(scene.message(i));
  const std::uint64_t started_ns = Clock::wall().now_ns();
  if (report.order == FenceOrder::QpFirst) PORTCULLIS_TRY(scene.responder->to_error());
  PORTCULLIS_TRY(device.destroy_key(scene.target_key));
  const auto target = scene.target.bytes().first(scene.bytes);
  const std::vector<std::byte> fenced(target.begin(), target.end());

  scene.requester->post(scene.message(writes));  // one that is certain to come too late
  PORTCULLIS_TRY(drain(scene, writes, started_ns, report));
  if (report.order == FenceOrder::KeyFirst) PORTCULLIS_TRY(scene.responder->to_error());
  std::this_thread::sleep_for(kAftermath);
  report.changed_bytes = scene.differing_from(fenced);
  return {};
}

}  // namespace

std::string_view text_of(FenceOrder order) noexcept {
  return order == FenceOrder::QpFirst ? "2ERR_QP, then DESTROY_MKEY" : "DESTROY_MKEY, then 2ERR_QP";
}

WcStatus expected_of(FenceOrder order) noexcept {
  return order == FenceOrder::QpFirst ? WcStatus::RETRY_EXC_ERR : WcStatus::REM_ACCESS_ERR;
}

bool FenceReport::as_expected() const noexcept {
  return first_failure == expected_of(order) && changed_bytes == 0 && other_failures == 0;
}

std::string FenceReport::text() const {
  return fmt::format(
      "{}: {} WRITEs done, then status {} ({}) after {} ms, {} flushed; {} bytes changed later",
      text_of(order), written, static_cast<int>(first_failure), prm::name(first_failure),
      failure_ms, flushed, changed_bytes);
}

Result<FenceReport> run_fence(Device& device, const Port& port, EventQueue& events,
                              const Options& options, FenceOrder order) {
  FenceReport report;
  report.order = order;
  Scene scene(options);
  PORTCULLIS_TRY(set(device, port, events, scene));
  PORTCULLIS_TRY(check_write(scene, events));
  report.written = 1;
  PORTCULLIS_TRY(fence(device, scene, options.writes, report));
  return report;
}

}  // namespace portcullis::tools::vfio_peer
