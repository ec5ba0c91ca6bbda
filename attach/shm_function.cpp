// SPDX-License-Identifier: BSD-3-Clause
#include "attach/shm_function.hpp"

#include <fmt/format.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/host_patience.hpp"
#include "base/shared_pages.hpp"
#include "base/unix_socket.hpp"
#include "pmd/pci_ids.hpp"
#include "pmd/vfio_function.hpp"

namespace portcullis::attach {
namespace {

using model::vfio_user::Command;
using model::vfio_user::Deadline;
using model::vfio_user::decode;
using model::vfio_user::DmaMap;
using model::vfio_user::DmaUnmap;
using model::vfio_user::encode;
using model::vfio_user::Header;
using model::vfio_user::RegionAccess;
using model::vfio_user::RegionInfo;
using model::vfio_user::Version;

/// The first answer waits until the function is reset behind its last owner: hca-server's
/// --reset-delay-ms is at most 20 s.
constexpr int kFirstPatienceMs = 30'000;
/// Of a message that has begun to come; no server sends half of one.
constexpr int kWholeMs = 50;

/// As in VfioDmaSpace: above what 32-bit devices and MSI use. What the file has room for follows.
constexpr Iova kFirstIova = Iova{1} << 32;
constexpr Iova kLastIova = (Iova{1} << 39) - 1;

void yield_briefly(void* /*context*/, std::uint64_t /*until_ns*/) noexcept {
  // The server may need this very core before it can answer.
  sched_yield();
}

/// What whoever asks has left, for poll(): no more than poll() takes.
int bounded_ms() noexcept {
  constexpr std::uint64_t kMostMs = kFirstPatienceMs;
  const std::uint64_t until_ns = HostPatience::until_ns();
  if (until_ns == HostPatience::kUnbound) return kMostMs;
  const std::uint64_t now_ns = Clock::wall().now_ns();
  if (now_ns >= until_ns) return 0;
  return static_cast<int>(std::min(kMostMs, (until_ns - now_ns) / kNsPerMs));
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> payload;
  encode(payload, value);
  return payload;
}

}  // namespace

Result<std::unique_ptr<ShmLink>> ShmLink::connect(const std::string& path) {
  PORTCULLIS_TRY_ASSIGN(const sockaddr_un address, unix_address(path, "device shm:PATH"));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Of connect(), which waits where others wait already.
  const timeval patience{.tv_sec = kFirstPatienceMs / 1000, .tv_usec = 0};
  if (!socket.is_open() ||
      setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0)
    return fail(Errc::System, fmt::format("shm {}: socket: {}", path, std::strerror(errno)));
  if (::connect(socket.get(), generic(address), sizeof address) != 0)
    return fail(errno == ENOENT || errno == ECONNREFUSED ? Errc::NotFound : Errc::System,
                fmt::format("shm {}: {}; the socket of a running hca-server --shm {} is accepted",
                            path, std::strerror(errno), path));
  std::unique_ptr<ShmLink> link(new ShmLink("shm " + path, std::move(socket)));
  PORTCULLIS_TRY(link->agree());
  return link;
}

Result<void> ShmLink::agree() {
  PORTCULLIS_TRY_ASSIGN(
      const Answer answer,
      ask(Command::Version,
          bytes_of(Version{.major = model::vfio_user::kMajor, .minor = model::vfio_user::kMinor})));
  if (answer.error == EBUSY)
    return fail(Errc::Busy, name_ + ": another process owns the function; one at a time may");
  const auto version = decode<Version>(answer.payload);
  if (answer.error == 0 && version && version->major == model::vfio_user::kMajor) return {};
  return fail(Errc::Unsupported, name_ +
                                     ": a server of another protocol or version; hca-server "
                                     "--shm of this version is accepted");
}

bool ShmLink::has_news(int most_ms) const {
  pollfd waited{.fd = connection_.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, most_ms) > 0;
}

tl::unexpected<Error> ShmLink::give_up(Errc code, const std::string& why) {
  if (gone_why_.empty()) gone_why_ = why;
  return fail(code, name_ + ": " + why);
}

Result<void> ShmLink::send(Command command, std::uint16_t id, std::span<const std::byte> payload,
                           std::span<const int> files, const Deadline& deadline) {
  const auto sent =
      connection_.send({.message_id = id, .command = command}, payload, deadline, files);
  if (sent) return {};
  const auto what = model::vfio_user::name(command);
  if (sent.error().code == Errc::Timeout)
    return give_up(Errc::Timeout, fmt::format("its server did not take {}", what));
  return give_up(Errc::DeviceGone, fmt::format("its server went before {}", what));
}

/// There is something to be read, so that no wait cuts a message in two.
Result<model::vfio_user::Message> ShmLink::take_answer(const Owed& asked,
                                                       const Deadline& deadline) {
  const auto what = model::vfio_user::name(asked.command);
  auto got = connection_.receive(deadline);
  if (!got && got.error().code == Errc::Timeout)
    return give_up(Errc::Timeout, fmt::format("{} was not answered whole", what));
  if (!got || !*got)
    return give_up(Errc::DeviceGone, fmt::format("its server went, asked for {}", what));
  const Header& header = (*got)->header;
  if ((header.flags & Header::kTypeMask) == Header::kTypeReply && header.message_id == asked.id)
    return std::move(**got);
  return give_up(Errc::Malformed, fmt::format("something else than the answer to {}", what));
}

/// The answer that is still out: thrown away where it has come by now.
Result<void> ShmLink::settle_owed() {
  if (!owed_) return {};
  const auto what = model::vfio_user::name(owed_->command);
  const bool is_bounded = HostPatience::until_ns() != HostPatience::kUnbound;
  if (has_news(is_bounded ? 0 : owed_->until.left_ms())) {
    const Owed owed = *std::exchange(owed_, std::nullopt);
    PORTCULLIS_TRY(take_answer(owed, Deadline(kWholeMs)));
    return {};
  }
  if (owed_->until.has_passed())
    return give_up(Errc::Timeout, fmt::format("{} was not answered in {} ms, and its server was "
                                              "given up",
                                              what, owed_->until.patience_ms()));
  return fail(Errc::Timeout, fmt::format("{}: not asked, {} is not answered yet", name_, what));
}

Result<void> ShmLink::condition() {
  const std::lock_guard one(one_at_a_time_);
  pollfd looked{.fd = connection_.fd(), .events = POLLRDHUP, .revents = 0};
  if (gone_why_.empty() && ::poll(&looked, 1, 0) > 0)
    return give_up(Errc::DeviceGone, "its server has gone");
  if (gone_why_.empty() && owed_ && owed_->until.has_passed()) (void)settle_owed();
  if (gone_why_.empty()) return {};
  return fail(Errc::DeviceGone, name_ + ": " + gone_why_);
}

Result<ShmLink::Answer> ShmLink::ask(Command command, std::span<const std::byte> payload,
                                     std::span<const int> files) {
  const std::lock_guard one(one_at_a_time_);
  if (!gone_why_.empty()) return fail(Errc::DeviceGone, name_ + ": its server has gone");
  PORTCULLIS_TRY(settle_owed());
  const Owed asked{.id = next_id_++,
                   .command = command,
                   .until = Deadline(command == Command::Version ? kFirstPatienceMs : kPatienceMs)};
  PORTCULLIS_TRY(send(command, asked.id, payload, files, asked.until));
  const int left_ms = std::min(asked.until.left_ms(), bounded_ms());
  if (!has_news(left_ms)) {
    owed_ = asked;
    const auto what = model::vfio_user::name(command);
    const auto text =
        left_ms == 0
            ? fmt::format("{}: {}: asked, with no time left to wait for its answer", name_, what)
            : fmt::format("{}: {} was not answered in {} ms", name_, what, left_ms);
    if (asked.until.has_passed()) (void)settle_owed();  // which gives it up
    return fail(Errc::Timeout, text);
  }
  PORTCULLIS_TRY_ASSIGN(model::vfio_user::Message message, take_answer(asked, Deadline(kWholeMs)));
  const bool is_error = (message.header.flags & Header::kError) != 0;
  return Answer{.error = is_error ? message.header.error : 0,
                .payload = std::move(message.payload),
                .files = std::move(message.fds)};
}

Result<ShmLink::Answer> ShmLink::require(Command command, std::span<const std::byte> payload,
                                         std::span<const int> files) {
  PORTCULLIS_TRY_ASSIGN(Answer answer, ask(command, payload, files));
  if (answer.error == 0) return answer;
  return fail(answer.error == ENOSPC ? Errc::OutOfResources : Errc::System,
              fmt::format("{}: {}: {}", name_, model::vfio_user::name(command),
                          std::strerror(static_cast<int>(answer.error))));
}

Result<std::unique_ptr<ShmDmaSpace>> ShmDmaSpace::create(ShmLink& link) {
  PORTCULLIS_TRY_ASSIGN(UniqueFd file,
                        make_shared_file("dma", kLastIova + 1 - kFirstIova, /*is_fixed=*/true));
  return std::unique_ptr<ShmDmaSpace>(new ShmDmaSpace(link, std::move(file)));
}

ShmDmaSpace::ShmDmaSpace(ShmLink& link, UniqueFd file) noexcept
    : link_(&link), file_(std::move(file)) {
  iovas_.add(kFirstIova, kLastIova);
}

Result<Iova> ShmDmaSpace::map(std::span<std::byte> memory) {
  const auto address = std::bit_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || (address | memory.size()) % kPageBytes != 0)
    return fail(Errc::InvalidArgument,
                fmt::format("DMA memory at {:#x} of {} bytes; whole pages of {} expected", address,
                            memory.size(), kPageBytes));
  const std::lock_guard one(one_at_a_time_);
  const auto iova = iovas_.allocate(address, memory.size());
  if (!iova)
    return fail(Errc::OutOfResources, fmt::format("no IOVAs are left for {} bytes", memory.size()));
  bool is_own = true;  // the memory is this process's alone
  auto shared = share_pages(memory, file_.get(), *iova - kFirstIova);
  if (shared) {
    shared = tell_mapped(*iova, memory.size());
    if (!shared) is_own = unshare_pages(memory).has_value();
  }
  if (!shared) {
    const bool is_clean = is_own && forget_pages(file_.get(), *iova - kFirstIova, memory.size());
    // Where the server did not answer it may have it mapped all the same.
    if (is_clean && shared.error().code == Errc::OutOfResources)
      iovas_.release(*iova, memory.size());
    return forward_error(std::move(shared));
  }
  mapped_.insert_or_assign(*iova, memory);
  return *iova;
}

Result<void> ShmDmaSpace::tell_mapped(Iova iova, std::size_t bytes) {
  const int file = file_.get();
  PORTCULLIS_TRY(link_->require(Command::DmaMap,
                                bytes_of(DmaMap{.argsz = sizeof(DmaMap),
                                                .flags = DmaMap::kReadable | DmaMap::kWriteable,
                                                .offset = iova - kFirstIova,
                                                .address = iova,
                                                .size = bytes}),
                                std::span(&file, 1)));
  return {};
}

Result<bool> ShmDmaSpace::take_away(Iova iova, std::size_t bytes) {
  const auto found = mapped_.find(iova);
  if (found == mapped_.end() || found->second.size() != bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("IOVA {:#x} with {} bytes is no mapping; exactly what map() gave "
                            "expected",
                            iova, bytes));
  PORTCULLIS_TRY(link_->require(
      Command::DmaUnmap,
      bytes_of(DmaUnmap{.argsz = sizeof(DmaUnmap), .address = iova, .size = bytes})));
  const std::span<std::byte> memory = found->second;
  mapped_.erase(found);
  PORTCULLIS_TRY(unshare_pages(memory));
  return forget_pages(file_.get(), iova - kFirstIova, bytes).has_value();
}

Result<void> ShmDmaSpace::retire(Iova iova, std::size_t bytes) {
  const std::lock_guard one(one_at_a_time_);
  PORTCULLIS_TRY(take_away(iova, bytes));
  return {};
}

Result<void> ShmDmaSpace::unmap(Iova iova, std::size_t bytes) {
  const std::lock_guard one(one_at_a_time_);
  PORTCULLIS_TRY_ASSIGN(const bool is_clean, take_away(iova, bytes));
  if (is_clean) iovas_.release(iova, bytes);
  return {};
}

Result<std::unique_ptr<ShmFunction>> ShmFunction::attach(const std::string& path) {
  PORTCULLIS_TRY_ASSIGN(auto link, ShmLink::connect(path));
  std::unique_ptr<ShmFunction> function(new ShmFunction(std::move(link)));
  PORTCULLIS_TRY(function->map_bar());
  PORTCULLIS_TRY(function->read_ids());
  PORTCULLIS_TRY_ASSIGN(function->dma_, ShmDmaSpace::create(*function->link_));
  return function;
}

ShmFunction::~ShmFunction() {
  if (!bar_.empty()) munmap(bar_.data(), bar_.size());
}

Result<void> ShmFunction::map_bar() {
  PORTCULLIS_TRY_ASSIGN(const ShmLink::Answer answer,
                        link_->require(Command::DeviceGetRegionInfo,
                                       bytes_of(RegionInfo{.argsz = sizeof(RegionInfo),
                                                           .index = VFIO_PCI_BAR0_REGION_INDEX})));
  const auto region = decode<RegionInfo>(answer.payload);
  if (!region || (region->flags & VFIO_REGION_INFO_FLAG_MMAP) == 0 || answer.files.size() != 1)
    return fail(Errc::Unsupported, link_->name() +
                                       ": its BAR0 is for messages, as a guest's is; a server that "
                                       "was started with --shm in place of --socket is accepted");
  if (region->size < pmd::kLeastBarBytes)
    return fail(Errc::Unsupported, fmt::format("{}: BAR0 has {} bytes, at least {} expected",
                                               link_->name(), region->size, pmd::kLeastBarBytes));
  void* const at = mmap(nullptr, region->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                        answer.files.front().get(), static_cast<off_t>(region->offset));
  if (at == MAP_FAILED)
    return fail(Errc::System,
                fmt::format("{}: mmap of BAR0: {}", link_->name(), std::strerror(errno)));
  bar_ = std::span(static_cast<std::byte*>(at), region->size);
  return {};
}

template <class Value>
Result<Value> ShmFunction::read_config(std::uint64_t offset) {
  const RegionAccess access{
      .offset = offset, .region = VFIO_PCI_CONFIG_REGION_INDEX, .count = sizeof(Value)};
  PORTCULLIS_TRY_ASSIGN(const ShmLink::Answer answer,
                        link_->require(Command::RegionRead, bytes_of(access)));
  if (answer.payload.size() == sizeof access + sizeof(Value))
    return *decode<Value>(std::span(answer.payload).subspan(sizeof access));
  return fail(Errc::Malformed, link_->name() + ": an answer to REGION_READ of another length");
}

template <class Value>
Result<void> ShmFunction::write_config(std::uint64_t offset, Value value) {
  auto payload = bytes_of(RegionAccess{
      .offset = offset, .region = VFIO_PCI_CONFIG_REGION_INDEX, .count = sizeof value});
  encode(payload, value);
  PORTCULLIS_TRY(link_->require(Command::RegionWrite, payload));
  return {};
}

Result<std::uint32_t> ShmFunction::read_config_dword(std::uint32_t offset) {
  return read_config<std::uint32_t>(offset);
}

Result<void> ShmFunction::write_config_dword(std::uint32_t offset, std::uint32_t value) {
  return write_config(offset, value);
}

Result<void> ShmFunction::read_ids() {
  PORTCULLIS_TRY_ASSIGN(vendor_id_, read_config<std::uint16_t>(PCI_VENDOR_ID));
  PORTCULLIS_TRY_ASSIGN(device_id_, read_config<std::uint16_t>(PCI_DEVICE_ID));
  if (auto known = pmd::check_pci_id(vendor_id_, device_id_); !known)
    return fail(known.error().code, link_->name() + ": " + known.error().text);
  return {};
}

Device ShmFunction::device() noexcept {
  return Device{.bar = bar_,
                .dma = dma_.get(),
                .function = this,
                .clock = Clock::wall(),
                .relax = Relax(&yield_briefly, nullptr),
                .description = link_->name()};
}

Result<void> ShmFunction::set_bus_master(bool on) {
  PORTCULLIS_TRY_ASSIGN(const std::uint16_t before, read_config<std::uint16_t>(PCI_COMMAND));
  const auto wanted = static_cast<std::uint16_t>(
      on ? before | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER : before & ~PCI_COMMAND_MASTER);
  PORTCULLIS_TRY(write_config(PCI_COMMAND, wanted));
  PORTCULLIS_TRY_ASSIGN(const std::uint16_t now, read_config<std::uint16_t>(PCI_COMMAND));
  if (((now & PCI_COMMAND_MASTER) != 0) == on) return {};
  return fail(Errc::DeviceFailed,
              fmt::format("{}: bus mastering stays {}", link_->name(), on ? "off" : "on"));
}

Result<void> ShmFunction::reset() {
  PORTCULLIS_TRY(link_->require(Command::DeviceReset, {}));
  return {};
}

}  // namespace portcullis::attach
