// SPDX-License-Identifier: BSD-3-Clause
#include "model/receive_ring.hpp"

#include <array>

#include "model/request.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kSizes = 0xc00001,
  kShortList,
  kRecord,
  kUmems,
};

constexpr std::uint32_t kRecordAlignment = 4;
/// mcx_create_sq of OpenBSD's if_mcx.c gives the address of the counter of sends, the second of the
/// record, and sends so on cards: the bits below a record are not looked at.
constexpr std::uint32_t kRecordBytes = 8;
constexpr std::uint32_t kMaxLogPageSize = 19;

}  // namespace

/// mlx5e sets the padding bit in each segment (mlx5/core/en_main.c). Nothing is padded here.
bool ReceiveRing::read(Dma& dma, std::uint16_t index, std::uint32_t first_byte,
                       std::vector<ReceivePiece>& pieces) const {
  pieces.clear();
  for (std::uint32_t byte = first_byte; byte < stride; byte += prm::mlx5_wqe_data_seg::bytes) {
    std::array<std::byte, prm::mlx5_wqe_data_seg::bytes> raw;
    if (!dma.read(segment(index, byte), raw)) return false;
    const prm::ConstView<prm::mlx5_wqe_data_seg> data{raw};
    if (data.get<"lkey">() == prm::kInvalidLkey) break;
    pieces.push_back(
        {data.get<"byte_count">() & ~prm::kStartPadding, data.get<"lkey">(), data.get<"addr">()});
  }
  return true;
}

namespace {

Verdict place(const RingShape& shape, std::span<const std::byte> pas, const UmemTable* umems,
              QueuePages& pages) {
  const std::uint64_t bytes = std::uint64_t{1} << (shape.log_stride + shape.log_entries);
  if (shape.umems.queue)
    return umems->queue(*shape.umems.queue, shape.umem_offset, bytes, false, pages);
  const std::uint64_t needed = QueuePages::needed(bytes, shape.log_page_size, shape.page_offset);
  if (needed > pas.size() / sizeof(Iova)) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  pages = QueuePages(page_list(pas, needed), shape.log_page_size, shape.page_offset);
  return pages.aligned() ? Verdict{} : refuse(CommandStatus::BAD_PARAM_ERR, kSizes);
}

}  // namespace

Verdict lay_out(const RingShape& shape, std::span<const std::byte> pas, const UmemTable* umems,
                ReceiveRing& ring, Iova& record) {
  if (shape.log_stride < shape.min_log_stride || shape.log_stride > RingShape::kLogMaxStride ||
      shape.log_entries > RingShape::kLogMaxEntries || shape.log_page_size > kMaxLogPageSize)
    return refuse(CommandStatus::BAD_PARAM_ERR, kSizes);
  if (shape.names_other_umem || ((shape.umems.queue || shape.umems.record) && umems == nullptr))
    return refuse(CommandStatus::BAD_PARAM_ERR, kUmems);
  if (const Verdict verdict = place(shape, pas, umems, ring.pages); !verdict.ok()) return verdict;
  record = shape.record;
  if (shape.umems.record) {
    const Verdict verdict = umems->record(*shape.umems.record, shape.record, record);
    if (!verdict.ok()) return verdict;
  }
  if (record % kRecordAlignment != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kRecord);
  record -= record % kRecordBytes;
  ring.stride = 1U << shape.log_stride;
  ring.entries = 1U << shape.log_entries;
  return {};
}

}  // namespace portcullis::model
