// SPDX-License-Identifier: BSD-3-Clause
#include "model/signed_key.hpp"

#include <algorithm>
#include <array>

#include "model/dma.hpp"
#include "model/mkey.hpp"
#include "model/psv_table.hpp"

namespace portcullis::model {
namespace {

/// Goes through [at, at + bytes) of the wire. `data` takes pieces of one block's data, by where
/// they begin in all of the data; `signature` parts of one signature, by their block. Both say how
/// many bytes they are asked for, and false ends it.
template <class Data, class Signature>
bool over_wire(const SignatureDomain& wire, std::uint64_t at, std::uint64_t bytes, Data data,
               Signature signature) {
  if (!wire.has_signatures()) return data(at, bytes);
  while (bytes != 0) {
    const std::uint64_t block = at / wire.stride();
    const std::uint64_t in_block = at % wire.stride();
    const bool is_data = in_block < wire.block;
    const std::uint64_t end = is_data ? wire.block : wire.stride();
    const std::uint64_t piece = std::min(bytes, end - in_block);
    if (is_data ? !data(block * wire.block + in_block, piece)
                : !signature(block, in_block - wire.block, piece))
      return false;
    at += piece;
    bytes -= piece;
  }
  return true;
}

}  // namespace

void SignedWrites::add(std::uint64_t at, std::span<const std::byte> data) {
  if (data.empty()) return;
  bytes.insert(bytes.end(), data.begin(), data.end());
  const auto count = static_cast<std::uint32_t>(data.size());
  if (!parts.empty() && parts.back().at + parts.back().bytes == at)
    parts.back().bytes += count;
  else
    parts.push_back({at, count});
}

bool SignedTransfer::begin(std::uint32_t key, std::uint64_t va, std::uint64_t bytes) {
  fault_.reset();
  key_ = key;
  signed_ = mkeys_->signed_key(key, va, bytes);
  if (signed_ == nullptr) return false;
  at_ = va - mkeys_->start_of(key);
  return true;
}

/// Memory of the key, by its own addresses.
bool SignedTransfer::read(std::uint64_t at, std::span<std::byte> out) {
  while (!out.empty()) {
    const Extents where =
        mkeys_->translate_memory(key_, at, static_cast<std::uint32_t>(out.size()));
    if (where.count == 0 || !dma_->read_payload(where, out.data())) return false;
    at += where.bytes();
    out = out.subspan(where.bytes());
  }
  return true;
}

/// Data without what stands between its blocks in memory.
bool SignedTransfer::read_data(std::uint64_t at, std::span<std::byte> out) {
  const SignatureDomain& memory = signed_->format.memory;
  while (!out.empty()) {
    const std::uint64_t left =
        memory.has_signatures() ? memory.block - at % memory.block : out.size();
    const std::size_t piece = std::min<std::uint64_t>(out.size(), left);
    if (!read(memory.place(at), out.first(piece))) return false;
    at += piece;
    out = out.subspan(piece);
  }
  return true;
}

std::uint64_t SignedTransfer::first_of(const SignatureDomain& domain) const {
  return psvs_ == nullptr ? 0 : psvs_->value(domain.psv, mkeys_->current_pd(key_));
}

/// The signature that the data of a block has in `domain`.
bool SignedTransfer::compute(const SignatureDomain& domain, std::uint64_t block,
                             std::uint64_t& value) {
  std::array<std::byte, MkeyTable::kMaxTranslation> data;
  BlockGuard guard = domain.begin(block, first_of(domain));
  for (std::uint64_t done = 0; done < domain.block;) {
    const auto piece = std::span(data).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), domain.block - done)));
    if (!read_data(block * domain.block + done, piece)) return false;
    guard.add(piece);
    done += piece.size();
  }
  value = domain.value(block, guard.value());
  return true;
}

/// The signature that stands behind a block in memory.
bool SignedTransfer::stored(std::uint64_t block, std::uint64_t& value) {
  const SignatureDomain& memory = signed_->format.memory;
  SignatureBytes bytes{};
  if (!read(block * memory.stride() + memory.block, std::span(bytes).first(memory.signature)))
    return false;
  value = memory.decode(bytes);
  return true;
}

void SignedTransfer::compare(const SignatureDomain& domain, std::uint32_t which,
                             std::uint64_t block, std::uint64_t found, std::uint64_t computed) {
  const std::uint32_t syndrome = domain.compare(found, computed, signed_->format.check_mask);
  if (syndrome == 0 || fault_ || !mkeys_->reports_fault(key_)) return;
  fault_ = {.key = key_,
            .syndrome = syndrome,
            .expected = found,
            .actual = computed,
            .domain = which,
            .offset = block * domain.stride()};
}

bool SignedTransfer::check_memory(std::uint64_t block) {
  std::uint64_t found = 0, computed = 0;
  const SignatureDomain& memory = signed_->format.memory;
  if (!stored(block, found) || !compute(memory, block, computed)) return false;
  compare(memory, prm::kMemoryDomain, block, found, computed);
  return true;
}

/// A block of memory is checked with its last byte.
bool SignedTransfer::gather_data(std::uint64_t at, std::span<std::byte> out) {
  if (!read_data(at, out)) return false;
  const std::uint64_t block = signed_->format.memory.block;
  if (block == 0) return true;
  for (std::uint64_t number = at / block; number < (at + out.size()) / block; ++number)
    if (!check_memory(number)) return false;
  return true;
}

bool SignedTransfer::wire_signature(std::uint64_t block, SignatureBytes& out) {
  const BlockFormat& format = signed_->format;
  std::uint64_t computed = 0, copied = 0;
  if (!compute(format.wire, block, computed)) return false;
  if (format.copy_mask != 0 && !stored(block, copied)) return false;
  out = format.wire.encode((copied & format.copy_mask) | (computed & ~format.copy_mask));
  return true;
}

bool SignedTransfer::gather(std::uint32_t key, std::uint64_t va, std::span<std::byte> out) {
  if (!begin(key, va, out.size())) return false;
  const auto take = [&out](std::uint64_t bytes) {
    const auto piece = out.first(static_cast<std::size_t>(bytes));
    out = out.subspan(piece.size());
    return piece;
  };
  const auto data = [&](std::uint64_t at, std::uint64_t bytes) {
    return gather_data(at, take(bytes));
  };
  const auto signature = [&](std::uint64_t block, std::uint64_t from, std::uint64_t bytes) {
    SignatureBytes whole{};
    if (!wire_signature(block, whole)) return false;
    std::ranges::copy(std::span(whole).subspan(from, bytes), take(bytes).begin());
    return true;
  };
  return over_wire(signed_->format.wire, at_, out.size(), data, signature);
}

/// Part of memory's signature is the wire's, which comes behind the data.
bool SignedTransfer::waits_for_wire() const noexcept {
  return signed_->format.copy_mask != 0 && signed_->format.wire.has_signatures();
}

void SignedTransfer::write_signature(std::uint64_t block, std::uint64_t copied, SignedWrites& out) {
  const BlockFormat& format = signed_->format;
  if (!signed_->is_memory_whole) return;
  const std::uint64_t computed = format.memory.value(block, signed_->memory_guard.value());
  const std::uint64_t mask = waits_for_wire() ? format.copy_mask : 0;
  const SignatureBytes bytes = format.memory.encode((copied & mask) | (computed & ~mask));
  out.add(block * format.memory.stride() + format.memory.block,
          std::span(bytes).first(format.memory.signature));
}

void SignedTransfer::scatter_data(std::uint64_t at, std::span<const std::byte> in,
                                  SignedWrites& out) {
  SignedKey& key = *signed_;
  const SignatureDomain& wire = key.format.wire;
  const SignatureDomain& memory = key.format.memory;
  if (wire.has_signatures()) {
    if (at % wire.block == 0) {
      key.wire_guard = wire.begin(at / wire.block, first_of(wire));
      key.is_wire_whole = true;
    }
    key.wire_guard.add(in);
  }
  if (!memory.has_signatures()) return out.add(at, in);
  while (!in.empty()) {
    if (at % memory.block == 0) {
      key.memory_guard = memory.begin(at / memory.block, first_of(memory));
      key.is_memory_whole = true;
    }
    const auto piece = in.first(static_cast<std::size_t>(
        std::min<std::uint64_t>(in.size(), memory.block - at % memory.block)));
    key.memory_guard.add(piece);
    out.add(memory.place(at), piece);
    at += piece.size();
    in = in.subspan(piece.size());
    if (at % memory.block == 0 && !waits_for_wire()) write_signature(at / memory.block - 1, 0, out);
  }
}

void SignedTransfer::scatter_signature(std::uint64_t block, std::uint64_t from,
                                       std::span<const std::byte> in, SignedWrites& out) {
  SignedKey& key = *signed_;
  const SignatureDomain& wire = key.format.wire;
  std::ranges::copy(in, key.found.begin() + static_cast<std::ptrdiff_t>(from));
  if (from + in.size() != wire.signature || !key.is_wire_whole) return;
  const std::uint64_t found = wire.decode(key.found);
  compare(wire, prm::kWireDomain, block, found, wire.value(block, key.wire_guard.value()));
  if (key.format.memory.has_signatures() && waits_for_wire()) write_signature(block, found, out);
}

bool SignedTransfer::scatter(std::uint32_t key, std::uint64_t va, std::span<const std::byte> in,
                             SignedWrites& out) {
  if (!begin(key, va, in.size())) return false;
  if (at_ != signed_->next) signed_->is_wire_whole = signed_->is_memory_whole = false;
  signed_->next = at_ + in.size();
  const auto take = [&in](std::uint64_t bytes) {
    const auto piece = in.first(static_cast<std::size_t>(bytes));
    in = in.subspan(piece.size());
    return piece;
  };
  const auto data = [&](std::uint64_t at, std::uint64_t bytes) {
    scatter_data(at, take(bytes), out);
    return true;
  };
  const auto signature = [&](std::uint64_t block, std::uint64_t from, std::uint64_t bytes) {
    scatter_signature(block, from, take(bytes), out);
    return true;
  };
  return over_wire(signed_->format.wire, at_, in.size(), data, signature);
}

}  // namespace portcullis::model
