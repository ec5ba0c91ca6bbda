// SPDX-License-Identifier: BSD-3-Clause
#include "devx/channel.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ranges>
#include <system_error>

#include <fmt/format.h>

#include "devx/memory_names.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/command_fields.hpp"
#include "prm/enums.hpp"
#include "prm/flow_commands.hpp"
#include "prm/flow_enums.hpp"
#include "prm/hca_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/status.hpp"
#include "prm/view.hpp"

namespace portcullis::devx {
namespace {

// MLX5_DRIVER_STATUS_ABORTED of mlx5/core/cmd.c: the kernel takes the NIC for broken.
constexpr std::uint8_t kAborted = 0xfe;

/// Of no system call: the kernel's "ok" that the device did not confirm.
constexpr int kUnconfirmed = -1;

std::string name_of(std::span<const std::byte> in) {
  return std::string(prm::name(prm::opcode_of(in)));
}

/// Of an entry there are two calls, and the kernel says no more than a number of either.
std::string hint(prm::Opcode opcode, int error) {
  const bool is_entry = opcode == prm::Opcode::SET_FLOW_TABLE_ENTRY;
  if (error == EPERM && (is_entry || opcode == prm::Opcode::SET_FLOW_TABLE_ROOT))
    return " (a flow rule of the kernel's takes CAP_NET_RAW)";
  return is_entry ? " (of the entry, or of the kernel's rule that leads to it)" : "";
}

/// What a call that failed, or an output that is not success, means to a driver.
std::optional<Error> failure(std::span<const std::byte> in, std::span<const std::byte> out,
                             int error) {
  std::array<std::byte, prm::cmd_out::bytes> head{};
  std::copy_n(out.begin(), std::min(out.size(), head.size()), head.begin());
  const auto answer = prm::ConstView<prm::cmd_out>::at(head);
  const auto status = static_cast<std::uint8_t>(answer.get<"status">());
  if (error == 0 && status == 0) return std::nullopt;
  if (status == kAborted)
    return Error{Errc::DeviceFailed, name_of(in) + ": the kernel driver reports an internal error",
                 std::nullopt};
  if (status != 0) {
    const auto header = prm::ConstView<prm::cmd_in>::at(in);
    const CommandFault fault{static_cast<std::uint16_t>(header.get<"opcode">()),
                             static_cast<std::uint16_t>(header.get<"op_mod">()), 0, status,
                             answer.get<"syndrome">()};
    return Error{Errc::CommandFailed, prm::describe(fault), fault};
  }
  const std::string text = name_of(in) + " by DevX: " + std::generic_category().message(error) +
                           hint(prm::opcode_of(in), error);
  switch (error) {
    case ENOENT:
      return Error{Errc::NotFound, name_of(in) + ": no such object was made here", std::nullopt};
    case ETIMEDOUT:
      return Error{Errc::Timeout, text, std::nullopt};
    case ENODEV:
    case ENXIO:
      return Error{Errc::DeviceGone, text, std::nullopt};
    case EINVAL:  // these the kernel says by itself, before it asks the device
    case EPERM:
    case EACCES:
    case EOPNOTSUPP:
    case ENOMEM:
    case EBUSY:
    case EEXIST:
    case EAGAIN:  // NO_RES_ERR by cmd_status_to_err, where the kernel keeps the status for itself
      return Error{Errc::System, text, std::nullopt};
    case kUnconfirmed:
      return Error{Errc::DeviceFailed,
                   name_of(in) + ": the kernel says done, and the device does not answer for it",
                   std::nullopt};
    default:  // nobody knows what the device did
      return Error{Errc::DeviceFailed, text, std::nullopt};
  }
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(Provider& provider, const MemorySpace& space,
                                                 Clock clock) {
  std::unique_ptr<Channel> channel(new Channel(provider, space, clock));
  PORTCULLIS_TRY(channel->start());
  return channel;
}

Result<void> Channel::start() {
  try {
    for (Slot& slot : slots_) slot.thread = std::thread([this, &slot] { serve(slot); });
  } catch (const std::system_error& error) {
    return fail(Errc::System, fmt::format("a thread for DevX commands: {}", error.what()));
  }
  return {};
}

Channel::~Channel() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (Slot& slot : slots_)
    if (slot.thread.joinable()) slot.thread.join();
  std::vector<Made> left;
  for (auto& [name, made] : objects_) left.push_back(std::move(made));
  std::ranges::sort(left, std::ranges::greater(), &Made::order);
  // One that the device does not give back stays with the kernel, which tries again at the end.
  bool is_answered = refused_.empty();
  rules_.end(is_answered);
  for (Made& made : left) {
    if (is_answered) is_answered = made.object->destroy() != ETIMEDOUT;
    if (!is_answered) made.object->leave();
  }
}

void Channel::serve(Slot& slot) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || slot.state == State::Asked; });
    if (slot.state != State::Asked) return;
    lock.unlock();
    const int error = perform(slot.in, slot.out);
    lock.lock();
    slot.error = error;
    slot.state = slot.abandoned ? State::Free : State::Done;
    slot.abandoned = false;
    changed_.notify_all();
  }
}

std::optional<std::uint32_t> Channel::free_slot(pmd::SlotClass slot_class) const noexcept {
  const std::size_t first = slot_class == pmd::SlotClass::Fence ? kCommonSlots : 0;
  const std::size_t end = slot_class == pmd::SlotClass::Fence ? slots_.size() : kCommonSlots;
  for (std::size_t i = first; i < end; ++i)
    if (slots_[i].state == State::Free) return static_cast<std::uint32_t>(i);
  return std::nullopt;
}

Result<pmd::Ticket> Channel::submit(std::span<const std::byte> in, std::size_t out_bytes,
                                    pmd::SlotClass slot_class) {
  constexpr std::size_t kLeastIn = 16;
  constexpr std::size_t kLeastOut = 8;  // status and syndrome
  if (in.size() < kLeastIn || out_bytes < kLeastOut)
    return fail(
        Errc::InvalidArgument,
        fmt::format("a command of {} bytes with an answer of {}; at least {} and {} expected",
                    in.size(), out_bytes, kLeastIn, kLeastOut));
  if (handling_of(prm::opcode_of(in)) == nullptr)
    return fail(Errc::Unsupported, name_of(in) + " is no command that DevX takes from a process");
  PORTCULLIS_TRY_ASSIGN(auto named, in_umems(in, *space_));
  const std::scoped_lock lock(mutex_);
  if (!refused_.empty()) return fail(Errc::DeviceFailed, name_of(in) + ": " + refused_);
  const auto number = free_slot(slot_class);
  if (!number) return fail(Errc::Busy, name_of(in) + ": every slot of its kind is in use");
  Slot& slot = slots_[*number];
  slot.in = std::move(named);
  slot.out.assign(out_bytes, std::byte{0});
  slot.state = State::Asked;
  changed_.notify_all();
  return pmd::Ticket{*number};
}

Result<void> Channel::await(pmd::Ticket ticket, std::span<std::byte> out,
                            std::uint64_t deadline_ns) {
  // The device's clock is asked each time: it need not run as the system's does.
  constexpr auto kLook = std::chrono::milliseconds(1);
  std::unique_lock lock(mutex_);
  Slot& slot = slots_.at(ticket.slot);
  const auto is_done = [&] { return slot.state == State::Done; };
  while (!is_done() && clock_.now_ns() < deadline_ns) changed_.wait_for(lock, kLook, is_done);
  if (!is_done()) {
    slot.abandoned = true;
    return fail(Errc::Timeout, name_of(slot.in) + " by DevX did not return in time");
  }
  slot.state = State::Free;
  std::copy_n(slot.out.begin(), std::min(out.size(), slot.out.size()), out.begin());
  if (auto error = failure(slot.in, slot.out, slot.error))
    return tl::unexpected<Error>(*std::move(error));
  return {};
}

bool Channel::is_done(pmd::Ticket ticket) const noexcept {
  const std::scoped_lock lock(mutex_);
  return slots_[ticket.slot].state == State::Done;
}

std::uint64_t Channel::default_deadline_ns() const {
  return clock_.now_ns() + kDeadlineMs * kNsPerMs;
}

std::span<std::byte> Channel::page(std::uint32_t index) const noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = uars_.find(index);
  return found == uars_.end() ? std::span<std::byte>() : found->second->bytes();
}

void Channel::refuse_all(std::string why) {
  const std::scoped_lock lock(mutex_);
  refused_ = std::move(why);
}

std::uint32_t Channel::fence_slots_available() const noexcept {
  const std::scoped_lock lock(mutex_);
  std::uint32_t free = 0;
  for (std::size_t i = kCommonSlots; i < slots_.size(); ++i)
    if (slots_[i].state == State::Free) ++free;
  return free;
}

int Channel::perform(std::span<const std::byte> in, std::span<std::byte> out) {
  const Handling& how = *handling_of(prm::opcode_of(in));
  switch (how.call) {
    case Call::General:
      return provider_->general(in, out);
    case Call::Create:
      return make(how, in, out);
    case Call::AllocateUar:
      return allocate_uar(out);
    case Call::FreeUar:
      return free_uar(id_at(in, how.id_at));
    default:
      break;
  }
  const int error = perform_on_flows_or_object(how, in, out);
  return error == 0 && may_be_faked(how) ? confirm() : error;
}

int Channel::perform_on_flows_or_object(const Handling& how, std::span<const std::byte> in,
                                        std::span<std::byte> out) {
  if (how.call == Call::SetRoot) return rules_.set_root(in);
  const bool is_made =
      how.call == Call::SetEntry &&
      prm::ConstView<prm::cmd_in>::at(in).get<"op_mod">() == prm::number(prm::SetFteOpMod::SET);
  return is_made ? make_entry(named(how, in), in, out) : perform_on_object(how, in, out);
}

int Channel::confirm() {
  prm::Buffer<prm::query_issi_in> in;
  prm::Buffer<prm::query_issi_out> out;
  in.set<"opcode", prm::number(prm::Opcode::QUERY_ISSI)>();
  const bool is_answered = provider_->general(in.all(), out.all()) == 0 && out.get<"status">() == 0;
  return is_answered ? 0 : kUnconfirmed;
}

int Channel::make(const Handling& how, std::span<const std::byte> in, std::span<std::byte> out) {
  std::unique_ptr<Object> object;
  if (const int error = rules_.create(in, out, object); error != 0) return error;
  if (const int error = subscribe(how.kind, *object); error != 0) {
    static_cast<void>(object->destroy());
    return error;
  }
  std::shared_ptr<Object> replaced;  // goes without the lock; it has been destroyed
  const std::scoped_lock lock(mutex_);
  ObjectName name = named(how, in);
  name.id = id_at(out, kNewIdAt);
  Made& made = objects_[name];
  replaced = std::exchange(made.object, std::move(object));
  made.order = ++made_;
  made.is_busy = false;
  return 0;
}

int Channel::make_entry(const ObjectName& name, std::span<const std::byte> in,
                        std::span<std::byte> out) {
  {
    const std::scoped_lock lock(mutex_);
    if (!objects_.try_emplace(name, Made{.order = 0, .object = nullptr, .is_busy = true}).second)
      return EEXIST;
  }
  std::unique_ptr<Object> object;
  const int error = rules_.create(in, out, object);
  const std::scoped_lock lock(mutex_);
  if (object == nullptr) {
    objects_.erase(name);
  } else {
    objects_[name] = {.order = ++made_, .object = std::move(object), .is_busy = false};
  }
  return error;
}

Channel::ObjectName Channel::named(const Handling& how, std::span<const std::byte> in) noexcept {
  return {.kind = how.kind,
          .table = how.table_at == 0 ? 0 : id_at(in, how.table_at),
          .id = id_at(in, how.id_at)};
}

/// To what ends a queue: the types of pmd::Hca's event queue that DevX takes for one
/// (is_legacy_obj_event_num of mlx5_ib/devx.c).
int Channel::subscribe(Kind kind, Object& object) {
  constexpr std::array kOfQp{prm::number(prm::EventType::SQ_DRAINED),
                             prm::number(prm::EventType::WQ_CATAS_ERROR),
                             prm::number(prm::EventType::WQ_INVAL_REQ_ERROR),
                             prm::number(prm::EventType::WQ_ACCESS_ERROR)};
  constexpr std::array kOfCq{prm::number(prm::EventType::CQ_ERROR)};
  std::vector<std::uint16_t> types;
  if (kind == Kind::Qp) types.assign(kOfQp.begin(), kOfQp.end());
  if (kind == Kind::Cq) types.assign(kOfCq.begin(), kOfCq.end());
  return types.empty() ? 0 : object.subscribe(types);
}

int Channel::perform_on_object(const Handling& how, std::span<const std::byte> in,
                               std::span<std::byte> out) {
  const ObjectName name = named(how, in);
  int error = 0;
  const std::shared_ptr<Object> object = take(name, error);
  if (object == nullptr) return error;
  if (how.call == Call::Modify || how.call == Call::SetEntry) {
    error = object->modify(in, out);
  } else if (how.call == Call::Query) {
    error = object->query(in, out);
  } else {
    error = object->destroy();
  }
  const std::scoped_lock lock(mutex_);
  // The number of one that is gone may be another's by now.
  const auto found = objects_.find(name);
  if (found == objects_.end() || found->second.object != object) return error;
  found->second.is_busy = false;
  if (how.call == Call::Destroy && error == 0) objects_.erase(found);
  return error;
}

int Channel::allocate_uar(std::span<std::byte> out) {
  if (out.size() < prm::alloc_uar_out::bytes) return EINVAL;
  auto page = provider_->allocate_uar();
  if (!page) return ENOMEM;
  const std::uint32_t index = (*page)->index();
  const auto answer = prm::View<prm::alloc_uar_out>::at(out);
  if (!answer.try_set<"uar">(index)) return EOVERFLOW;
  const std::scoped_lock lock(mutex_);
  uars_.insert_or_assign(index, *std::move(page));
  return 0;
}

int Channel::free_uar(std::uint32_t index) {
  std::unique_lock lock(mutex_);
  const auto page = uars_.extract(index);
  lock.unlock();  // the node frees the page
  return page ? 0 : ENOENT;
}

std::shared_ptr<Object> Channel::take(const ObjectName& name, int& error) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(name);
  if (found == objects_.end()) {
    error = ENOENT;
    return nullptr;
  }
  if (std::exchange(found->second.is_busy, true)) {
    error = EBUSY;
    return nullptr;
  }
  return found->second.object;
}

}  // namespace portcullis::devx
