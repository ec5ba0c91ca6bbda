// SPDX-License-Identifier: BSD-3-Clause
#include "devx/memory_names.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/cells.hpp"
#include "prm/command_fields.hpp"
#include "prm/cqe.hpp"
#include "prm/doorbell.hpp"
#include "prm/enums.hpp"
#include "prm/object_commands.hpp"
#include "prm/opcodes.hpp"
#include "prm/qp_commands.hpp"
#include "prm/view.hpp"

namespace portcullis::devx {
namespace {

using Bytes = std::vector<std::byte>;

// mkc.log_page_size of a key in a umem: the umem's own pages may be larger, never smaller.
constexpr std::uint32_t kLogPageBytes = 12;
constexpr std::uint64_t kBytesOfOctoword = 16;

Result<UmemSlice> slice(const MemorySpace& space, Iova iova, std::uint64_t bytes) {
  const auto found = space.find(iova, bytes);
  if (!found)
    return fail(Errc::InvalidArgument,
                fmt::format("{} bytes at {:#x} lie in no umem; memory that was mapped expected",
                            bytes, iova));
  return *found;
}

/// The first address behind the fixed part.
template <class L>
Result<Iova> first_page(std::span<const std::byte> in) {
  std::uint64_t raw = 0;
  if (in.size() < L::bytes + sizeof raw)
    return fail(Errc::InvalidArgument,
                fmt::format("{} of {} bytes; a list of pages expected", L::name.view(), in.size()));
  std::memcpy(&raw, in.data() + L::bytes, sizeof raw);
  return cells::be64(raw);
}

template <class L>
Bytes fixed_part(std::span<const std::byte> in) {
  return {in.begin(), in.begin() + L::bytes};
}

Result<Bytes> completion_queue(std::span<const std::byte> in, const MemorySpace& space) {
  PORTCULLIS_TRY_ASSIGN(const Iova ring, first_page<prm::create_cq_in>(in));
  Bytes bytes = fixed_part<prm::create_cq_in>(in);
  const auto out = prm::View<prm::create_cq_in>::at(bytes);
  const std::uint64_t queue_bytes = prm::kCqeBytes << out.get<"cq_context.log_cq_size">();
  PORTCULLIS_TRY_ASSIGN(const UmemSlice queue, slice(space, ring, queue_bytes));
  PORTCULLIS_TRY_ASSIGN(const UmemSlice record,
                        slice(space, out.get<"cq_context.dbr_addr">(), prm::kDoorbellRecordBytes));
  out.put<"cq_umem_id">(queue.umem);
  out.put<"cq_umem_offset">(queue.offset);
  out.set<"cq_umem_valid", 1>();
  out.put<"cq_context.dbr_umem_id">(record.umem);
  out.put<"cq_context.dbr_addr">(record.offset);
  out.set<"cq_context.dbr_umem_valid", 1>();
  out.set<"cq_context.log_page_size", 0>();
  return bytes;
}

Result<Bytes> queue_pair(std::span<const std::byte> in, const MemorySpace& space) {
  PORTCULLIS_TRY_ASSIGN(const Iova queues, first_page<prm::create_qp_in>(in));
  Bytes bytes = fixed_part<prm::create_qp_in>(in);
  const auto out = prm::View<prm::create_qp_in>::at(bytes);
  const std::uint64_t queue_bytes = kPageBytes << out.get<"qpc.log_page_size">();
  PORTCULLIS_TRY_ASSIGN(const UmemSlice queue, slice(space, queues, queue_bytes));
  PORTCULLIS_TRY_ASSIGN(const UmemSlice record,
                        slice(space, out.get<"qpc.dbr_addr">(), prm::kDoorbellRecordBytes));
  out.put<"wq_umem_id">(queue.umem);
  out.put<"wq_umem_offset">(queue.offset);
  out.set<"wq_umem_valid", 1>();
  out.put<"qpc.dbr_umem_id">(record.umem);
  out.put<"qpc.dbr_addr">(record.offset);
  out.set<"qpc.dbr_umem_valid", 1>();
  out.set<"qpc.log_page_size", 0>();
  return bytes;
}

/// The record is the one of CREATE_QP: mlx5_devx_cmd_modify_qp_state of DPDK names none here.
Result<Bytes> to_init(std::span<const std::byte> in) {
  if (in.size() < prm::rst2init_qp_in::bytes)
    return fail(Errc::InvalidArgument,
                fmt::format("RST2INIT_QP of {} bytes; {} expected", in.size(),
                            std::size_t{prm::rst2init_qp_in::bytes}));
  Bytes bytes(in.begin(), in.end());
  prm::View<prm::rst2init_qp_in>::at(bytes).set<"qpc.dbr_addr", 0>();
  return bytes;
}

Result<Bytes> memory_key(std::span<const std::byte> in, const MemorySpace& space) {
  if (in.size() == prm::create_mkey_in::bytes) return Bytes(in.begin(), in.end());
  PORTCULLIS_TRY_ASSIGN(const Iova first, first_page<prm::create_mkey_in>(in));
  const auto asked = prm::ConstView<prm::create_mkey_in>::at(in);
  // A list of an indirect key names keys, and no memory.
  if (asked.get<"memory_key_mkey_entry.access_mode_1_0">() != prm::number(prm::MkcAccessMode::MTT))
    return Bytes(in.begin(), in.end());
  Bytes bytes = fixed_part<prm::create_mkey_in>(in);
  const auto out = prm::View<prm::create_mkey_in>::at(bytes);
  // The list may begin with a larger page, of which the key has the end.
  const std::uint64_t large = std::uint64_t{1} << out.get<"memory_key_mkey_entry.log_page_size">();
  const Iova start = first + out.get<"memory_key_mkey_entry.start_addr">() % large;
  const std::uint64_t key_bytes = out.get<"memory_key_mkey_entry.len">();
  const std::uint64_t pages = (start % kPageBytes + key_bytes + kPageBytes - 1) / kPageBytes;
  PORTCULLIS_TRY_ASSIGN(const UmemSlice range,
                        slice(space, start - start % kPageBytes, pages * kPageBytes));
  out.put<"mkey_umem_id">(range.umem);
  out.put<"mkey_umem_offset">(range.offset);
  out.set<"mkey_umem_valid", 1>();
  out.set<"memory_key_mkey_entry.log_page_size", kLogPageBytes>();
  const std::uint64_t octowords =
      (pages * sizeof(std::uint64_t) + kBytesOfOctoword - 1) / kBytesOfOctoword;
  if (!out.try_set<"memory_key_mkey_entry.translations_octword_size">(octowords) ||
      !out.try_set<"translations_octword_actual_size">(octowords))
    return fail(Errc::InvalidArgument, fmt::format("a key of {} bytes is too long", key_bytes));
  return bytes;
}

}  // namespace

Result<std::vector<std::byte>> in_umems(std::span<const std::byte> in, const MemorySpace& space) {
  switch (prm::opcode_of(in)) {
    case prm::Opcode::CREATE_CQ:
      return completion_queue(in, space);
    case prm::Opcode::CREATE_QP:
      return queue_pair(in, space);
    case prm::Opcode::RST2INIT_QP:
      return to_init(in);
    case prm::Opcode::CREATE_MKEY:
      return memory_key(in, space);
    default:
      return Bytes(in.begin(), in.end());
  }
}

}  // namespace portcullis::devx
