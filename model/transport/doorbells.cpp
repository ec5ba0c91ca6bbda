// SPDX-License-Identifier: BSD-3-Clause
#include "model/transport/doorbells.hpp"

#include "prm/doorbell.hpp"

namespace portcullis::model {

void Doorbells::attach(Qp& qp) {
  if (!qp.has_sq) return;
  if (qp.uar >= uars_.size()) uars_.resize(qp.uar + 1);
  qp.doorbell_slot = static_cast<std::uint32_t>(uars_[qp.uar].size());
  Record record;
  record.address = qp.doorbell_record + prm::record_byte(prm::kSndDbr);
  record.qp = &qp;
  uars_[qp.uar].push_back(record);
}

Doorbells::Record* Doorbells::find(const Qp& qp) noexcept {
  return qp.has_sq ? &uars_[qp.uar][qp.doorbell_slot] : nullptr;
}

void Doorbells::detach(const Qp& qp) noexcept {
  Record* const record = find(qp);
  if (record == nullptr) return;
  std::vector<Record>& records = uars_[qp.uar];
  *record = records.back();
  record->qp->doorbell_slot = qp.doorbell_slot;
  records.pop_back();
}

void Doorbells::listen(const Qp& qp, bool on) noexcept {
  Record* const record = find(qp);
  if (record == nullptr || record->listening == on) return;
  record->listening = on;
  record->seen = 0;
}

std::vector<Doorbells::News>& Doorbells::scan(std::uint32_t uar, Dma& dma) {
  news_.clear();
  if (uar >= uars_.size()) return news_;
  for (Record& record : uars_[uar]) {
    if (!record.listening) continue;
    const std::optional<std::uint32_t> value = dma.load_be32(record.address);
    if (!value || static_cast<std::uint16_t>(*value) == record.seen) continue;
    record.seen = static_cast<std::uint16_t>(*value);
    news_.push_back({record.qp, record.seen});
  }
  return news_;
}

}  // namespace portcullis::model
