// SPDX-License-Identifier: BSD-3-Clause
//
// The states seen so far: exact (the packed state itself) or by 64-bit fingerprint. Open addressing
// in buckets of about a cache line, in 16 parts that grow one after the other by a little, so that
// growing never needs twice the memory. A key's bucket is monotone in its hash: growing copies in
// order.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "failover/explore/hash.hpp"
#include "failover/explore/pages.hpp"

namespace portcullis::failover {

/// A key of `kBytes` bytes; all zero means empty.
template <unsigned kBytes>
struct Slot {
  using Part = std::conditional_t<kBytes % 8 == 0, std::uint64_t, std::uint32_t>;
  std::array<Part, kBytes / sizeof(Part)> parts;
  friend bool operator==(const Slot& a, const Slot& b) noexcept {
    Part differences = 0;
    for (std::size_t i = 0; i < a.parts.size(); ++i) differences |= a.parts[i] ^ b.parts[i];
    return differences == 0;
  }
  [[nodiscard]] bool is_empty() const noexcept {
    Part bits = 0;
    for (const Part part : parts) bits |= part;
    return bits == 0;
  }
};

/// How a set of states stores one: `bytes` of the state, low words first.
template <unsigned kWords, unsigned kBytes>
struct ExactKey {
  using Key = Slot<kBytes>;
  static Key key(const State<kWords>& state, std::uint64_t /*hash*/) noexcept {
    Key key{};
    std::memcpy(key.parts.data(), state.words.data(), kBytes);
    return key;
  }
  static std::uint64_t hash(const Key& key, std::uint64_t seed) noexcept {
    State<kWords> state{};
    std::memcpy(state.words.data(), key.parts.data(), kBytes);
    return fingerprint(state, seed);
  }
};

/// The fingerprint instead of the state; the few states whose fingerprint is 0 share that of 1.
template <unsigned kWords>
struct FingerprintKey {
  using Key = Slot<8>;
  static Key key(const State<kWords>& /*state*/, std::uint64_t hash) noexcept {
    hash += hash == 0 ? 1 : 0;
    return std::bit_cast<Key>(hash);
  }
  static std::uint64_t hash(const Key& key, std::uint64_t /*seed*/) noexcept {
    return std::bit_cast<std::uint64_t>(key);
  }
};

template <unsigned kWords, class Scheme>
class StateSet {
 public:
  using Key = typename Scheme::Key;

  explicit StateSet(std::uint64_t seed) : seed_(seed) {
    for (Part& part : parts_) part.table = Table(kFirstBuckets);
  }

  void prefetch(std::uint64_t hash) const noexcept {
    const Part& part = parts_[part_of(hash)];
    const char* bucket = bytes_of(part.table.at(hash));
    __builtin_prefetch(bucket);
    if constexpr (64 % sizeof(Bucket) != 0) __builtin_prefetch(bucket + sizeof(Bucket) - 1);
  }

  /// True when the state was not there. `hash` is fingerprint(state, seed). False, and
  /// is_exhausted() from then on, when there is no memory for it.
  bool insert(const State<kWords>& state, std::uint64_t hash) {
    Part& part = parts_[part_of(hash)];
    const Key key = Scheme::key(state, hash);
    if (key.is_empty()) return !std::exchange(has_zero_, true);
    if (part.keys >= part.table.limit() && !grow(part)) return false;
    if (!part.table.insert(key, hash)) return false;
    ++part.keys;
    return true;
  }

  [[nodiscard]] bool is_exhausted() const noexcept { return is_exhausted_; }
  [[nodiscard]] std::uint64_t size() const noexcept {
    std::uint64_t keys = has_zero_ ? 1 : 0;
    for (const Part& part : parts_) keys += part.keys;
    return keys;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const Part& part : parts_) bytes += part.table.bytes();
    return bytes;
  }

 private:
  static constexpr unsigned kParts = 16;
  static constexpr std::size_t kFirstBuckets = 64;
  static constexpr unsigned kSlots = sizeof(Key) > 32 ? 2 : (63 + sizeof(Key) / 3) / sizeof(Key);
  using Bucket = std::array<Key, kSlots>;

  class Table {
   public:
    Table() = default;
    explicit Table(std::size_t buckets) : buckets_(buckets) {}
    /// The bucket of a hash: its lower 60 bits as a fraction, times the number of buckets.
    [[nodiscard]] std::size_t index(std::uint64_t hash) const noexcept {
      __extension__ using Wide = unsigned __int128;
      return static_cast<std::size_t>((Wide{hash << kPartBits} * buckets_.size()) >> 64);
    }
    [[nodiscard]] Bucket* at(std::uint64_t hash) const noexcept {
      return buckets_.data() + index(hash);
    }
    bool insert(const Key& key, std::uint64_t hash) noexcept {
      for (std::size_t bucket = index(hash);;
           bucket = bucket + 1 < buckets_.size() ? bucket + 1 : 0)
        for (Key& slot : buckets_.data()[bucket]) {
          if (slot.is_empty()) {
            slot = key;
            return true;
          }
          if (slot == key) return false;
        }
    }
    /// Puts in a key that is not there.
    void place(const Key& key, std::uint64_t hash) noexcept {
      for (std::size_t bucket = index(hash);;
           bucket = bucket + 1 < buckets_.size() ? bucket + 1 : 0)
        for (Key& slot : buckets_.data()[bucket])
          if (slot.is_empty()) {
            slot = key;
            return;
          }
    }
    /// Keys before it must grow: as many as let most lookups end in the first bucket, which are
    /// more where buckets are larger.
    [[nodiscard]] std::uint64_t limit() const noexcept {
      return buckets_.size() * kSlots / 16 * (kSlots >= 8 ? 15 : 14);
    }
    [[nodiscard]] std::size_t size() const noexcept { return buckets_.size(); }
    [[nodiscard]] const Bucket* data() const noexcept { return buckets_.data(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return buckets_.bytes(); }

   private:
    Pages<Bucket> buckets_;
  };

  struct Part {
    Table table;
    std::uint64_t keys = 0;
  };

  static constexpr unsigned kPartBits = 4;
  static std::size_t part_of(std::uint64_t hash) noexcept {
    return static_cast<std::size_t>(hash >> (64 - kPartBits));
  }
  static const char* bytes_of(const void* address) noexcept {
    return static_cast<const char*>(address);
  }

  [[nodiscard]] bool grow(Part& part) {
    Table larger(part.table.size() + part.table.size() / (kSlots >= 8 ? 7 : 5) + 1);
    if (larger.size() == 0) {
      is_exhausted_ = true;
      return false;
    }
    for (std::size_t bucket = 0; bucket < part.table.size(); ++bucket)
      for (const Key& key : part.table.data()[bucket])
        if (!key.is_empty()) larger.place(key, Scheme::hash(key, seed_));
    part.table = std::move(larger);
    return true;
  }

  std::array<Part, kParts> parts_;
  std::uint64_t seed_;
  bool has_zero_ = false;
  bool is_exhausted_ = false;
};

}  // namespace portcullis::failover
