// SPDX-License-Identifier: BSD-3-Clause
#include "tests/model/mini_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "base/cells.hpp"
#include "prm/signature.hpp"

namespace portcullis::model::testing {
namespace {

template <class T>
T value_of(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << "a test's own set-up failed: " << result.error().text << '\n';
  std::exit(EXIT_FAILURE);
}

void require(bool held, const char* what) {
  if (held) return;
  std::cerr << "a test's own set-up failed: " << what << '\n';
  std::exit(EXIT_FAILURE);
}

}  // namespace

MiniDriver::MiniDriver(const Options& options)
    : model_(value_of(Model::create(options))),
      device_(model_->device()),
      arena_(std::make_unique<DmaArena>(*device_.dma)),
      queue_(allocate(kPageBytes)) {}

MiniDriver::~MiniDriver() = default;

DmaBuffer MiniDriver::allocate(std::size_t bytes) { return value_of(arena_->allocate(bytes)); }

void MiniDriver::pass(std::uint64_t ns) {
  const std::uint64_t end = device_.clock.now_ns() + ns;
  static_cast<void>(wait_until(device_, end, [] { return false; }));
}

void MiniDriver::program_queue() {
  registers().write<"cmdq_addr_h">(static_cast<std::uint32_t>(queue_.iova() >> 32));
  registers().write<"cmdq_addr_l_sz">(prm::cmdq_addr_l_sz(queue_.iova(), 0));
  require(device_.function->set_bus_master(true).has_value(), "bus mastering");
  const auto ready = [this] { return registers().get<"initializing">() == 0; };
  require(wait_until(device_, device_.clock.now_ns() + kPatienceNs, ready), "initialisation");
}

std::vector<DmaBuffer> MiniDriver::chain(std::span<const std::byte> data, std::size_t bytes) {
  const std::size_t rest = bytes > prm::kCmdInlineBytes ? bytes - prm::kCmdInlineBytes : 0;
  const std::size_t count = (rest + prm::kCmdDataBlockBytes - 1) / prm::kCmdDataBlockBytes;
  std::vector<DmaBuffer> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(allocate(prm::kMailboxAlignmentBytes));
  data = data.subspan(std::min(data.size(), prm::kCmdInlineBytes));
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = prm::View<prm::cmd_if_box>::at(blocks[i].bytes());
    const auto part = data.first(std::min(data.size(), prm::kCmdDataBlockBytes));
    std::ranges::copy(part, block.bytes<"mailbox_data">().begin());
    data = data.subspan(part.size());
    block.put<"token">(kToken);
    block.put<"block_number">(static_cast<std::uint32_t>(i));
    if (i + 1 == count) continue;
    const Iova next = blocks[i + 1].iova();
    block.put<"next_pointer_63_32">(static_cast<std::uint32_t>(next >> 32));
    static_cast<void>(block.try_set<"next_pointer_31_10">((next & 0xffffffff) >> 10));
  }
  return blocks;
}

Posted MiniDriver::lay_out(std::uint32_t slot, std::span<const std::byte> in, std::size_t out_bytes,
                           bool signs) {
  Posted posted{slot,
                queue_.bytes()
                    .subspan(slot * prm::cmd_queue_entry::bytes)
                    .first<prm::cmd_queue_entry::bytes>(),
                chain(in, in.size()), chain({}, out_bytes), out_bytes};
  std::ranges::fill(posted.entry, std::byte{0});
  const auto entry = posted.view();
  static_cast<void>(entry.try_set<"type">(prm::kPciCmdXport));
  entry.put<"input_length">(static_cast<std::uint32_t>(in.size()));
  entry.put<"output_length">(static_cast<std::uint32_t>(out_bytes));
  entry.put<"token">(kToken);
  std::ranges::copy(in.first(std::min(in.size(), prm::kCmdInlineBytes)),
                    entry.bytes<"command_input_inline_data">().begin());
  if (!posted.in_blocks.empty()) {
    const Iova at = posted.in_blocks[0].iova();
    entry.put<"input_mailbox_pointer_63_32">(static_cast<std::uint32_t>(at >> 32));
    static_cast<void>(entry.try_set<"input_mailbox_pointer_31_9">((at & 0xffffffff) >> 9));
  }
  if (!posted.out_blocks.empty()) {
    const Iova at = posted.out_blocks[0].iova();
    entry.put<"output_mailbox_pointer_63_32">(static_cast<std::uint32_t>(at >> 32));
    static_cast<void>(entry.try_set<"output_mailbox_pointer_31_9">((at & 0xffffffff) >> 9));
  }
  if (signs) sign(posted);
  return posted;
}

void MiniDriver::sign(Posted& posted) {
  for (std::size_t i = 0; i < posted.in_blocks.size(); ++i) prm::sign_block(posted.in_block(i));
  prm::sign_entry(posted.view(), prm::EntryOwner::Hardware);
}

void MiniDriver::hand_over(const Posted& posted) {
  cells::store_release<std::uint8_t>(posted.entry.data() + posted.entry.size() - 1, 1);
}

void MiniDriver::ring(std::uint32_t slot) { ring_vector(1u << slot); }

void MiniDriver::ring_vector(std::uint32_t vector) { registers().write<"cmd_dbell">(vector); }

bool MiniDriver::is_answered(const Posted& posted) const {
  const auto last =
      cells::load_acquire<std::uint8_t>(posted.entry.data() + posted.entry.size() - 1);
  return (last & 1) == 0;
}

Answer MiniDriver::read_answer(const Posted& posted) const {
  Answer answer;
  answer.returned = is_answered(posted);
  if (!answer.returned) return answer;
  const auto entry = posted.view();
  answer.delivery = static_cast<prm::DeliveryStatus>(entry.get<"status">());
  const auto first = entry.bytes<"command_output_inline_data">();
  answer.out.assign(first.begin(), first.end());
  for (std::size_t i = 0; i < posted.out_blocks.size(); ++i) {
    const auto data = posted.out_block(i).bytes<"mailbox_data">();
    answer.out.insert(answer.out.end(), data.begin(), data.end());
  }
  answer.out.resize(std::max(posted.out_bytes, prm::cmd_out::bytes));
  const auto header = prm::ConstView<prm::cmd_out>::at(answer.out);
  answer.status = static_cast<prm::CommandStatus>(header.get<"status">());
  answer.syndrome = header.get<"syndrome">();
  return answer;
}

Answer MiniDriver::await(const Posted& posted, std::uint64_t patience_ns) {
  static_cast<void>(wait_until(device_, device_.clock.now_ns() + patience_ns,
                               [&] { return is_answered(posted); }));
  return read_answer(posted);
}

Answer MiniDriver::execute(std::span<const std::byte> in, std::size_t out_bytes) {
  const Posted posted = lay_out(0, in, out_bytes);
  hand_over(posted);
  ring(0);
  return await(posted);
}

std::vector<std::byte> MiniDriver::with_list(std::span<const std::byte> in,
                                             std::span<const Iova> list) {
  std::vector<std::byte> all(in.begin(), in.end());
  for (const Iova iova : list) {
    const std::uint64_t raw = cells::be64(iova);
    const auto bytes = std::as_bytes(std::span(&raw, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

Answer MiniDriver::enable() {
  return run<prm::enable_hca_out>(command<prm::enable_hca_in>(prm::Opcode::ENABLE_HCA));
}

std::int32_t MiniDriver::pages_wanted(prm::QueryPagesOpMod what) {
  auto in = command<prm::query_pages_in>(prm::Opcode::QUERY_PAGES);
  in.put<"op_mod">(what);
  const Answer answer = run<prm::query_pages_out>(in);
  require(answer.ok(), "QUERY_PAGES");
  return static_cast<std::int32_t>(answer.as<prm::query_pages_out>().get<"num_pages">());
}

Answer MiniDriver::give_pages(std::int32_t count) {
  std::vector<Iova> list;
  for (std::int32_t i = 0; i < count; ++i) {
    given_pages_.push_back(allocate(kPageBytes));
    list.push_back(given_pages_.back().iova());
  }
  auto in = command<prm::manage_pages_in>(prm::Opcode::MANAGE_PAGES);
  in.put<"op_mod">(prm::ManagePagesOpMod::ALLOCATION_SUCCESS);
  in.put<"input_num_entries">(static_cast<std::uint32_t>(count));
  return run<prm::manage_pages_out>(in, list);
}

void MiniDriver::bring_up_to_boot_pages() {
  program_queue();
  require(enable().ok(), "ENABLE_HCA");
  require(give_pages(pages_wanted(prm::QueryPagesOpMod::BOOT_PAGES)).ok(), "boot pages");
}

void MiniDriver::bring_up() {
  bring_up_to_boot_pages();
  require(give_pages(pages_wanted(prm::QueryPagesOpMod::INIT_PAGES)).ok(), "init pages");
  require(run<prm::init_hca_out>(command<prm::init_hca_in>(prm::Opcode::INIT_HCA)).ok(),
          "INIT_HCA");
}

Answer MiniDriver::set_checksum(std::uint32_t value) {
  auto query = command<prm::query_hca_cap_in>(prm::Opcode::QUERY_HCA_CAP);
  query.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL, prm::CapMode::GET_CUR));
  const Answer now = run<prm::query_hca_cap_out>(query);
  require(now.ok(), "QUERY_HCA_CAP");
  auto set = command<prm::set_hca_cap_in>(prm::Opcode::SET_HCA_CAP);
  set.put<"op_mod">(prm::cap_op_mod(prm::CapType::GENERAL));
  std::ranges::copy(now.as<prm::query_hca_cap_out>().bytes<"capability">(),
                    set.bytes<"capability">().begin());
  const auto page = prm::View<prm::cmd_hca_cap>::at(set.bytes<"capability">());
  static_cast<void>(page.try_set<"cmdif_checksum">(value));
  return run<prm::set_hca_cap_out>(set);
}

std::uint32_t MiniDriver::alloc_uar() {
  return run<prm::alloc_uar_out>(command<prm::alloc_uar_in>(prm::Opcode::ALLOC_UAR))
      .as<prm::alloc_uar_out>()
      .get<"uar">();
}

std::uint32_t MiniDriver::alloc_pd() {
  return run<prm::alloc_pd_out>(command<prm::alloc_pd_in>(prm::Opcode::ALLOC_PD))
      .as<prm::alloc_pd_out>()
      .get<"pd">();
}

}  // namespace portcullis::model::testing
