// SPDX-License-Identifier: BSD-3-Clause
#include "model/vfio_user/server.hpp"

#include <linux/vfio.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

namespace portcullis::model::vfio_user {
namespace {

using Reply = tl::expected<std::vector<std::byte>, int>;

int errno_of(const Error& error) {
  switch (error.code) {
    case Errc::Busy:
      return EEXIST;
    case Errc::NotFound:
      return ENOENT;
    case Errc::OutOfResources:
      return ENOSPC;
    case Errc::System:
      return EIO;
    default:
      return EINVAL;
  }
}

// A client that leaves more requests unanswered, each of them abandoned in a reset, is hung up on.
constexpr std::size_t kMostAbandoned = 64;

bool is_command(const Message& message) {
  return (message.header.flags & Header::kTypeMask) == Header::kTypeCommand;
}

bool is_reply(const Message& message) {
  return (message.header.flags & Header::kTypeMask) == Header::kTypeReply;
}

tl::unexpected<Error> abandoned(Command command) {
  return fail(Errc::System, std::string(name(command)) + " abandoned: the device is reset");
}

Reply refuse(int error) { return tl::unexpected<int>(error); }

/// A write to anything else may wait, raise SIGPIPE or land in a file.
bool is_eventfd(const UniqueFd& fd) {
  constexpr std::string_view kName = "anon_inode:[eventfd]";  // eventfd_create, fs/eventfd.c
  struct stat status {};
  if (fstat(fd.get(), &status) != 0 || (status.st_mode & S_IFMT) != 0) return false;
  std::array<char, 2 * kName.size()> name{};
  const ssize_t bytes =
      readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), name.data(), name.size());
  // Without /proc what has no inode of its own will do: none of it raises a signal.
  return bytes < 0 || std::string_view(name.data(), static_cast<std::size_t>(bytes)) == kName;
}

template <class T>
Reply reply_with(const T& value) {
  std::vector<std::byte> payload;
  encode(payload, value);
  return payload;
}

/// The client's max_data_xfer_size, or the default when it does not say; nothing when its JSON is
/// none or says it is something else than a positive number.
std::optional<std::size_t> transfer_limit(std::span<const std::byte> json) {
  if (json.empty()) return kMaxTransferBytes;
  const auto* text = static_cast<const char*>(static_cast<const void*>(json.data()));
  const auto* end = std::find(text, text + json.size(), '\0');
  const auto parsed = nlohmann::json::parse(text, end, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return std::nullopt;
  const auto capabilities = parsed.find("capabilities");
  if (capabilities == parsed.end()) return kMaxTransferBytes;
  if (!capabilities->is_object()) return std::nullopt;
  const auto limit = capabilities->find("max_data_xfer_size");
  if (limit == capabilities->end()) return kMaxTransferBytes;
  if (!limit->is_number_unsigned() || *limit == 0) return std::nullopt;
  return std::min<std::size_t>(limit->get<std::size_t>(), kMaxTransferBytes);
}

/// What a client makes us keep has bounds, but `ulimit -v` may be lower than they are. It costs the
/// client its connection, and its ranges go with that; others are served.
template <class Work>
auto in_what_memory_there_is(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(Errc::OutOfResources, "out of memory");  // short: a longer one needs some
  }
}

}  // namespace

// Without a list of them: what ends the client may be that there is no memory for one.
Server::~Server() { let_go_of_all(); }

void Server::let_go_of_all() {
  while (const auto range = memory_.first()) let_go(*range);
}

void Server::let_go(const GuestRange& range) {
  backend_->unmapped(range);
  memory_.unmap(range);
}

Result<bool> Server::serve_one() {
  if (broken_) return hang_up(*broken_);
  auto served = in_what_memory_there_is([this] { return take_one(); });
  return served ? served : hang_up(served.error());
}

// To say why takes memory, too, and the ranges may have all of it.
tl::unexpected<Error> Server::hang_up(const Error& why) {
  let_go_of_all();
  return tl::unexpected<Error>(why);
}

Result<bool> Server::take_one() {
  const Deadline deadline(patience_.message_ms);
  PORTCULLIS_TRY_ASSIGN(std::optional<Message> message, connection_.receive(deadline));
  if (!message) return false;
  if (is_command(*message)) {
    PORTCULLIS_TRY(serve(*message, deadline));
  } else if (!forget_abandoned(*message)) {
    return fail(Errc::Malformed, "vfio-user reply to nothing that was asked, message id " +
                                     std::to_string(message->header.message_id));
  }
  return true;
}

/// Carries out one command and answers it.
Result<void> Server::serve(Message& message, const Deadline& deadline) {
  reply_files_.clear();
  const Reply reply = dispatch(message);
  if ((message.header.flags & Header::kNoReply) != 0) return {};
  Header header{.message_id = message.header.message_id,
                .command = message.header.command,
                .flags = Header::kTypeReply};
  if (!reply) {
    header.flags |= Header::kError;
    header.error = static_cast<std::uint32_t>(reply.error());
  }
  return connection_.send(header,
                          reply ? std::span<const std::byte>(*reply) : std::span<const std::byte>(),
                          deadline, reply_files_);
}

Server::Reply Server::dispatch(Message& message) {
  const Command command = message.header.command;
  if (command == Command::Version) return negotiate(message);
  if (!negotiated_) return refuse(EINVAL);
  switch (command) {
    case Command::DmaMap:
      return dma_map(message);
    case Command::DmaUnmap:
      return dma_unmap(message);
    case Command::DeviceGetInfo:
      return device_info(message);
    case Command::DeviceGetRegionInfo:
      return region_info(message);
    case Command::DeviceGetIrqInfo:
      return irq_info(message);
    case Command::DeviceSetIrqs:
      return set_irqs(message);
    case Command::RegionRead:
      return region_read(message);
    case Command::RegionWrite:
      return region_write(message);
    case Command::DeviceReset:
      backend_->reset();
      return std::vector<std::byte>{};
    default:
      // Ours to send, optional and not offered, or unknown.
      return refuse(ENOTSUP);
  }
}

Server::Reply Server::negotiate(const Message& message) {
  const auto version = decode<Version>(message.payload);
  if (!version || negotiated_) return refuse(EINVAL);
  if (version->major != kMajor) return refuse(ENOTSUP);
  const auto limit = transfer_limit(std::span(message.payload).subspan(sizeof(Version)));
  if (!limit) return refuse(EINVAL);
  max_transfer_bytes_ = *limit;
  negotiated_ = true;

  const std::string json = nlohmann::json{{"capabilities",
                                           {{"max_msg_fds", kMaxMessageFds},
                                            {"max_data_xfer_size", kMaxTransferBytes},
                                            {"max_dma_maps", GuestMemory::kMaxRanges}}}}
                               .dump();
  std::vector<std::byte> payload;
  encode(payload, Version{.major = kMajor, .minor = std::min(version->minor, kMinor)});
  std::transform(json.begin(), json.end(), std::back_inserter(payload),
                 [](char c) { return static_cast<std::byte>(c); });
  payload.push_back(std::byte{0});
  return payload;
}

Server::Reply Server::dma_map(Message& message) {
  const auto request = decode<DmaMap>(message.payload);
  if (!request || message.fds.size() > 1) return refuse(EINVAL);
  UniqueFd file = message.fds.empty() ? UniqueFd() : std::move(message.fds.front());
  const auto range = memory_.map(*request, std::move(file));
  if (!range) return refuse_map(range.error());
  if (const auto taken = backend_->mapped(*range); !taken) {
    memory_.unmap(*range);
    return refuse_map(taken.error());
  }
  return std::vector<std::byte>{};
}

Server::Reply Server::refuse_map(const Error& error) {
  const bool is_for_want = error.code == Errc::OutOfResources || error.code == Errc::System;
  if (is_for_want && tell_) std::exchange(tell_, nullptr)(error.text);
  return refuse(errno_of(error));
}

Server::Reply Server::dma_unmap(const Message& message) {
  const auto request = decode<DmaUnmap>(message.payload);
  if (!request) return refuse(EINVAL);
  if ((request->flags & DmaUnmap::kAll) != 0) {
    if (request->address != 0 || request->size != 0) return refuse(EINVAL);
    let_go_of_all();
    return reply_with(*request);
  }
  if (request->flags != 0) return refuse(ENOTSUP);
  const auto ranges = memory_.inside(request->address, request->size);
  if (!ranges) return refuse(errno_of(ranges.error()));
  // The reply says that nothing refers to them any more.
  for (const GuestRange& range : *ranges) let_go(range);
  return reply_with(*request);
}

Server::Reply Server::device_info(const Message& message) const {
  const auto request = decode<DeviceInfo>(message.payload);
  if (!request || request->argsz < sizeof(DeviceInfo)) return refuse(EINVAL);
  return reply_with(DeviceInfo{.argsz = sizeof(DeviceInfo),
                               .flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
                               .num_regions = VFIO_PCI_NUM_REGIONS,
                               .num_irqs = VFIO_PCI_NUM_IRQS});
}

Server::Reply Server::region_info(const Message& message) {
  const auto request = decode<RegionInfo>(message.payload);
  if (!request || request->argsz < sizeof(RegionInfo) || request->index >= VFIO_PCI_NUM_REGIONS)
    return refuse(EINVAL);
  const std::uint64_t bytes = backend_->region_bytes(request->index);
  std::uint32_t flags = bytes == 0 ? 0 : VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
  if (const int file = backend_->region_file(request->index); file >= 0) {
    flags |= VFIO_REGION_INFO_FLAG_MMAP;
    reply_files_.push_back(file);
  }
  return reply_with(RegionInfo{
      .argsz = sizeof(RegionInfo), .flags = flags, .index = request->index, .size = bytes});
}

Server::Reply Server::irq_info(const Message& message) const {
  const auto request = decode<IrqInfo>(message.payload);
  if (!request || request->argsz < sizeof(IrqInfo) || request->index >= VFIO_PCI_NUM_IRQS)
    return refuse(EINVAL);
  const std::uint32_t count = backend_->interrupts(request->index);
  return reply_with(IrqInfo{.argsz = sizeof(IrqInfo),
                            .flags = count == 0 ? 0U : VFIO_IRQ_INFO_EVENTFD,
                            .index = request->index,
                            .count = count});
}

Server::Reply Server::set_irqs(Message& message) {
  const auto request = decode<IrqSet>(message.payload);
  if (!request || request->index >= VFIO_PCI_NUM_IRQS) return refuse(EINVAL);
  const std::uint32_t available = backend_->interrupts(request->index);
  if (request->start > available || request->count > available - request->start)
    return refuse(EINVAL);
  const std::uint32_t action = request->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
  const std::uint32_t data = request->flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
  // MSI-X is masked in its table, which the client owns.
  if (action != VFIO_IRQ_SET_ACTION_TRIGGER) return refuse(ENOTSUP);
  auto& eventfds = eventfds_[request->index];
  if (data == VFIO_IRQ_SET_DATA_NONE && request->start == 0 && request->count == 0) {
    eventfds.clear();
    return std::vector<std::byte>{};
  }
  if (data != VFIO_IRQ_SET_DATA_EVENTFD) return refuse(ENOTSUP);
  if (!message.fds.empty() && message.fds.size() != request->count) return refuse(EINVAL);
  if (!std::ranges::all_of(message.fds, is_eventfd)) return refuse(EINVAL);
  eventfds.resize(available);
  for (std::uint32_t i = 0; i < request->count; ++i)
    eventfds[request->start + i] = message.fds.empty() ? UniqueFd() : std::move(message.fds[i]);
  return std::vector<std::byte>{};
}

bool Server::is_inside(const RegionAccess& access) const {
  if (access.region >= VFIO_PCI_NUM_REGIONS || access.count > kMaxTransferBytes) return false;
  const std::uint64_t bytes = backend_->region_bytes(access.region);
  return access.offset <= bytes && access.count <= bytes - access.offset;
}

Server::Reply Server::region_read(const Message& message) {
  const auto access = decode<RegionAccess>(message.payload);
  if (!access || !is_inside(*access)) return refuse(EINVAL);
  std::vector<std::byte> payload;
  encode(payload, *access);
  payload.resize(payload.size() + access->count);
  backend_->read(access->region, access->offset, std::span(payload).subspan(sizeof(RegionAccess)));
  return payload;
}

Server::Reply Server::region_write(const Message& message) {
  const auto access = decode<RegionAccess>(message.payload);
  if (!access || !is_inside(*access)) return refuse(EINVAL);
  const auto data = std::span(message.payload).subspan(sizeof(RegionAccess));
  if (data.size() != access->count) return refuse(EINVAL);
  backend_->write(access->region, access->offset, data);
  return reply_with(*access);
}

bool Server::trigger_msix(std::uint32_t vector) noexcept {
  const auto found = eventfds_.find(VFIO_PCI_MSIX_IRQ_INDEX);
  if (found == eventfds_.end() || vector >= found->second.size()) return false;
  const UniqueFd& eventfd = found->second[vector];
  if (!eventfd.is_open()) return false;
  // Its count may stand at the end: a write must not wait.
  pollfd entry{.fd = eventfd.get(), .events = POLLOUT, .revents = 0};
  if (poll(&entry, 1, 0) != 1 || (entry.revents & POLLOUT) == 0) return false;
  const std::uint64_t one = 1;
  return write(eventfd.get(), &one, sizeof one) == sizeof one;
}

Result<std::optional<Message>> Server::request(Command command, std::span<const std::byte> payload,
                                               const Deadline& deadline) {
  if (broken_) return tl::unexpected<Error>(*broken_);
  if (!negotiated_)  // the device may have work left from the client before
    return fail(Errc::System, std::string(name(command)) + ": the client has not said its version");
  auto reply = in_what_memory_there_is([&] { return exchange(command, payload, deadline); });
  if (!reply && reply.error().code == Errc::Timeout)
    reply = fail(Errc::Timeout, std::string(name(command)) + ": no reply in " +
                                    std::to_string(deadline.patience_ms()) + " ms");
  if (!reply) broken_ = reply.error();
  return reply;
}

/// Commands of the client that come before the reply are served: it may be unable to answer ours
/// before it has its own reply ("Command Concurrency" of the protocol leaves both sides free to
/// mix them, and "Socket" forbids to stall one for the other).
Result<std::optional<Message>> Server::exchange(Command command, std::span<const std::byte> payload,
                                                const Deadline& deadline) {
  const std::uint16_t id = next_id_++;
  is_abandoning_ = false;
  PORTCULLIS_TRY(connection_.send({.message_id = id, .command = command}, payload, deadline));
  while (!is_abandoning_) {
    // Nothing makes room but the step of the device that waits here.
    if (!backend_->has_room())
      return fail(Errc::OutOfResources, std::string(name(command)) +
                                            ": too many stores to the BAR came before its reply");
    PORTCULLIS_TRY_ASSIGN(std::optional<Message> message, connection_.receive(deadline));
    if (!message) return fail(Errc::System, "vfio-user client hung up");
    if (is_command(*message)) {
      PORTCULLIS_TRY(serve(*message, deadline));
    } else if (is_reply(*message) && message->header.message_id == id) {
      return message;
    } else if (!forget_abandoned(*message)) {
      return fail(Errc::Malformed, std::string(name(command)) +
                                       ": another reply than its own, id " +
                                       std::to_string(message->header.message_id));
    }
  }
  if (abandoned_.size() == kMostAbandoned)
    return fail(Errc::OutOfResources, std::string(name(command)) + ": " +
                                          std::to_string(kMostAbandoned) +
                                          " before it have no reply yet");
  abandoned_.push_back(id);
  return std::nullopt;
}

/// True for the reply to a request that was abandoned.
bool Server::forget_abandoned(const Message& message) {
  return is_reply(message) && std::erase(abandoned_, message.header.message_id) != 0;
}

Result<void> Server::dma_read(Iova from, std::span<std::byte> to) {
  const Deadline deadline(patience_.dma_ms);
  while (!to.empty()) {
    const std::size_t bytes = std::min(to.size(), max_transfer_bytes_);
    std::vector<std::byte> payload;
    encode(payload, DmaAccess{.address = from, .count = bytes});
    PORTCULLIS_TRY_ASSIGN(const auto reply, request(Command::DmaRead, payload, deadline));
    if (!reply) return abandoned(Command::DmaRead);
    if ((reply->header.flags & Header::kError) != 0 ||
        reply->payload.size() != sizeof(DmaAccess) + bytes)
      return fail(Errc::System, "DMA_READ of " + std::to_string(bytes) + " bytes refused, errno " +
                                    std::to_string(reply->header.error));
    std::copy_n(reply->payload.begin() + sizeof(DmaAccess), bytes, to.begin());
    from += bytes;
    to = to.subspan(bytes);
  }
  return {};
}

Result<void> Server::dma_write(Iova to, std::span<const std::byte> from) {
  const Deadline deadline(patience_.dma_ms);
  while (!from.empty()) {
    const std::size_t bytes = std::min(from.size(), max_transfer_bytes_);
    std::vector<std::byte> payload;
    encode(payload, DmaAccess{.address = to, .count = bytes});
    payload.insert(payload.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(bytes));
    PORTCULLIS_TRY_ASSIGN(const auto reply, request(Command::DmaWrite, payload, deadline));
    if (!reply) return abandoned(Command::DmaWrite);
    if ((reply->header.flags & Header::kError) != 0)
      return fail(Errc::System, "DMA_WRITE of " + std::to_string(bytes) + " bytes refused, errno " +
                                    std::to_string(reply->header.error));
    to += bytes;
    from = from.subspan(bytes);
  }
  return {};
}

}  // namespace portcullis::model::vfio_user
