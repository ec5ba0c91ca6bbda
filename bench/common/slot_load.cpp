// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/slot_load.hpp"

#include <algorithm>
#include <array>

#include "pmd/fence_commands.hpp"
#include "prm/command_fields.hpp"
#include "prm/object_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::bench {
namespace {

constexpr std::uint64_t kStopDeadlineNs = 60 * kNsPerSecond;

}  // namespace

SlotLoad::SlotLoad(proof::Session& session)
    : session_(&session),
      key_{{}, 0, prm::Opcode::DESTROY_MKEY},
      qp_{{}, 0, prm::Opcode::DESTROY_QP},
      noting_(*session.context().commands, key_, qp_),
      context_(session.context()) {
  context_.commands = &noting_;
}

Result<std::unique_ptr<SlotLoad>> SlotLoad::create(proof::Session& session) {
  std::unique_ptr<SlotLoad> load(new SlotLoad(session));
  PORTCULLIS_TRY(load->make_objects());
  return load;
}

SlotLoad::~SlotLoad() { (void)stop(); }

Result<void> SlotLoad::make_objects() {
  PORTCULLIS_TRY_ASSIGN(memory_, DmaMemory::create(*context_.device.dma, kPageBytes));
  PORTCULLIS_TRY_ASSIGN(pd_, pmd::ProtectionDomain::create(context_));
  PORTCULLIS_TRY_ASSIGN(cq_, pmd::CompletionQueue::create(context_, 6));
  PORTCULLIS_TRY_ASSIGN(made_key_, pmd::MemoryKey::create_mtt(context_, *pd_, *memory_, {}));
  PORTCULLIS_TRY_ASSIGN(made_qp_, pmd::QueuePair::create(context_, *pd_, *cq_));
  return {};
}

Result<pmd::Ticket> SlotLoad::NotingChannel::submit(std::span<const std::byte> in,
                                                    std::size_t out_bytes,
                                                    pmd::SlotClass slot_class) {
  const prm::Opcode opcode = prm::opcode_of(in);
  Work* work = opcode == prm::Opcode::CREATE_MKEY ? key_
               : opcode == prm::Opcode::CREATE_QP ? qp_
                                                  : nullptr;
  if (work != nullptr) {
    work->create.assign(in.begin(), in.end());
    work->create_out_bytes = out_bytes;
  }
  return PassingChannel::submit(in, out_bytes, slot_class);
}

Result<void> SlotLoad::start() {
  while (true) {
    Job job;
    job.work = jobs_.size() % 2 == 0 ? &key_ : &qp_;
    PORTCULLIS_TRY(submit(job));
    if (!job.is_in_flight) break;
    jobs_.push_back(job);
  }
  session_->set_background([this] { return pump(); });
  return {};
}

Result<void> SlotLoad::submit(Job& job) {
  pmd::CommandChannel& commands = *session_->context().commands;
  Result<pmd::Ticket> ticket = [&] {
    if (!job.made)
      return commands.submit(job.work->create, job.work->create_out_bytes, pmd::SlotClass::Common);
    const auto destroy = job.work == &key_ ? pmd::destroy_mkey_command(prm::MkeyIndex{*job.made})
                                           : pmd::destroy_qp_command(prm::QpNumber{*job.made});
    return destroy.submit(commands, pmd::SlotClass::Common);
  }();
  if (!ticket && ticket.error().code == Errc::Busy) return {};  // later
  if (!ticket) return forward_error(std::move(ticket));
  job.ticket = *ticket;
  job.is_in_flight = true;
  return {};
}

Result<void> SlotLoad::finish(Job& job, std::uint64_t deadline_ns) {
  // The number stands at the same place in both outputs, as in every CREATE_*.
  std::array<std::byte, prm::create_mkey_out::bytes> out{};
  const std::size_t bytes = job.made ? pmd::InlineCommand::kBytes : job.work->create_out_bytes;
  if (bytes > out.size()) return fail(Errc::Malformed, "an output longer than a CREATE_* has");
  job.is_in_flight = false;
  PORTCULLIS_TRY(
      session_->context().commands->await(job.ticket, std::span(out).first(bytes), deadline_ns));
  ++commands_;
  if (job.made)
    job.made.reset();
  else
    job.made = prm::ConstView<prm::create_mkey_out>::at(out).get<"mkey_index">();
  return {};
}

Result<void> SlotLoad::pump() {
  Job& job = jobs_[next_];
  // What is answered is taken now and followed by its successor at the next turn.
  if (job.is_in_flight && session_->context().commands->is_done(job.ticket))
    return finish(job, session_->now_ns());
  next_ = (next_ + 1) % jobs_.size();
  return job.is_in_flight ? Result<void>() : submit(job);
}

std::size_t SlotLoad::hold() {
  session_->set_background({});
  return static_cast<std::size_t>(std::ranges::count_if(jobs_, [this](const Job& job) {
    return job.is_in_flight && !session_->context().commands->is_done(job.ticket);
  }));
}

Result<void> SlotLoad::stop() {
  session_->set_background({});
  const std::uint64_t deadline_ns = session_->now_ns() + kStopDeadlineNs;
  for (Job& job : jobs_) {
    if (job.is_in_flight) PORTCULLIS_TRY(finish(job, deadline_ns));
    if (!job.made) continue;
    PORTCULLIS_TRY(submit(job));
    if (job.is_in_flight) PORTCULLIS_TRY(finish(job, deadline_ns));
  }
  jobs_.clear();
  return {};
}

}  // namespace portcullis::bench
