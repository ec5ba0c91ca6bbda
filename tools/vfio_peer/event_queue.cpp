// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/event_queue.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/cells.hpp"
#include "prm/cqe.hpp"
#include "prm/doorbell.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

constexpr std::uint32_t kLogEntries = 6;
constexpr std::uint32_t kEntries = 1U << kLogEntries;
constexpr std::size_t kOwnerByte = prm::eqe::bytes - 1;

std::byte* entry_at(const mlx5dv_devx_eq& eq, std::uint32_t index) {
  return static_cast<std::byte*>(eq.vaddr) + (index & (kEntries - 1)) * prm::eqe::bytes;
}

}  // namespace

Result<EventQueue> EventQueue::create(Device& device) {
  EventQueue queue;
  queue.uar_page_ = device.uar_page();
  queue.vector_.reset(mlx5dv_devx_alloc_msi_vector(device.context()));
  if (queue.vector_ == nullptr)
    return fail(Errc::OutOfResources,
                fmt::format("no MSI-X vector is left: {}", std::strerror(errno)));
  prm::Buffer<prm::create_eq_in> in;
  in.set<"opcode", prm::Opcode::CREATE_EQ>()
      .set<"eq_context_entry.log_eq_size", kLogEntries>()
      .put<"eq_context_entry.uar_page">(device.uar())
      .put<"eq_context_entry.intr">(static_cast<std::uint32_t>(queue.vector_->vector));
  prm::Buffer<prm::create_eq_out> out;
  queue.eq_.reset(mlx5dv_devx_create_eq(device.context(), in.all().data(), in.all().size(),
                                        out.all().data(), out.all().size()));
  if (queue.eq_ == nullptr)
    return fail(Errc::CommandFailed, fmt::format("CREATE_EQ: status {:#x}, syndrome {:#x}",
                                                 out.get<"status">(), out.get<"syndrome">()));
  queue.eqn_ = out.get<"eq_number">();
  // init_eq_buf of mlx5_vfio.c: an entry that was never written belongs to the device.
  for (std::uint32_t i = 0; i < kEntries; ++i) entry_at(*queue.eq_, i)[kOwnerByte] = std::byte{1};
  queue.arm();
  return queue;
}

void EventQueue::arm() const noexcept {
  const std::uint32_t value = prm::eq_doorbell(static_cast<std::uint8_t>(eqn_), consumer_);
  cells::ring<std::uint32_t>(uar_page_ + prm::kEqDoorbellArm, cells::be32(value));
}

Result<prm::Buffer<prm::eqe>> EventQueue::wait(int timeout_ms) {
  pollfd waiting{vector_->fd, POLLIN, 0};
  if (::poll(&waiting, 1, timeout_ms) != 1)
    return fail(Errc::Timeout, fmt::format("no interrupt on MSI-X vector {} within {} ms",
                                           vector_->vector, timeout_ms));
  std::uint64_t count = 0;
  // Ubuntu's gcc hardens by default, and glibc then wants the result of read used.
  (void)!::read(vector_->fd, &count, sizeof count);
  std::byte* const at = entry_at(*eq_, consumer_);
  const auto owner = cells::load_acquire<std::uint8_t>(at + kOwnerByte);
  if ((owner & 1) != (prm::owner_bit(consumer_, kLogEntries) ? 1 : 0))
    return fail(Errc::DeviceFailed,
                fmt::format("an interrupt on MSI-X vector {} without an event", vector_->vector));
  prm::Buffer<prm::eqe> event;
  std::memcpy(event.all().data(), at, prm::eqe::bytes);
  ++consumer_;
  arm();
  return event;
}

}  // namespace portcullis::tools::vfio_peer
