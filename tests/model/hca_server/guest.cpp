// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/hca_server/guest.hpp"

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "base/cells.hpp"
#include "prm/cmd_interface.hpp"
#include "prm/enums.hpp"
#include "prm/eqe.hpp"
#include "prm/hca_commands.hpp"
#include "prm/init_segment.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::model::testing {
namespace {

using vfio_user::Command;
using vfio_user::Deadline;
using vfio_user::decode;
using vfio_user::encode;
using vfio_user::Header;

constexpr int kPatienceMs = 120'000;  // longer than any server is meant to take

// Where a command and its parts stand in guest memory.
constexpr std::size_t kQueue = 0;
constexpr std::size_t kInputBlocks = 0x10000;
constexpr std::size_t kOutputBlocks = 0x80000;
constexpr std::size_t kFirmwarePages = 0x200000;
constexpr std::size_t kBlock = prm::kMailboxAlignmentBytes;

void require(bool held, const char* what) {
  if (held) return;
  std::cerr << "a test's own set-up failed: " << what << ": " << std::strerror(errno) << '\n';
  std::exit(EXIT_FAILURE);
}

template <class T>
T value_of(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << "a test's own set-up failed: " << result.error().text << '\n';
  std::exit(EXIT_FAILURE);
}

std::string fresh_path() {
  static std::atomic<int> count{0};
  return "/tmp/portcullis-guest-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  const auto* generic = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  require(connect(fd.get(), generic, sizeof address) == 0, "connect");
  return fd;
}

std::size_t blocks_of(std::size_t bytes) {
  const std::size_t rest = bytes > prm::kCmdInlineBytes ? bytes - prm::kCmdInlineBytes : 0;
  return (rest + prm::kCmdDataBlockBytes - 1) / prm::kCmdDataBlockBytes;
}

std::unique_ptr<FrameChannel> channel_of(const std::string& wire) {
  if (wire.empty()) return nullptr;
  return value_of(FrameChannel::open(value_of(WireSpec::parse(wire))));
}

}  // namespace

ServedFunction::ServedFunction(const Options& options, const std::string& wire)
    : path_(fresh_path()),
      function_(value_of(HcaFunction::create(options, Uplink::only(channel_of(wire))))),
      listener_(value_of(vfio_user::Listener::create(path_))) {
  thread_ = std::thread([this] {
    static_cast<void>(serve_clients(*function_, *listener_, stop_, [this](std::string_view line) {
      const std::lock_guard lock(mutex_);
      log_.emplace_back(line);
    }));
  });
}

ServedFunction::ServedFunction(Owner owner, std::chrono::milliseconds linger,
                               std::unique_ptr<FrameChannel> channel)
    : path_(fresh_path()),
      function_(value_of(HcaFunction::create({}, Uplink::only(std::move(channel)), owner))),
      listener_(value_of(vfio_user::Listener::create(path_))) {
  thread_ = std::thread([this, linger] {
    static_cast<void>(
        serve_owners(*function_, *listener_, linger, stop_, [this](std::string_view line) {
          const std::lock_guard lock(mutex_);
          log_.emplace_back(line);
        }));
  });
}

ServedFunction::~ServedFunction() { stop(); }

HcaFunction& ServedFunction::stop() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  return *function_;
}

std::vector<std::string> ServedFunction::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

bool ServedFunction::says(const std::string& text) const {
  const Deadline deadline(60'000);
  while (!deadline.has_passed()) {
    const auto lines = log();
    if (std::ranges::any_of(lines, [&](const auto& line) { return line.find(text) != line.npos; }))
      return true;
    std::this_thread::yield();
  }
  return false;
}

Guest::Guest(const std::string& path) : file_(memfd_create("guest", 0)) {
  require(ftruncate(file_.get(), kMemoryBytes) == 0, "ftruncate");
  void* raw = mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  require(raw != MAP_FAILED, "mmap");
  memory_ = std::span(static_cast<std::byte*>(raw), kMemoryBytes);
  connection_.emplace(connect_to(path));
  std::vector<std::byte> payload;
  encode(payload, vfio_user::Version{.major = 0, .minor = 1});
  require(call(Command::Version, payload) == 0, "version");
}

Guest::~Guest() { munmap(memory_.data(), memory_.size()); }

std::uint32_t Guest::map(bool with_file, std::uint32_t flags) {
  return map_part(0, kMemoryBytes, with_file, flags);
}

std::uint32_t Guest::map_part(std::uint64_t offset, std::uint64_t bytes, bool with_file,
                              std::uint32_t flags) {
  std::vector<std::byte> payload;
  encode(payload, vfio_user::DmaMap{.argsz = sizeof(vfio_user::DmaMap),
                                    .flags = flags,
                                    .offset = with_file ? offset : 0,
                                    .address = iova(offset),
                                    .size = bytes});
  mapped_.emplace_back(iova(offset), bytes);
  const int fd = file_.get();
  return call(Command::DmaMap, payload, std::span(&fd, with_file ? 1U : 0U));
}

std::uint32_t Guest::unmap(Iova address, std::uint64_t bytes) {
  std::erase(mapped_, std::pair(address, bytes));
  std::vector<std::byte> payload;
  encode(payload, vfio_user::DmaUnmap{
                      .argsz = sizeof(vfio_user::DmaUnmap), .address = address, .size = bytes});
  return call(Command::DmaUnmap, payload);
}

void Guest::cut_memory_short() { require(ftruncate(file_.get(), 0) == 0, "ftruncate"); }

std::uint32_t Guest::call(Command command, std::vector<std::byte>& payload,
                          std::span<const int> fds) {
  const Deadline deadline(kPatienceMs);
  const Header header{.message_id = next_id_++, .command = command};
  require(connection_->send(header, payload, deadline, fds).has_value(), "send");
  while (true) {
    auto message = value_of(connection_->receive(deadline));
    require(message.has_value(), "the server hung up");
    if ((message->header.flags & Header::kTypeMask) == Header::kTypeCommand) {
      kept_.push_back(*std::move(message));
      if (answers_ == Answers::AtOnce) serve_kept();
      continue;
    }
    if (answers_ == Answers::AfterReplies) serve_kept();
    payload = std::move(message->payload);
    return (message->header.flags & Header::kError) != 0 ? message->header.error : 0;
  }
}

void Guest::serve_kept() {
  for (const vfio_user::Message& dma : std::exchange(kept_, {})) serve_dma(dma);
}

void Guest::answer_dma() {
  answers_ = Answers::AtOnce;
  serve_kept();
}

bool Guest::is_mapped(Iova address, std::uint64_t bytes) const {
  return std::any_of(mapped_.begin(), mapped_.end(), [&](const auto& range) {
    return address >= range.first && address - range.first < range.second &&
           bytes <= range.second - (address - range.first);
  });
}

void Guest::serve_dma(const vfio_user::Message& message) {
  const auto access = *decode<vfio_user::DmaAccess>(message.payload);
  Header header{.message_id = message.header.message_id,
                .command = message.header.command,
                .flags = Header::kTypeReply};
  std::vector<std::byte> reply;
  if (!is_mapped(access.address, access.count)) {  // this guest's IOMMU says no
    ++dma_refused_;
    header.flags |= Header::kError;
    header.error = EFAULT;
    require(connection_->send(header, reply, Deadline(kPatienceMs)).has_value(),
            "refusal of a DMA message");
    return;
  }
  encode(reply, access);
  const std::uint64_t offset = access.address - kBase;
  const auto at = memory_.subspan(offset, access.count);
  if (message.header.command == Command::DmaRead) {
    ++dma_reads_;
    reply.insert(reply.end(), at.begin(), at.end());
  } else {
    ++dma_writes_;
    std::copy_n(message.payload.begin() + sizeof access, access.count, at.begin());
  }
  require(connection_->send(header, reply, Deadline(kPatienceMs)).has_value(),
          "reply to a DMA message");
}

void Guest::write_bar(std::uint64_t offset, std::uint32_t value) {
  post_bar(offset, value);
  settle();
}

// A DMA message comes before the reply to whatever is asked while its answer is awaited, so a reply
// without one before it says that the server has nothing to do.
void Guest::settle() {
  std::size_t before = 0;
  do {
    before = dma_messages();
    static_cast<void>(read_bar(0));
  } while (dma_messages() != before);
}

void Guest::post_bar(std::uint64_t offset, std::uint32_t value) {
  std::vector<std::byte> payload;
  encode(payload, vfio_user::RegionAccess{
                      .offset = offset, .region = VFIO_PCI_BAR0_REGION_INDEX, .count = 4});
  encode(payload, cells::be32(value));
  require(call(Command::RegionWrite, payload) == 0, "BAR write");
}

std::uint32_t Guest::read_bar(std::uint64_t offset) {
  std::vector<std::byte> payload;
  encode(payload, vfio_user::RegionAccess{
                      .offset = offset, .region = VFIO_PCI_BAR0_REGION_INDEX, .count = 4});
  require(call(Command::RegionRead, payload) == 0, "BAR read");
  const auto value =
      decode<std::uint32_t>(std::span(payload).subspan(sizeof(vfio_user::RegionAccess)));
  return cells::be32(*value);
}

void Guest::write_config(std::uint64_t offset, std::uint16_t value) {
  std::vector<std::byte> payload;
  encode(payload, vfio_user::RegionAccess{
                      .offset = offset, .region = VFIO_PCI_CONFIG_REGION_INDEX, .count = 2});
  encode(payload, value);
  require(call(Command::RegionWrite, payload) == 0, "config write");
}

std::uint16_t Guest::read_config(std::uint64_t offset) {
  std::vector<std::byte> payload;
  encode(payload, vfio_user::RegionAccess{
                      .offset = offset, .region = VFIO_PCI_CONFIG_REGION_INDEX, .count = 2});
  require(call(Command::RegionRead, payload) == 0, "config read");
  return *decode<std::uint16_t>(std::span(payload).subspan(sizeof(vfio_user::RegionAccess)));
}

void Guest::reset_device() {
  std::vector<std::byte> payload;
  require(call(Command::DeviceReset, payload) == 0, "reset");
}

void Guest::set_msix(std::uint32_t vector, int eventfd) {
  constexpr std::uint64_t kMsixFlags = 0x9c + PCI_MSIX_FLAGS;  // config_space.cpp
  std::vector<std::byte> payload;
  encode(payload,
         vfio_user::IrqSet{.argsz = sizeof(vfio_user::IrqSet),
                           .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
                           .index = VFIO_PCI_MSIX_IRQ_INDEX,
                           .start = vector,
                           .count = 1});
  require(call(Command::DeviceSetIrqs, payload, std::span(&eventfd, 1)) == 0, "SET_IRQS");
  write_config(kMsixFlags, PCI_MSIX_FLAGS_ENABLE);
}

void Guest::send_raw(std::span<const std::byte> bytes) {
  require(
      write(connection_->fd(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
      "write");
}

bool Guest::is_hung_up() {
  const auto message = connection_->receive(Deadline(kPatienceMs));
  return !message || !*message;
}

void Guest::set_bus_master(bool on) {
  write_config(PCI_COMMAND, on ? PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER : PCI_COMMAND_MEMORY);
}

void Guest::start() {
  set_bus_master(true);
  write_bar(prm::place<prm::mlx5_init_seg, "cmdq_addr_h">.offset / 8,
            static_cast<std::uint32_t>(iova(kQueue) >> 32));
  write_bar(prm::place<prm::mlx5_init_seg, "cmdq_addr_l_sz">.offset / 8,
            static_cast<std::uint32_t>(iova(kQueue)));
  require(read_bar(prm::place<prm::mlx5_init_seg, "initializing">.offset / 8) == 0,
          "initialisation");
}

std::uint64_t Guest::chain(std::size_t at, std::span<const std::byte> data, std::size_t bytes) {
  const std::size_t count = blocks_of(bytes);
  data = data.subspan(std::min(data.size(), prm::kCmdInlineBytes));
  for (std::size_t i = 0; i < count; ++i) {
    const auto raw = memory_.subspan(at + i * kBlock, kBlock);
    std::ranges::fill(raw, std::byte{0});
    const auto block = prm::View<prm::cmd_if_box>::at(raw);
    const auto part = data.first(std::min(data.size(), prm::kCmdDataBlockBytes));
    std::ranges::copy(part, block.bytes<"mailbox_data">().begin());
    data = data.subspan(part.size());
    block.put<"block_number">(static_cast<std::uint32_t>(i));
    if (i + 1 == count) continue;
    const Iova next = iova(at + (i + 1) * kBlock);
    block.put<"next_pointer_63_32">(static_cast<std::uint32_t>(next >> 32));
    static_cast<void>(block.try_set<"next_pointer_31_10">((next & 0xffffffff) >> 10));
  }
  return count == 0 ? 0 : iova(at);
}

void Guest::lay_out(std::span<const std::byte> in, std::size_t out_bytes, std::uint32_t slot) {
  const auto raw =
      memory_.subspan(kQueue + slot * prm::cmd_queue_entry::bytes, prm::cmd_queue_entry::bytes);
  std::ranges::fill(raw, std::byte{0});
  const auto entry = prm::View<prm::cmd_queue_entry>::at(raw);
  static_cast<void>(entry.try_set<"type">(prm::kPciCmdXport));
  entry.put<"input_length">(static_cast<std::uint32_t>(in.size()));
  entry.put<"output_length">(static_cast<std::uint32_t>(out_bytes));
  std::ranges::copy(in.first(std::min(in.size(), prm::kCmdInlineBytes)),
                    entry.bytes<"command_input_inline_data">().begin());
  const Iova input = chain(kInputBlocks, in, in.size());
  const Iova output = chain(kOutputBlocks, {}, out_bytes);
  entry.put<"input_mailbox_pointer_63_32">(static_cast<std::uint32_t>(input >> 32));
  static_cast<void>(entry.try_set<"input_mailbox_pointer_31_9">((input & 0xffffffff) >> 9));
  entry.put<"output_mailbox_pointer_63_32">(static_cast<std::uint32_t>(output >> 32));
  static_cast<void>(entry.try_set<"output_mailbox_pointer_31_9">((output & 0xffffffff) >> 9));
  cells::store_release<std::uint8_t>(raw.data() + raw.size() - 1, 1);
}

GuestAnswer Guest::execute(std::span<const std::byte> in, std::size_t out_bytes,
                           std::uint32_t slot) {
  lay_out(in, out_bytes, slot);
  write_bar(kCommandDoorbell, 1U << slot);
  return answer_in(slot, out_bytes);
}

GuestAnswer Guest::answer_in(std::uint32_t slot, std::size_t out_bytes) {
  const auto raw =
      memory_.subspan(kQueue + slot * prm::cmd_queue_entry::bytes, prm::cmd_queue_entry::bytes);
  const auto entry = prm::View<prm::cmd_queue_entry>::at(raw);
  GuestAnswer answer;
  const auto last = cells::load_acquire<std::uint8_t>(raw.data() + raw.size() - 1);
  answer.returned = (last & 1) == 0;
  answer.delivery = static_cast<std::uint8_t>(last >> 1);
  const auto first = entry.bytes<"command_output_inline_data">();
  answer.out.assign(first.begin(), first.end());
  for (std::size_t i = 0; i < blocks_of(out_bytes); ++i) {
    const auto block = prm::View<prm::cmd_if_box>::at(memory_, kOutputBlocks + i * kBlock);
    const auto data = block.bytes<"mailbox_data">();
    answer.out.insert(answer.out.end(), data.begin(), data.end());
  }
  answer.status = std::to_integer<std::uint8_t>(answer.out[0]);
  return answer;
}

bool Guest::bring_up() {
  return enable() && give_pages(prm::QueryPagesOpMod::BOOT_PAGES) &&
         give_pages(prm::QueryPagesOpMod::INIT_PAGES) && init();
}

bool Guest::bring_up_to_hear() {
  return enable() && give_pages(prm::QueryPagesOpMod::BOOT_PAGES) && ask_to_hear() &&
         give_pages(prm::QueryPagesOpMod::INIT_PAGES) && init();
}

bool Guest::enable() {
  start();
  given_ = 0;
  prm::Buffer<prm::enable_hca_in> in;
  in.put<"opcode">(prm::Opcode::ENABLE_HCA);
  return execute(in.all(), prm::enable_hca_out::bytes).ok();
}

bool Guest::give_pages(prm::QueryPagesOpMod what) {
  prm::Buffer<prm::query_pages_in> query;
  query.put<"opcode">(prm::Opcode::QUERY_PAGES).put<"op_mod">(what);
  const GuestAnswer wanted = execute(query.all(), prm::query_pages_out::bytes);
  if (!wanted.ok()) return false;
  const auto count =
      prm::ConstView<prm::query_pages_out>::at(std::span(wanted.out)).get<"num_pages">();
  prm::Buffer<prm::manage_pages_in> give;
  give.put<"opcode">(prm::Opcode::MANAGE_PAGES);
  give.put<"op_mod">(prm::ManagePagesOpMod::ALLOCATION_SUCCESS).put<"input_num_entries">(count);
  std::vector<std::byte> in(give.all().begin(), give.all().end());
  for (std::uint32_t i = 0; i < count; ++i, given_ += kPageBytes)
    encode(in, cells::be64(iova(kFirmwarePages + given_)));
  return execute(in, prm::manage_pages_out::bytes).ok();
}

bool Guest::ask_to_hear() {
  prm::Buffer<prm::query_hca_cap_in> query;
  query.put<"opcode">(prm::Opcode::QUERY_HCA_CAP);
  query.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const GuestAnswer now = execute(query.all(), prm::query_hca_cap_out::bytes);
  if (!now.ok()) return false;
  prm::Buffer<prm::set_hca_cap_in> set;
  set.put<"opcode">(prm::Opcode::SET_HCA_CAP);
  set.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL));
  std::ranges::copy(
      prm::ConstView<prm::query_hca_cap_out>::at(std::span(now.out)).bytes<"capability">(),
      set.bytes<"capability">().begin());
  prm::View<prm::cmd_hca_cap>::at(set.bytes<"capability">())
      .set<"pci_sync_for_fw_update_event", 1>();
  return execute(set.all(), prm::set_hca_cap_out::bytes).ok();
}

bool Guest::init() {
  prm::Buffer<prm::init_hca_in> in;
  in.put<"opcode">(prm::Opcode::INIT_HCA);
  return execute(in.all(), prm::init_hca_out::bytes).ok();
}

GuestAnswer alloc_uar(Guest& guest) {
  prm::Buffer<prm::alloc_uar_in> in;
  in.put<"opcode">(prm::Opcode::ALLOC_UAR);
  return guest.execute(in.all(), prm::alloc_uar_out::bytes);
}

std::optional<std::uint32_t> create_eq(Guest& guest, prm::EventType type, std::uint32_t uar,
                                       std::uint8_t vector, std::size_t offset) {
  prm::Buffer<prm::create_eq_in> in;
  in.put<"opcode">(prm::Opcode::CREATE_EQ).put<"eq_context_entry.uar_page">(uar);
  in.set<"eq_context_entry.log_eq_size", 5>().put<"eq_context_entry.intr">(vector);
  prm::enable_event(in.bytes<"event_bitmask">(), type);
  std::vector<std::byte> bytes(in.all().begin(), in.all().end());
  encode(bytes, cells::be64(Guest::iova(offset)));
  const GuestAnswer eq = guest.execute(bytes, prm::create_eq_out::bytes);
  if (!eq.ok()) return std::nullopt;
  return prm::ConstView<prm::create_eq_out>::at(std::span(eq.out)).get<"eq_number">();
}

}  // namespace portcullis::model::testing
