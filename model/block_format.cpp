// SPDX-License-Identifier: BSD-3-Clause
#include "model/block_format.hpp"

#include <algorithm>

namespace portcullis::model {
namespace {

using prm::ConstView;

constexpr unsigned kAppShift = 32;
constexpr unsigned kGuardShift = 48;
constexpr std::uint64_t kNoAppTag = 0xffff;
constexpr std::uint64_t kNoRefTag = 0xffffffff;

/// bs_selector of mlx5_ib/wr.c and bs_to_bs_selector of rdma-core's mlx5/qp.c; 0: no such.
std::uint64_t block_bytes(std::uint32_t selector) noexcept {
  constexpr std::array<std::uint64_t, 7> kBytes{0,   512, 520, 4096, 4160, std::uint64_t{1} << 30,
                                                4048};
  return selector < kBytes.size() ? kBytes[selector] : 0;
}

std::uint64_t expand(std::uint32_t byte_mask) noexcept {
  std::uint64_t mask = 0;
  for (unsigned byte = 0; byte < kMostSignatureBytes; ++byte)
    if ((byte_mask >> byte & 1) != 0) mask |= std::uint64_t{0xff} << (8 * byte);
  return mask;
}

bool is_dif(ConstView<prm::mlx5_bsf_inl> section) noexcept {
  return (section.get<"vld_refresh">() & prm::kBsfInlValid) != 0;
}

bool parse_dif(ConstView<prm::mlx5_bsf_inl> section, SignatureDomain& out) {
  const std::uint32_t type = section.get<"sig_type">();
  const std::uint32_t flags = section.get<"dif_inc_ref_guard_check">();
  if (type != prm::kDifCrc && type != prm::kDifChecksum) return false;
  out.is_dif = true;
  out.signature = 8;
  out.guard = type == prm::kDifCrc ? GuardKind::T10DifCrc : GuardKind::IpChecksum;
  out.seed = (section.get<"rp_inv_seed">() & prm::kBsfSeed) != 0 ? 0xffff : 0;
  out.counts_blocks = (flags & prm::kBsfIncReftag) != 0;
  out.escape = flags & (prm::kBsfApptagEscape | prm::kBsfApprefEscape);
  out.app_tag = static_cast<std::uint16_t>(section.get<"dif_apptag">());
  out.app_mask = static_cast<std::uint16_t>(section.get<"dif_app_bitmask_check">());
  out.ref_tag = section.get<"dif_reftag">();
  return true;
}

bool parse_crc(std::uint32_t selector, SignatureDomain& out) {
  const bool from_zero = (selector & prm::kBfsSeedZero) != 0;
  out.seed = from_zero ? 0 : 0xffffffff;
  out.signature = 4;
  switch (selector & prm::kBfsTypeMask) {
    case prm::kBfsCrc32:
      out.guard = GuardKind::Crc32;
      return true;
    case prm::kBfsCrc32c:
      out.guard = GuardKind::Crc32c;
      return true;
    case prm::kBfsCrc64Xp10:
      out.guard = GuardKind::Crc64Xp10;
      out.seed = from_zero ? 0 : ~std::uint64_t{0};
      out.signature = 8;
      return true;
    default:
      return false;
  }
}

/// A domain without a block format has no signatures.
bool parse_domain(std::uint32_t bfs_psv, ConstView<prm::mlx5_bsf_inl> section, std::uint64_t block,
                  SignatureDomain& out) {
  const std::uint32_t selector = bfs_psv >> prm::kBfsShift;
  if (selector == 0 && !is_dif(section)) return true;
  out.block = block;
  out.psv = bfs_psv & prm::kPsvMask;
  return block != 0 && (selector != 0 ? parse_crc(selector, out) : parse_dif(section, out));
}

}  // namespace

std::uint64_t SignatureDomain::data_in(std::uint64_t bytes) const noexcept {
  if (block == 0) return bytes;
  return bytes / stride() * block + std::min(bytes % stride(), block);
}

BlockGuard SignatureDomain::begin(std::uint64_t number, std::uint64_t first) const noexcept {
  if (number != 0) return {guard, seed};
  const bool is_long = guard == GuardKind::Crc64Xp10;
  return {guard, is_dif ? first >> kGuardShift : is_long ? first : first >> 32};
}

std::uint64_t SignatureDomain::value(std::uint64_t number, std::uint64_t computed) const noexcept {
  if (!is_dif) return signature == 4 ? computed << 32 : computed;
  const auto tag = counts_blocks ? static_cast<std::uint32_t>(ref_tag + number) : ref_tag;
  return computed << kGuardShift | std::uint64_t{app_tag} << kAppShift | tag;
}

/// T10-DIF and CRC32 go most significant byte first, the CRCs with their bits reversed last.
SignatureBytes SignatureDomain::encode(std::uint64_t value) const noexcept {
  SignatureBytes bytes{};
  const bool is_reversed = guard == GuardKind::Crc32c || guard == GuardKind::Crc64Xp10;
  for (std::uint32_t i = 0; i < signature; ++i) {
    const std::uint32_t from_top = is_reversed ? signature - 1 - i : i;
    bytes[i] = static_cast<std::byte>(value >> (8 * (kMostSignatureBytes - 1 - from_top)));
  }
  return bytes;
}

std::uint64_t SignatureDomain::decode(const SignatureBytes& bytes) const noexcept {
  std::uint64_t value = 0;
  const bool is_reversed = guard == GuardKind::Crc32c || guard == GuardKind::Crc64Xp10;
  for (std::uint32_t i = 0; i < signature; ++i) {
    const std::uint32_t from_top = is_reversed ? signature - 1 - i : i;
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * (kMostSignatureBytes - 1 - from_top));
  }
  return value;
}

/// The first error counts, in the order that mlx5dv_mkey_check(3) has from T10-DIF.
std::uint32_t SignatureDomain::compare(std::uint64_t found, std::uint64_t computed,
                                       std::uint64_t mask) const noexcept {
  if (!is_dif) return ((found ^ computed) & mask) != 0 ? prm::kGuardError : 0;
  const std::uint64_t app = found >> kAppShift & 0xffff;
  const bool has_no_ref_tag = (found & kNoRefTag) == kNoRefTag;
  if (app == kNoAppTag && ((escape & prm::kBsfApptagEscape) != 0 ||
                           ((escape & prm::kBsfApprefEscape) != 0 && has_no_ref_tag)))
    return 0;
  const std::uint64_t wrong = (found ^ computed) & mask;
  if (wrong >> kGuardShift != 0) return prm::kGuardError;
  if ((wrong >> kAppShift & app_mask) != 0) return prm::kApptagError;
  return (wrong & kNoRefTag) != 0 ? prm::kReftagError : 0;
}

std::uint64_t BlockFormat::data_bytes(std::uint64_t bytes) const noexcept {
  return std::min(memory.data_in(bytes), raw_data_bytes);
}

std::optional<BlockFormat> BlockFormat::parse(std::span<const std::byte> bsf) {
  prm::Buffer<prm::mlx5_bsf> whole;
  std::ranges::copy(bsf.first(std::min(bsf.size(), prm::mlx5_bsf::bytes)), whole.all().begin());
  const auto wire = ConstView<prm::mlx5_bsf_inl>::at(whole.bytes<"w_inl">());
  const auto memory = ConstView<prm::mlx5_bsf_inl>::at(whole.bytes<"m_inl">());
  // One of all that is transferred.
  if (whole.get<"w_tfs_psv">() != 0 || whole.get<"m_tfs_psv">() != 0) return std::nullopt;

  BlockFormat format;
  const std::uint32_t size = whole.get<"bsf_size_sbs">();
  if (prm::bsf_size(size) > prm::kBsfWithInline) return std::nullopt;
  const bool same = (size & prm::kBsfSameStructure) != 0;
  const std::uint64_t block = block_bytes(whole.get<"mem_selector">());
  if (!parse_domain(whole.get<"m_bfs_psv">(), memory, block, format.memory)) return std::nullopt;
  const std::uint64_t wire_block = same ? block : block_bytes(whole.get<"wire_selector">());
  if (!parse_domain(whole.get<"w_bfs_psv">(), wire, wire_block, format.wire)) return std::nullopt;
  if (same && format.wire.stride() != format.memory.stride()) return std::nullopt;
  format.check_mask = expand(whole.get<"check_byte_mask">());
  if (same) format.copy_mask = expand(whole.get<"wire_selector">());
  format.raw_data_bytes = whole.get<"raw_data_size">();
  return format;
}

}  // namespace portcullis::model
