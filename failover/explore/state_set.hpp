// SPDX-License-Identifier: BSD-3-Clause
//
// The states seen so far, exact or by 64-bit fingerprint, each in a few bytes: the place of an
// entry says the leading bits of its fingerprint, and only the others are stored (Cleary, Compact
// Hash Tables, 1984). An exact entry has the state's upper words beside it, which determine the
// rest: hash.hpp. Open addressing in buckets of at most two cache lines; the place is monotone in
// the fingerprint, so that the set grows where it lies, from its end to its beginning, and never
// needs twice the memory. Where there are few fingerprints, and a bit for each takes little more
// than a table, it is these bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "failover/explore/arena.hpp"
#include "failover/explore/budget.hpp"
#include "failover/explore/hash.hpp"

namespace portcullis::failover {

/// Of all fingerprints the `share`th of `shares` equal ranges.
template <unsigned kWords>
class StateSet {
 public:
  /// `upper_bytes` of the words after the first are compared; 0 when the fingerprint is to say all.
  /// `expected` states in all shares, a guess: the closer, the fewer times they are moved. A
  /// `budget` is asked before memory is taken, and outlives the set.
  StateSet(unsigned upper_bytes, unsigned share, unsigned shares, double expected = 0,
           const Domain& domain = Domain(64), Budget* budget = nullptr)
      : upper_bytes_(upper_bytes),
        last_mask_(~std::uint64_t{0} >> (64 - 8 * ((upper_bytes + 7) % 8 + 1))),
        unused_(domain.unused()),
        first_(first_of(share, shares, unused_)),
        greatest_(first_of(share + 1, shares, unused_) - 1 - first_),
        fitting_(fitting_table(expected / shares, greatest_, upper_bytes)),
        table_(greatest_, first_buckets(fitting_.buckets), upper_bytes, fitting_.bucket_bytes),
        is_bits_(are_bits_better(greatest_, fitting_, upper_bytes)),
        apart_(0, EntryHash{}, SameEntry{upper_bytes != 0}),
        budget_(budget),
        is_exhausted_(!grow_arena(is_bits_ ? bytes_of_bits(greatest_) : table_.bytes())) {}

  /// What a set that was told how many states to expect takes for them.
  [[nodiscard]] static double bytes_for(double expected, unsigned upper_bytes,
                                        const Domain& domain) {
    const std::uint64_t greatest = first_of(1, 1, domain.unused()) - 1;
    const Table table = fitting_table(expected, greatest, upper_bytes);
    const bool is_bits = are_bits_better(greatest, table, upper_bytes);
    return static_cast<double>(is_bits ? bytes_of_bits(greatest) : table.bytes());
  }

  /// The share that a fingerprint belongs to.
  [[nodiscard]] static unsigned share_of(std::uint64_t hash, unsigned shares) noexcept {
    return static_cast<unsigned>(Wide{hash} * shares >> 64);
  }

  void prefetch(std::uint64_t hash) const noexcept {
    if (is_bits_) return __builtin_prefetch(arena_.data() + offset_of(hash) / 8, 1);
    const char* const bucket = bucket_at(table_.bucket_of(offset_of(hash)));
    for (std::size_t line = 0; line < 128; line += 64) __builtin_prefetch(bucket + line, 1);
  }

  /// True when the state was not there. `hash` is its fingerprint. False, and is_exhausted() from
  /// then on, when there is no memory for it.
  bool insert(const State<kWords>& state, std::uint64_t hash) {
    if (is_bits_) return set_bit(offset_of(hash));
    const Entry entry{offset_of(hash), state};
    while (!is_exhausted_) {
      const Outcome outcome = place(entry, false);
      if (outcome == Outcome::Known) return false;
      if (outcome == Outcome::Full) {
        if (apart_.contains(entry)) return false;
        if (is_crowded()) {
          grow();
          continue;
        }
        apart_.insert(entry);
      }
      ++entries_;
      return true;
    }
    return false;
  }

  [[nodiscard]] bool is_exhausted() const noexcept { return is_exhausted_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return entries_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return arena_.bytes() + apart_.size() * (sizeof(Entry) + 4 * sizeof(void*));  // about
  }

 private:
  enum class Outcome : std::uint8_t { New, Known, Full };
  struct Entry {
    std::uint64_t offset;  // of the fingerprint from the first of this share
    State<kWords> state;   // the first word is not looked at
  };
  static constexpr unsigned kReach = 7;     // buckets beyond its own that an entry may lie in
  static constexpr unsigned kTagWords = 3;  // count and tags
  static constexpr unsigned kMostSlots = kTagWords * 8 - 1;
  static constexpr std::size_t kFirstBuckets = 64;
  static constexpr std::size_t kFewApart = 16;

  struct EntryHash {
    std::size_t operator()(const Entry& entry) const noexcept { return entry.offset; }
  };
  struct SameEntry {
    bool compares_upper;
    bool operator()(const Entry& a, const Entry& b) const noexcept {
      bool is_same = a.offset == b.offset;
      for (unsigned i = 1; i < kWords && compares_upper; ++i)
        is_same = is_same && a.state.words[i] == b.state.words[i];
      return is_same;
    }
  };

  [[nodiscard]] std::uint64_t offset_of(std::uint64_t hash) const noexcept {
    return (hash >> unused_) - first_;
  }

  static std::size_t bytes_of_bits(std::uint64_t greatest) noexcept { return greatest / 8 + 1; }
  bool set_bit(std::uint64_t offset) noexcept {
    if (is_exhausted_) return false;
    char& byte = arena_.data()[offset / 8];
    const auto set = static_cast<char>(byte | 1 << offset % 8);
    if (byte == set) return false;
    byte = set;
    ++entries_;
    return true;
  }

  /// How entries lie in memory: `width` fingerprints a bucket. A value says how far the fingerprint
  /// is from where its bucket's begin. A bucket is the number of its entries, the tag of each,
  /// which is the value's lowest byte, of each the value's other bits, and of each the state's
  /// upper words in whole bytes.
  struct Table {
    /// `bytes_each` of a bucket are the same for all sizes of a set's table: growing relies on it.
    Table(std::uint64_t greatest_offset, std::size_t bucket_count, unsigned upper_bytes,
          unsigned bytes_each)
        : buckets(bucket_count),
          width(std::max<std::uint64_t>(2, greatest_offset / bucket_count + 1)),
          bucket_bytes(bytes_each) {
      inverse = static_cast<std::uint64_t>((Wide{1} << 64) / width);
      const std::uint64_t rest = (width * (kReach + 1) - 1) >> 8;  // the greatest
      rest_bits = static_cast<unsigned>(std::bit_width(rest));
      rest_mask = ~(~std::uint64_t{0} << rest_bits);
      slots = std::min((bucket_bytes - 1) * 8 / (8 + rest_bits + 8 * upper_bytes), kMostSlots);
      upper_at = 1 + slots + (slots * rest_bits + 7) / 8;
    }
    /// offset / width, by a multiplication that is at most one too low.
    [[nodiscard]] std::size_t bucket_of(std::uint64_t offset) const noexcept {
      const auto bucket = static_cast<std::size_t>(Wide{offset} * inverse >> 64);
      return bucket + (offset - bucket * width >= width ? 1 : 0);
    }
    [[nodiscard]] std::size_t buckets_in_reach() const noexcept { return buckets + kReach; }
    /// Reading a few bytes reads eight.
    [[nodiscard]] std::size_t bytes() const noexcept {
      return buckets_in_reach() * bucket_bytes + sizeof(std::uint64_t);
    }

    std::size_t buckets;
    std::uint64_t width, inverse = 0, rest_mask = 0;
    unsigned rest_bits = 0, bucket_bytes, slots = 0, upper_at = 0;
  };

  /// Looking at a bit is so much quicker that it may take twice the memory.
  static bool are_bits_better(std::uint64_t greatest, const Table& table,
                              unsigned upper_bytes) noexcept {
    return upper_bytes == 0 && bytes_of_bits(greatest) / 2 <= table.bytes();
  }

  /// The first fingerprint, without the `unused` bits at its end, whose product with `shares`
  /// reaches `share` times what fingerprints end at; 0 for the one behind the last of 64 bits.
  static std::uint64_t first_of(unsigned share, unsigned shares, unsigned unused) noexcept {
    return static_cast<std::uint64_t>(((Wide{share} << (64 - unused)) + shares - 1) / shares);
  }
  [[nodiscard]] char* bucket_at(std::size_t bucket) const noexcept {
    return arena_.data() + bucket * table_.bucket_bytes;
  }
  static std::uint64_t read(const char* at) noexcept {
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
  }
  /// Where nothing lay but zeros.
  static void write(char* at, std::uint64_t bits) noexcept {
    bits |= read(at);
    std::memcpy(at, &bits, sizeof bits);
  }
  /// A one at the top of each byte of `word` that is `byte`, and seldom of another: behind one that
  /// is, of a byte that differs in its lowest bit.
  static std::uint64_t matches(std::uint64_t word, std::uint64_t byte) noexcept {
    constexpr std::uint64_t kOnes = 0x0101010101010101U;
    const std::uint64_t differences = word ^ (byte & 0xff) * kOnes;
    return (differences - kOnes) & ~differences & kOnes << 7;
  }
  /// The bits of a value beside its tag: up to 57 from any bit of a byte on are in the 64 read.
  static std::uint64_t rest_of(const Table& table, const char* bucket, unsigned slot) noexcept {
    const unsigned bit = slot * table.rest_bits;
    return read(bucket + 1 + table.slots + bit / 8) >> bit % 8 & table.rest_mask;
  }
  static void set_rest(const Table& table, char* bucket, unsigned slot,
                       std::uint64_t rest) noexcept {
    const unsigned bit = slot * table.rest_bits;
    write(bucket + 1 + table.slots + bit / 8, rest << bit % 8);
  }
  template <class Byte>
  [[nodiscard]] Byte* upper_of(const Table& table, Byte* bucket, unsigned slot) const noexcept {
    return bucket + table.upper_at + slot * upper_bytes_;
  }

  [[nodiscard]] bool has_upper(const char* upper, const Entry& entry) const noexcept {
    if (upper_bytes_ == 0) return true;
    for (unsigned i = 1; i < kWords; ++i, upper += sizeof(std::uint64_t))
      if ((read(upper) & (i + 1 < kWords ? ~std::uint64_t{0} : last_mask_)) != entry.state.words[i])
        return false;
    return true;
  }
  [[nodiscard]] bool contains(const Table& table, char* bucket, std::uint64_t value,
                              const Entry& entry) const noexcept {
    const auto count = static_cast<unsigned char>(*bucket);
    for (unsigned word = 0; word < kTagWords; ++word) {
      std::uint64_t found = matches(read(bucket + word * 8), value);
      for (; found != 0; found &= found - 1) {
        const unsigned place = word * 8 + static_cast<unsigned>(std::countr_zero(found)) / 8;
        if (place == 0 || place > count) continue;
        if (static_cast<unsigned char>(bucket[place]) == (value & 0xff) &&
            rest_of(table, bucket, place - 1) == value >> 8 &&
            has_upper(upper_of(table, bucket, place - 1), entry))
          return true;
      }
    }
    return false;
  }
  void append(const Table& table, char* bucket, std::uint64_t value, const Entry& entry) noexcept {
    const auto count = static_cast<unsigned char>(*bucket);
    *bucket = static_cast<char>(count + 1);
    bucket[1 + count] = static_cast<char>(value);
    set_rest(table, bucket, count, value >> 8);
    if (upper_bytes_ == 0) return;
    char* const upper = upper_of(table, bucket, count);
    for (unsigned i = 1; i < kWords; ++i)
      write(upper + (i - 1) * sizeof(std::uint64_t), entry.state.words[i]);
  }

  Outcome place(const Entry& entry, bool is_known_new) noexcept {
    const Table& table = table_;
    const std::size_t own = table.bucket_of(entry.offset);
    std::uint64_t value = entry.offset - own * table.width + kReach * table.width;
    char* bucket = bucket_at(own);
    for (unsigned away = 0; away <= kReach; ++away) {
      if (!is_known_new && contains(table, bucket, value, entry)) return Outcome::Known;
      if (static_cast<unsigned char>(*bucket) < table.slots) {
        append(table, bucket, value, entry);
        return Outcome::New;
      }
      bucket += table.bucket_bytes;
      value -= table.width;
    }
    return Outcome::Full;
  }

  /// Growing helps: not where many fingerprints are nearly the same.
  [[nodiscard]] bool is_crowded() const noexcept {
    return apart_.size() >= kFewApart + entries_ / 200 &&
           entries_ >= table_.buckets * table_.slots / 2;
  }

  /// Empties a bucket of `table` and calls visit for each of its entries.
  template <class Visit>
  void take_bucket(const Table& table, std::size_t bucket, Visit&& visit) {
    std::array<char, (kMaxStateWords + 1) / 2 * 128 + sizeof(std::uint64_t)> taken{};
    char* const start = arena_.data() + bucket * table.bucket_bytes;
    std::memcpy(taken.data(), start, table.bucket_bytes);
    std::memset(start, 0, table.bucket_bytes);
    const auto count = static_cast<unsigned char>(taken[0]);
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t value =
          rest_of(table, taken.data(), i) << 8 | static_cast<unsigned char>(taken[1 + i]);
      const char* const upper = upper_of(table, taken.data(), i);
      Entry entry{bucket * table.width + value - kReach * table.width, {}};
      for (unsigned word = 1; word < kWords && upper_bytes_ != 0; ++word)
        entry.state.words[word] =
            read(upper + (word - 1) * 8) & (word + 1 < kWords ? ~std::uint64_t{0} : last_mask_);
      visit(entry);
    }
  }

  /// Of so many buckets that `entries` fill most of them and none has to lie apart. Where there are
  /// few fingerprints, entries are short, and as many as are looked at together take less than two
  /// cache lines.
  static Table fitting_table(double entries, std::uint64_t greatest, unsigned upper_bytes) {
    constexpr double kMost = 1e15;  // more than memory has, and exact as a double
    const unsigned lines = (8 + upper_bytes + 15) / 16 * 128;
    entries = std::min(entries, static_cast<double>(greatest));
    Table table(greatest, kFirstBuckets, upper_bytes, lines);
    for (int i = 0; i < 4; ++i) {  // the more buckets, the shorter entries, the more in a bucket
      const double load = 1 - 2.0 / table.slots;  // as tried: they crowd behind 1 - 1.0 / slots
      const double buckets = entries / table.slots / load;
      const unsigned entry_bits = 8 + table.rest_bits + 8 * upper_bytes;
      const unsigned bytes = 1 + (kMostSlots * entry_bits + 7) / 8;
      table =
          Table(greatest, static_cast<std::size_t>(std::clamp(buckets, 1.0 * kFirstBuckets, kMost)),
                upper_bytes, std::min(lines, bytes));
    }
    return table;
  }
  /// Doubling from them on ends at `fitting` ones, or nearly. So many cost little when they stay
  /// empty: pages come when they are touched.
  static std::size_t first_buckets(std::size_t fitting) noexcept {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 15;
    while (fitting > kMostAtOnce) fitting /= 2;
    return fitting;
  }
  [[nodiscard]] std::size_t least_buckets() const noexcept {
    constexpr std::size_t kWorthSparing = std::size_t{1} << 12;
    return table_.buckets + table_.buckets / (table_.buckets < kWorthSparing ? 2 : 7) + 1;
  }
  [[nodiscard]] std::size_t more_buckets() const noexcept {
    std::size_t more = fitting_.buckets;
    while (more / 2 > least_buckets()) more /= 2;
    return std::max(more, least_buckets());
  }
  [[nodiscard]] bool grow_arena(std::size_t bytes) noexcept {
    const std::size_t more = bytes - arena_.bytes();
    if (budget_ != nullptr && !budget_->take(more)) return false;
    if (arena_.grow_to(bytes)) return true;
    if (budget_ != nullptr) budget_->give_back(more);
    return false;
  }
  /// The table is the larger one, with room for it, or as it was. Where twice as much is too much
  /// the least that helps may be there.
  [[nodiscard]] bool enlarge_table() noexcept {
    const Table old = table_;
    for (const std::size_t buckets : {more_buckets(), least_buckets()}) {
      table_ = Table(greatest_, buckets, upper_bytes_, old.bucket_bytes);
      if (grow_arena(table_.bytes())) return true;
      table_ = old;
    }
    return false;
  }

  /// Where all grows by a seventh at least, an entry's new bucket is behind the one it lay in,
  /// however far it was from its own, but for those at the beginning: they wait until all others
  /// have moved.
  void grow() {
    const Table old = table_;
    if (!enlarge_table()) {
      is_exhausted_ = true;
      return;
    }
    constexpr std::size_t kWaiting = 9 * (kReach + 1);
    std::vector<Entry> waiting(apart_.begin(), apart_.end());
    apart_.clear();
    for (std::size_t bucket = old.buckets_in_reach(); bucket-- > 0;)
      take_bucket(old, bucket, [&](const Entry& entry) {
        if (bucket < kWaiting || place(entry, true) == Outcome::Full) waiting.push_back(entry);
      });
    for (const Entry& entry : waiting)
      if (place(entry, true) == Outcome::Full) apart_.insert(entry);
  }

  unsigned upper_bytes_;
  std::uint64_t last_mask_;         // of the bytes that are kept of the last word
  unsigned unused_;                 // bits at the end of a fingerprint
  std::uint64_t first_, greatest_;  // fingerprint without them, and offset from it
  Table fitting_;
  Arena arena_;
  Table table_;
  bool is_bits_;
  std::unordered_set<Entry, EntryHash, SameEntry> apart_;
  std::uint64_t entries_ = 0;
  Budget* budget_;
  bool is_exhausted_;
};

}  // namespace portcullis::failover
