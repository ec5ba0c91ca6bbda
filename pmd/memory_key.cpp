// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memory_key.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "base/cells.hpp"
#include "pmd/command_tail.hpp"
#include "pmd/fence_commands.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"

namespace portcullis::pmd {
namespace {

using CreateMkey = prm::Buffer<prm::create_mkey_in>;

constexpr std::size_t kWordsOfKlm = prm::mlx5_klm::bytes / sizeof(std::uint64_t);

std::uint64_t word_of(std::span<const std::byte> bytes, std::size_t index) noexcept {
  std::uint64_t raw = 0;
  std::memcpy(&raw, bytes.data() + index * sizeof raw, sizeof raw);
  return cells::be64(raw);
}

constexpr unsigned kLeastPageShift = 12;
constexpr unsigned kMostPageShift = 31;  // mkc.log_page_size has five bits

/// The largest page that the range is made of: addresses and length are multiples of it.
unsigned page_shift(const MemoryRange& range) noexcept {
  const std::uint64_t bits =
      range.iova | range.start_address | range.bytes | std::uint64_t{1} << kMostPageShift;
  return std::max(kLeastPageShift, static_cast<unsigned>(std::countr_zero(bits)));
}

Result<void> check(const MemoryRange& range) {
  constexpr std::uint64_t kInPage = (std::uint64_t{1} << kLeastPageShift) - 1;
  if (range.bytes == 0 || range.iova + range.bytes < range.iova ||
      range.start_address + range.bytes < range.start_address)
    return fail(Errc::InvalidArgument, "a memory key over " + std::to_string(range.bytes) +
                                           " bytes; at least 1, and no address may wrap");
  if (((range.iova ^ range.start_address) & kInPage) != 0)
    return fail(Errc::InvalidArgument, "a memory key whose addresses lie " +
                                           std::to_string(range.iova & kInPage) + " and " +
                                           std::to_string(range.start_address & kInPage) +
                                           " bytes into their pages; both must lie equally deep");
  return {};
}

Result<void> check(Access access) {
  if ((access.remote_write || access.remote_atomic) && !access.local_write)
    return fail(Errc::InvalidArgument,
                "a memory key with remote write or atomics and without local write");
  return {};
}

/// What every kind of key has (mlx5_ib, set_mkc_access_pd_addr_fields and assign_mkey_variant).
CreateMkey prepare(const Context& context, const ProtectionDomain& pd, Access access,
                   prm::QpNumber qpn) {
  CreateMkey in;
  in.set<"opcode", prm::number(prm::Opcode::CREATE_MKEY)>();
  in.set<"memory_key_mkey_entry.lr", 1>();
  in.put<"memory_key_mkey_entry.lw">(access.local_write ? 1 : 0);
  in.put<"memory_key_mkey_entry.rw">(access.remote_write ? 1 : 0);
  in.put<"memory_key_mkey_entry.rr">(access.remote_read ? 1 : 0);
  in.put<"memory_key_mkey_entry.a">(access.remote_atomic ? 1 : 0);
  in.put<"memory_key_mkey_entry.qpn">(qpn);
  in.put<"memory_key_mkey_entry.pd">(pd.number());
  in.put<"memory_key_mkey_entry.mkey_7_0">(context.key_variants->next());
  return in;
}

Result<void> check(const Capabilities& caps, std::span<const KeyRange> ranges) {
  // What drivers give one entry at most: MLX5_MAX_KLM_BYTE_COUNT of DPDK.
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;
  if (caps.max_indirection == 0)
    return fail(Errc::Unsupported, "this function has no indirect memory keys (max_indirection 0)");
  const std::uint64_t most = std::uint64_t{1} << caps.log_max_klm_list_size;
  if (ranges.empty() || ranges.size() > most)
    return fail(Errc::InvalidArgument, "an indirect memory key of " +
                                           std::to_string(ranges.size()) + " entries; 1 to " +
                                           std::to_string(most) + " expected");
  for (const KeyRange& range : ranges)
    if (range.bytes == 0 || range.bytes > kMostBytes)
      return fail(Errc::InvalidArgument, "an indirect memory key with an entry of " +
                                             std::to_string(range.bytes) +
                                             " bytes; 1 to 2^31 expected");
  return {};
}

/// struct mlx5_klm; in whole groups of four, as every driver lays them out (klm_byte_size of
/// mlx5_vdpa, MLX5_UMR_KLM_NUM_ENTRIES_ALIGNMENT).
std::vector<std::uint64_t> klm_list(std::span<const KeyRange> ranges) {
  constexpr std::size_t kGroup = 4;
  std::vector<std::uint64_t> list((ranges.size() + kGroup - 1) / kGroup * kGroup * kWordsOfKlm);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    prm::Buffer<prm::mlx5_klm> entry;
    entry.put<"bcount">(ranges[i].bytes).put<"key">(ranges[i].key).put<"va">(ranges[i].address);
    for (std::size_t word = 0; word < kWordsOfKlm; ++word)
      list[i * kWordsOfKlm + word] = word_of(entry.all(), word);
  }
  return list;
}

/// The pages that hold the range, as the device is to translate to them.
std::vector<std::uint64_t> translations(const MemoryRange& range, unsigned shift) {
  const std::uint64_t first = range.iova >> shift;
  const std::uint64_t last = (range.iova + range.bytes - 1) >> shift;
  std::vector<std::uint64_t> list;
  list.reserve(last - first + 2);
  for (std::uint64_t page = first; page <= last; ++page) list.push_back(page << shift);
  return list;
}

Result<void> destroy_mkey(CommandChannel& channel, std::uint32_t index, std::uint64_t deadline_ns) {
  return destroy_mkey_command(prm::MkeyIndex{index}).run(channel, deadline_ns, SlotClass::Common);
}

}  // namespace

MemoryKey::MemoryKey(const Context& context, std::uint32_t variant, prm::MkeyIndex index) noexcept
    : handle_(*context.commands, prm::number(index), destroy_mkey),
      key_(prm::rkey_of(index, static_cast<std::uint8_t>(variant))) {}

MemoryRange MemoryRange::of(const DmaMemory& memory) noexcept {
  const auto bytes = memory.bytes();
  return {memory.iova(), bytes.size(), std::bit_cast<std::uintptr_t>(bytes.data())};
}

MemoryRange MemoryRange::zero_based(const DmaMemory& memory) noexcept {
  return {memory.iova(), memory.bytes().size(), 0};
}

Result<MemoryKey> MemoryKey::create_mtt(const Context& context, const ProtectionDomain& pd,
                                        const MemoryRange& range, Access access,
                                        prm::QpNumber qpn) {
  PORTCULLIS_TRY(check(range));
  PORTCULLIS_TRY(check(access));
  const unsigned shift = page_shift(range);
  std::vector<std::uint64_t> list = translations(range, shift);
  if (list.size() % 2 != 0) list.push_back(0);  // the list is whole octowords, two entries each
  const std::uint64_t octowords = list.size() / 2;

  CreateMkey in = prepare(context, pd, access, qpn);
  in.set<"memory_key_mkey_entry.access_mode_1_0", prm::number(prm::MkcAccessMode::MTT)>();
  in.set<"memory_key_mkey_entry.umr_en", 1>();  // as reg_create of mlx5_ib
  in.put<"memory_key_mkey_entry.start_addr">(range.start_address);
  in.put<"memory_key_mkey_entry.len">(range.bytes);
  in.put<"memory_key_mkey_entry.log_page_size">(shift);
  in.put<"memory_key_mkey_entry.translations_octword_size">(octowords);
  in.put<"translations_octword_actual_size">(octowords);
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_mkey_out>(*context.commands, in, list));
  return MemoryKey(context, in.get<"memory_key_mkey_entry.mkey_7_0">(),
                   prm::MkeyIndex{out.get<"mkey_index">()});
}

Result<MemoryKeyState> query_memory_key(const Context& context, prm::MkeyIndex index) {
  prm::Buffer<prm::query_mkey_in> in;
  in.set<"opcode", prm::number(prm::Opcode::QUERY_MKEY)>().put<"mkey_index">(index);
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::query_mkey_out>(*context.commands, in));
  MemoryKeyState state;
  state.is_free = out.get<"memory_key_mkey_entry.free">() != 0;
  state.access.local_write = out.get<"memory_key_mkey_entry.lw">() != 0;
  state.access.remote_write = out.get<"memory_key_mkey_entry.rw">() != 0;
  state.access.remote_read = out.get<"memory_key_mkey_entry.rr">() != 0;
  state.access.remote_atomic = out.get<"memory_key_mkey_entry.a">() != 0;
  state.pdn = prm::PdNumber{out.get<"memory_key_mkey_entry.pd">()};
  state.qpn = prm::QpNumber{out.get<"memory_key_mkey_entry.qpn">()};
  state.start_address = out.get<"memory_key_mkey_entry.start_addr">();
  state.bytes = out.get<"memory_key_mkey_entry.len">();
  return state;
}

Result<MemoryKey> MemoryKey::create_klm(const Context& context, const ProtectionDomain& pd,
                                        std::span<const KeyRange> ranges, Access access,
                                        prm::QpNumber qpn) {
  PORTCULLIS_TRY(check(context.caps, ranges));
  PORTCULLIS_TRY(check(access));
  std::uint64_t bytes = 0;  // of 2^31 at most each: no list that fits into memory wraps it
  for (const KeyRange& range : ranges) bytes += range.bytes;
  const std::vector<std::uint64_t> list = klm_list(ranges);
  const std::uint64_t octowords = list.size() / kWordsOfKlm;

  CreateMkey in = prepare(context, pd, access, qpn);
  in.set<"memory_key_mkey_entry.access_mode_1_0", prm::number(prm::MkcAccessMode::KLMS)>();
  in.put<"memory_key_mkey_entry.len">(bytes);
  in.put<"memory_key_mkey_entry.translations_octword_size">(octowords);
  in.put<"translations_octword_actual_size">(octowords);
  PORTCULLIS_TRY_ASSIGN(const auto out,
                        run_with_tail<prm::create_mkey_out>(*context.commands, in, list));
  return MemoryKey(context, in.get<"memory_key_mkey_entry.mkey_7_0">(),
                   prm::MkeyIndex{out.get<"mkey_index">()});
}

Result<MemoryKey> MemoryKey::create_pa(const Context& context, const ProtectionDomain& pd,
                                       Access access, prm::QpNumber qpn) {
  PORTCULLIS_TRY(check(access));
  CreateMkey in = prepare(context, pd, access, qpn);
  in.set<"memory_key_mkey_entry.access_mode_1_0", prm::number(prm::MkcAccessMode::PA)>();
  in.set<"memory_key_mkey_entry.length64", 1>();
  PORTCULLIS_TRY_ASSIGN(const auto out, run<prm::create_mkey_out>(*context.commands, in));
  return MemoryKey(context, in.get<"memory_key_mkey_entry.mkey_7_0">(),
                   prm::MkeyIndex{out.get<"mkey_index">()});
}

}  // namespace portcullis::pmd
