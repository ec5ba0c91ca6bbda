// SPDX-License-Identifier: BSD-3-Clause
#include "model/cqe_session.hpp"

#include <algorithm>
#include <utility>

#include "prm/ethernet_wqe.hpp"

namespace portcullis::model {
namespace {

using Entry = CqeSession::Entry;
using Frame = prm::View<prm::mlx5_ethernet_cqe>;

/// What a block says once, or with its format does not say.
Entry common(Entry entry, prm::MiniCqeFormat format) {
  entry.set<"byte_cnt", 0>().set<"timestamp", 0>().set<"wqe_counter", 0>();
  const auto frame = Frame::at(entry.all());
  frame.set<"check_sum", 0>();
  frame.set<"rss_hash_result", 0>();
  // mlx5e_decompress_cqe_no_hash sets it aside too.
  if (format != prm::MiniCqeFormat::HASH) frame.set<"rss_hash_type", 0>();
  return entry;
}

}  // namespace

bool CqeSession::gathers(prm::CqeOpcode opcode) noexcept {
  return opcode == prm::CqeOpcode::RESP_WR_IMM || opcode == prm::CqeOpcode::RESP_SEND ||
         opcode == prm::CqeOpcode::RESP_SEND_IMM || opcode == prm::CqeOpcode::RESP_SEND_INV;
}

bool CqeSession::takes(const Entry& entry) const {
  if (size_ == 0) return true;
  const auto next = static_cast<std::uint16_t>(title_.get<"wqe_counter">() + size_);
  return size_ < kMost && entry.get<"wqe_counter">() == next &&
         std::ranges::equal(common(entry, format_).all(), common(title_, format_).all());
}

void CqeSession::add(const Entry& entry) {
  if (size_ == 0) title_ = entry;
  const std::size_t at = size_ % prm::kMinisPerArray * prm::mlx5_mini_cqe8::bytes;
  MiniArray& array = minis_[size_ / prm::kMinisPerArray];
  if (at == 0) array = {};
  const auto mini = prm::View<prm::mlx5_mini_cqe8>::at(std::span(array), at);
  mini.put<"byte_cnt">(entry.get<"byte_cnt">());
  const auto frame =
      prm::ConstView<prm::mlx5_ethernet_cqe>::at(std::span<const std::byte>(entry.all()));
  if (format_ == prm::MiniCqeFormat::HASH) {
    const std::uint32_t hash = frame.get<"rss_hash_result">();
    mini.put<"checksum">(static_cast<std::uint16_t>(hash >> 16));
    mini.put<"stridx">(static_cast<std::uint16_t>(hash));
  } else {
    mini.put<"checksum">(static_cast<std::uint16_t>(frame.get<"check_sum">()));
  }
  if (format_ == prm::MiniCqeFormat::CSUM_STRIDX)
    mini.put<"stridx">(static_cast<std::uint16_t>(entry.get<"wqe_counter">()));
  ++size_;
}

Entry CqeSession::first(bool owner) const {
  Entry entry = title_;
  const std::uint32_t format = size_ > 1 ? prm::kCqeCompressed : 0;
  if (size_ > 1) entry.put<"byte_cnt">(static_cast<std::uint32_t>(size_));
  entry.put<"op_own">(
      static_cast<std::uint8_t>(title_.get<"op_own">() | format << 2 | (owner ? 1U : 0U)));
  return entry;
}

std::size_t CqeSession::arrays() const noexcept {
  return size_ > 1 ? (size_ + prm::kMinisPerArray - 1) / prm::kMinisPerArray : 0;
}

std::uint64_t CqeSession::slot_of_array(std::size_t index) noexcept {
  return index == 0 ? 1 : index * prm::kMinisPerArray;
}

}  // namespace portcullis::model
