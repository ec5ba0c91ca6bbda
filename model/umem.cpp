// SPDX-License-Identifier: BSD-3-Clause
#include "model/umem.hpp"

#include <cstring>
#include <utility>

#include "base/cells.hpp"
#include "model/request.hpp"
#include "prm/cqe.hpp"
#include "prm/doorbell.hpp"
#include "prm/enums.hpp"
#include "prm/wqe.hpp"

namespace portcullis::model {
namespace {

using prm::CommandStatus;

constexpr std::uint32_t kAdapterPageShift = 12;  // log_page_size counts from it
constexpr std::uint64_t kRightsMask = 0xfff;
// A CQE and a block of a send queue are as long: neither may straddle two pages.
constexpr std::uint64_t kQueueAlignment = prm::kCqeBytes;
static_assert(kQueueAlignment == prm::kSendWqeBlockBytes);

enum Refusal : std::uint32_t {
  kNoNumber = 0x70001,
  kNoSuchUmem,
  kInUse,
  kNotOffered,
  kBadOffset,
  kBadPage,
  kShortList,
  kOutside,
  kNoRight,
};

}  // namespace

Verdict UmemTable::fill(prm::ConstView<prm::umem> context, std::span<const std::byte> mtt,
                        Umem& out) {
  if (context.get<"ats">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kNotOffered);
  const std::uint64_t count = context.get<"num_of_mtt">();
  if (count > mtt.size() / sizeof(Iova)) return refuse(CommandStatus::BAD_INP_LEN_ERR, kShortList);
  out.shift = kAdapterPageShift + context.get<"log_page_size">();
  out.start = context.get<"page_offset">();
  const std::uint64_t page_mask = (std::uint64_t{1} << out.shift) - 1;
  if (count == 0 || out.start > page_mask) return refuse(CommandStatus::BAD_PARAM_ERR, kBadOffset);
  out.pages = page_list(mtt, count);
  for (Iova& page : out.pages) {
    out.readable = out.readable && (page & prm::number(prm::MttAccess::EN_RD)) != 0;
    out.writable = out.writable && (page & prm::number(prm::MttAccess::EN_WR)) != 0;
    page &= ~kRightsMask;
    if ((page & page_mask) != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadPage);
  }
  return {};
}

Verdict UmemTable::create(prm::ConstView<prm::umem> context, std::span<const std::byte> mtt,
                          std::uint32_t& id) {
  Umem umem;
  if (const Verdict verdict = fill(context, mtt, umem); !verdict.ok()) return verdict;
  const auto number = ids_.allocate();
  if (!number) return refuse(CommandStatus::NO_RES_ERR, kNoNumber);
  id = *number;
  umems_.emplace(id, std::move(umem));
  return {};
}

Verdict UmemTable::destroy(std::uint32_t id) {
  if (!umems_.contains(id)) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUmem);
  if (references_.any(id)) return refuse(CommandStatus::BAD_RES_STATE_ERR, kInUse);
  umems_.erase(id);
  ids_.give_back(id);
  return {};
}

Verdict UmemTable::find(std::uint32_t id, std::uint64_t offset, std::uint64_t bytes,
                        std::uint64_t alignment, const Umem*& out) const {
  const auto found = umems_.find(id);
  if (found == umems_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUmem);
  out = &found->second;
  if (offset > out->bytes() || bytes > out->bytes() - offset ||
      (out->start + offset) % alignment != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOutside);
  if (!out->readable) return refuse(CommandStatus::BAD_PARAM_ERR, kNoRight);
  return {};
}

Verdict UmemTable::queue(std::uint32_t id, std::uint64_t offset, std::uint64_t bytes, bool written,
                         QueuePages& out) const {
  const Umem* umem = nullptr;
  if (const Verdict verdict = find(id, offset, bytes, kQueueAlignment, umem); !verdict.ok())
    return verdict;
  if (written && !umem->writable) return refuse(CommandStatus::BAD_PARAM_ERR, kNoRight);
  out = QueuePages::from_byte(umem->pages, umem->shift, umem->start + offset);
  return {};
}

Verdict UmemTable::pages(std::uint32_t id, std::uint64_t offset, std::uint32_t shift,
                         std::uint64_t count, bool written, std::vector<std::byte>& list) const {
  const auto found = umems_.find(id);
  if (found == umems_.end()) return refuse(CommandStatus::BAD_RES_ERR, kNoSuchUmem);
  const Umem& umem = found->second;
  if (shift < kAdapterPageShift || shift > umem.shift)
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadPage);
  const std::uint64_t page_bytes = std::uint64_t{1} << shift;
  const std::uint64_t room = (umem.start + umem.bytes()) >> shift;  // in such pages
  const std::uint64_t first = (umem.start + offset) >> shift;
  if (offset > umem.bytes() || (umem.start + offset) % page_bytes != 0 || first > room ||
      count > room - first)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOutside);
  if (!umem.readable || (written && !umem.writable))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoRight);
  const QueuePages from = QueuePages::from_byte(umem.pages, umem.shift, umem.start + offset);
  list.assign((count + count % 2) * sizeof(Iova), std::byte{0});
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t raw = cells::be64(from.at(i * page_bytes));
    std::memcpy(list.data() + i * sizeof raw, &raw, sizeof raw);
  }
  return {};
}

Verdict UmemTable::record(std::uint32_t id, std::uint64_t offset, Iova& out) const {
  const Umem* umem = nullptr;
  constexpr std::uint64_t kBytes = prm::kDoorbellRecordBytes;
  if (const Verdict verdict = find(id, offset, kBytes, kBytes, umem); !verdict.ok()) return verdict;
  out = QueuePages::from_byte(umem->pages, umem->shift, umem->start + offset).at(0);
  return {};
}

void UmemTable::hold(const UmemUse& use) {
  if (use.queue) references_.add(*use.queue);
  if (use.record) references_.add(*use.record);
}

void UmemTable::release(const UmemUse& use) noexcept {
  if (use.queue) references_.drop(*use.queue);
  if (use.record) references_.drop(*use.record);
}

void UmemTable::clear() noexcept {
  umems_.clear();
  references_.clear();
  ids_.clear();
}

}  // namespace portcullis::model
