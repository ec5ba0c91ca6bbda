// SPDX-License-Identifier: BSD-3-Clause
//
// What a byte stream format says of the data behind a key: how it is cut into blocks in memory and
// on the wire, and which signature stands behind each block there. The key's addresses are those of
// the wire: isert_reg_sig_mr of Linux 4.4 asks for "a larger transfer" where the wire has guards
// that memory has not, and config() of ibverbs-tests' sig-handover does the same.
//
// A signature is one number of 64 bits here, as SET_PSV and a CQE have it: of T10-DIF guard,
// application tag and reference tag, of a CRC the value uppermost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/block_guard.hpp"
#include "prm/block_signature.hpp"
#include "prm/view.hpp"

namespace portcullis::model {

/// What is wrong with a signature that was checked.
struct SignatureFault {
  std::uint32_t key = 0;
  std::uint32_t syndrome = 0;  // prm::k*Error
  std::uint64_t expected = 0;  // by the signature
  std::uint64_t actual = 0;    // by the data
  std::uint32_t domain = 0;    // prm::kWireDomain or kMemoryDomain
  std::uint64_t offset = 0;    // where the block begins, signatures before it counted
};

inline constexpr std::uint32_t kMostSignatureBytes = 8;
using SignatureBytes = std::array<std::byte, kMostSignatureBytes>;

/// Blocks and signatures of one of the two domains.
struct SignatureDomain {
  std::uint64_t block = 0;      // bytes of data; 0: it has no signatures
  std::uint32_t signature = 0;  // bytes behind each block
  GuardKind guard{};
  std::uint32_t psv = 0;   // where the first block's computation begins
  std::uint64_t seed = 0;  // and that of the others
  // T10-DIF
  bool is_dif = false;
  bool counts_blocks = false;  // each has the next reference tag
  std::uint32_t escape = 0;    // prm::kBsf*Escape: tags that say "do not check"
  std::uint16_t app_tag = 0;
  std::uint16_t app_mask = 0;
  std::uint32_t ref_tag = 0;

  [[nodiscard]] bool has_signatures() const noexcept { return block != 0; }
  [[nodiscard]] std::uint64_t stride() const noexcept { return block + signature; }
  /// Where byte `at` of the data lies, with signatures before it counted.
  [[nodiscard]] std::uint64_t place(std::uint64_t at) const noexcept {
    return block == 0 ? at : at + at / block * signature;
  }
  /// How much data lies in so many bytes.
  [[nodiscard]] std::uint64_t data_in(std::uint64_t bytes) const noexcept;
  /// A computation at its beginning. `first` is what the PSV holds.
  [[nodiscard]] BlockGuard begin(std::uint64_t number, std::uint64_t first) const noexcept;
  /// The signature of block `number`, whose data gave `computed`.
  [[nodiscard]] std::uint64_t value(std::uint64_t number, std::uint64_t computed) const noexcept;
  [[nodiscard]] SignatureBytes encode(std::uint64_t value) const noexcept;
  [[nodiscard]] std::uint64_t decode(const SignatureBytes& bytes) const noexcept;
  /// Which error there is; 0: none. Only bytes of `mask` count.
  [[nodiscard]] std::uint32_t compare(std::uint64_t found, std::uint64_t computed,
                                      std::uint64_t mask) const noexcept;
};

struct BlockFormat {
  SignatureDomain memory;
  SignatureDomain wire;
  std::uint64_t check_mask = 0;  // of the domain that data comes from
  std::uint64_t copy_mask = 0;   // what goes over as it came
  std::uint64_t raw_data_bytes = 0;

  /// Nothing: it contradicts itself, or asks for what no driver does.
  [[nodiscard]] static std::optional<BlockFormat> parse(std::span<const std::byte> bsf);
  /// The data of a key of `bytes` of memory, and what that comes to on the wire and in memory.
  [[nodiscard]] std::uint64_t data_bytes(std::uint64_t bytes) const noexcept;
};

}  // namespace portcullis::model
