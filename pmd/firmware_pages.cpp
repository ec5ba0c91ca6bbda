// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/firmware_pages.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/cells.hpp"
#include "pmd/command_tail.hpp"
#include "prm/hca_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {
namespace {

using Kind = prm::ManagePagesOpMod;

/// Most pages of one reclaim request (MAX_RECLAIM_NPAGES of Linux): firmware cannot release more.
constexpr std::int32_t kMostReclaimed = 50'000;
/// Requests waiting at once; a device that sends more is not to fill the memory with them.
constexpr std::size_t kMostRequests = 1024;
/// Between two MANAGE_PAGES when the firmware had nothing to return.
constexpr std::uint64_t kReclaimPauseNs = kNsPerMs;

constexpr std::size_t answer_bytes(std::size_t pages) {
  return prm::manage_pages_out::bytes + pages * sizeof(Iova);
}

Iova address_in(std::span<const std::byte> answer, std::size_t index) {
  Iova raw;
  std::memcpy(&raw, answer.data() + answer_bytes(index), sizeof raw);
  return cells::be64(raw);
}

std::uint32_t function_of(const PageRequestEvent& event) {
  return event.function_id | (event.embedded_cpu_function ? 1u << 16 : 0u);
}

}  // namespace

FirmwarePages::FirmwarePages(const Device& device, CommandChannel& commands, DmaArena& arena,
                             LogSink log)
    : device_(&device), commands_(&commands), arena_(&arena), log_(std::move(log)) {}

std::size_t FirmwarePages::held() const noexcept {
  std::size_t sum = 0;
  for (const auto& [function, pages] : pages_) sum += pages.size();
  return sum;
}

void FirmwarePages::say(const std::string& line) const {
  if (log_) log_(line);
}

Result<void> FirmwarePages::give_startup(prm::QueryPagesOpMod phase) {
  prm::Buffer<prm::query_pages_in> in;
  in.set<"opcode", prm::Opcode::QUERY_PAGES>().put<"op_mod">(prm::number(phase));
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_pages_out>(*commands_, in));
  // Signed, as in page requests: a count below zero asks for nothing.
  const auto pages = static_cast<std::int32_t>(out.get<"num_pages">());
  if (pages <= 0) return {};
  const Function function = out.get<"function_id">() | out.get<"embedded_cpu_function">() << 16;
  return give(function, static_cast<std::size_t>(pages));
}

Result<void> FirmwarePages::check_limit(std::size_t pages) const {
  const std::size_t already = held();
  if (pages <= kMostPages - std::min(already, kMostPages)) return {};
  return fail(Errc::OutOfResources, "the firmware holds " + std::to_string(already) +
                                        " pages and asks for " + std::to_string(pages) +
                                        " more; at most " + std::to_string(kMostPages) +
                                        " are given");
}

Result<void> FirmwarePages::give(Function function, std::size_t pages) {
  PORTCULLIS_TRY(check_limit(pages));
  while (pages > 0) {
    const std::size_t part = std::min(pages, kBatchPages);
    PORTCULLIS_TRY_ASSIGN(auto memory, allocate(part));
    PORTCULLIS_TRY_ASSIGN(Batch batch,
                          send(function, Kind::ALLOCATION_SUCCESS, part, std::move(memory)));
    PORTCULLIS_TRY(finish(std::move(batch)));
    pages -= part;
  }
  return {};
}

Result<std::vector<DmaBuffer>> FirmwarePages::allocate(std::size_t pages) {
  std::vector<DmaBuffer> memory;
  memory.reserve(pages);
  while (memory.size() < pages) {
    PORTCULLIS_TRY_ASSIGN(DmaBuffer page, arena_->allocate(kPageBytes));
    // Firmware takes no page at address 0 (alloc_system_page of Linux); nobody else may want it.
    if (page.iova() == 0) {
      page.quarantine();
      continue;
    }
    memory.push_back(std::move(page));
  }
  return memory;
}

Result<FirmwarePages::Batch> FirmwarePages::send(Function function, Kind kind, std::size_t pages,
                                                 std::vector<DmaBuffer> memory) {
  prm::Buffer<prm::manage_pages_in> in;
  in.set<"opcode", prm::Opcode::MANAGE_PAGES>()
      .put<"op_mod">(prm::number(kind))
      .put<"embedded_cpu_function">(function >> 16)
      .put<"function_id">(function & 0xffff)
      .put<"input_num_entries">(pages);
  std::vector<std::uint64_t> addresses;
  addresses.reserve(memory.size());
  for (const DmaBuffer& page : memory) addresses.push_back(page.iova());
  const std::size_t returned = kind == Kind::HCA_RETURN_PAGES ? pages : 0;
  PORTCULLIS_TRY_ASSIGN(
      const Ticket ticket,
      commands_->submit(with_tail(in, addresses), answer_bytes(returned), SlotClass::Pages));
  return Batch{ticket, commands_->default_deadline_ns(), function, kind, pages, std::move(memory)};
}

/// Waits for `batch` and books it; how many pages moved.
Result<std::size_t> FirmwarePages::finish(Batch batch) {
  const bool returns = batch.kind == Kind::HCA_RETURN_PAGES;
  std::vector<std::byte> answer(answer_bytes(returns ? batch.pages : 0));
  auto done = commands_->await(batch.ticket, answer, batch.deadline_ns);
  if (!done) {
    // Refused pages are ours again (give_pages of Linux); after anything else the device may still
    // take them.
    if (done.error().code != Errc::CommandFailed)
      for (DmaBuffer& page : batch.memory) page.quarantine();
    return forward_error(std::move(done));
  }
  if (returns) return take_back(batch, answer);
  PagesByAddress& pages = pages_[batch.function];
  for (DmaBuffer& page : batch.memory) pages.emplace(page.iova(), std::move(page));
  return batch.memory.size();
}

/// Frees exactly the pages that `answer` names.
Result<std::size_t> FirmwarePages::take_back(const Batch& batch,
                                             std::span<const std::byte> answer) {
  const std::size_t count =
      prm::ConstView<prm::manage_pages_out>::at(answer).get<"output_num_entries">();
  if (count > batch.pages)
    return fail(Errc::Malformed, "MANAGE_PAGES returned " + std::to_string(count) +
                                     " pages; at most " + std::to_string(batch.pages) +
                                     " were asked back");
  PagesByAddress& pages = pages_[batch.function];
  std::size_t freed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Iova address = address_in(answer, i);
    freed += pages.erase(address);
    if (freed == i + 1) continue;
    return fail(Errc::Malformed, "MANAGE_PAGES returned the page at IOVA " +
                                     std::to_string(address) +
                                     ", which the firmware does not hold");
  }
  return freed;
}

void FirmwarePages::request(const PageRequestEvent& event) {
  if (event.pages == 0 && !event.release_all) return;
  if (requests_.size() >= kMostRequests) return say("page request dropped: too many are waiting");
  PageRequestEvent request = event;
  request.pages = std::max(request.pages, -kMostReclaimed);
  requests_.push_back(request);
}

void FirmwarePages::serve() {
  if (in_flight_) {
    const bool late = device_->clock.now_ns() >= in_flight_->deadline_ns;
    if (!late && !commands_->is_done(in_flight_->ticket)) return;
    finish_in_flight();
  }
  while (!in_flight_ && !requests_.empty()) {
    if (requests_.front().release_all) {
      // The function is gone with everything it held (release_all_pages of Linux).
      pages_.erase(function_of(requests_.front()));
      requests_.pop_front();
      continue;
    }
    start(requests_.front());
    if (!in_flight_) return;
    if (requests_.front().pages == 0) requests_.pop_front();
  }
}

/// Sends the next batch of `request` and takes it off the count.
void FirmwarePages::start(PageRequestEvent& request) {
  auto batch = send_part(request);
  if (!batch) {
    // Busy: somebody who waits has the slot; later. Otherwise the function is broken.
    if (batch.error().code == Errc::Busy) return;
    say("page request: " + batch.error().text);
    requests_.clear();
    return;
  }
  const auto part = static_cast<std::int32_t>(batch->pages);
  switch (batch->kind) {
    case Kind::ALLOCATION_SUCCESS:
      request.pages -= part;
      break;
    case Kind::HCA_RETURN_PAGES:
      request.pages += part;
      break;
    case Kind::ALLOCATION_FAIL:
      request.pages = 0;
      break;
  }
  in_flight_ = *std::move(batch);
}

Result<FirmwarePages::Batch> FirmwarePages::send_part(const PageRequestEvent& request) {
  const Function function = function_of(request);
  if (request.pages < 0) {
    const std::size_t part = std::min(static_cast<std::size_t>(-request.pages), kBatchPages);
    return send(function, Kind::HCA_RETURN_PAGES, part, {});
  }
  const auto wanted = static_cast<std::size_t>(request.pages);
  const std::size_t part = std::min(wanted, kBatchPages);
  auto memory = check_limit(wanted).and_then([&] { return allocate(part); });
  if (memory) return send(function, Kind::ALLOCATION_SUCCESS, part, *std::move(memory));
  // Tells the firmware that it gets nothing (page_notify_fail of Linux).
  say("page request refused: " + memory.error().text);
  return send(function, Kind::ALLOCATION_FAIL, 0, {});
}

void FirmwarePages::finish_in_flight() {
  Batch batch = *std::exchange(in_flight_, std::nullopt);
  const auto moved = finish(std::move(batch));
  // Linux ignores what the firmware then refuses; the request was the firmware's own.
  if (!moved) say("page request: " + moved.error().text);
}

void FirmwarePages::settle() {
  requests_.clear();
  if (!in_flight_) return;
  in_flight_->deadline_ns = std::min(in_flight_->deadline_ns, commands_->default_deadline_ns());
  finish_in_flight();
}

Result<void> FirmwarePages::reclaim_all() {
  for (auto& [function, pages] : pages_) PORTCULLIS_TRY(reclaim(function));
  return {};
}

Result<void> FirmwarePages::reclaim(Function function) {
  const PagesByAddress& pages = pages_[function];
  std::uint64_t give_up_ns = device_->clock.now_ns() + kReclaimTimeoutNs;
  while (!pages.empty()) {
    PORTCULLIS_TRY_ASSIGN(Batch batch, send(function, Kind::HCA_RETURN_PAGES,
                                            std::min(pages.size(), kBatchPages), {}));
    PORTCULLIS_TRY_ASSIGN(const std::size_t freed, finish(std::move(batch)));
    const std::uint64_t now_ns = device_->clock.now_ns();
    if (freed > 0) {
      give_up_ns = now_ns + kReclaimTimeoutNs;
      continue;
    }
    if (now_ns >= give_up_ns)
      return fail(Errc::Timeout, "the firmware keeps " + std::to_string(pages.size()) +
                                     " pages of function " + std::to_string(function & 0xffff));
    device_->relax(now_ns + kReclaimPauseNs);
  }
  return {};
}

}  // namespace portcullis::pmd
