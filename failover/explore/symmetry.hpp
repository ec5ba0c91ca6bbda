// SPDX-License-Identifier: BSD-3-Clause
//
// Clients run the same program, so that states which differ only in who is who behave alike. The
// canonical one of such a class is the one whose client blocks are sorted; where words carry tags,
// the least of all renamings.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

class Symmetry {
 public:
  explicit Symmetry(const Machine& machine);

  template <unsigned kWords>
  [[nodiscard]] State<kWords> canonical(const State<kWords>& state) const noexcept {
    return renamings_.empty() ? sorted(state) : least(state);
  }

 private:
  static constexpr unsigned kMaxPieces = kMaxStateWords;
  using Block = std::array<std::uint64_t, kMaxPieces>;

  struct Renaming {
    std::vector<unsigned> to;      // client -> client
    std::vector<WordIndex> words;  // word number -> word number
  };

  template <unsigned kWords>
  [[nodiscard]] State<kWords> sorted(const State<kWords>& state) const noexcept {
    if (fits_word_) return sorted_words(state);
    std::array<Block, kMaxClients> blocks;
    const unsigned clients = static_cast<unsigned>(m_.pieces.size());
    for (unsigned client = 0; client < clients; ++client) blocks[client] = block(state, client);
    const auto before = [&](const Block& a, const Block& b) {
      return std::lexicographical_compare(a.begin(), a.begin() + pieces_, b.begin(),
                                          b.begin() + pieces_);
    };
    for (unsigned client = 1; client < clients; ++client)
      for (unsigned at = client; at > 0 && before(blocks[at], blocks[at - 1]); --at)
        std::swap(blocks[at], blocks[at - 1]);
    State<kWords> result = state;
    for (unsigned client = 0; client < clients; ++client) put(result, client, blocks[client]);
    return result;
  }

  /// The same where a client's bits fit one word.
  template <unsigned kWords>
  [[nodiscard]] State<kWords> sorted_words(const State<kWords>& state) const noexcept {
    std::array<std::uint64_t, kMaxClients> blocks;
    const unsigned clients = static_cast<unsigned>(m_.pieces.size());
    bool is_sorted = true;
    for (unsigned client = 0; client < clients; ++client) {
      std::uint64_t bits = 0;
      for (const Piece& piece : m_.pieces[client])
        bits = bits << piece.field.width | state.get(piece.field);
      unsigned at = client;
      for (; at > 0 && blocks[at - 1] > bits; --at) blocks[at] = blocks[at - 1];
      is_sorted = is_sorted && at == client;
      blocks[at] = bits;
    }
    if (is_sorted) return state;
    State<kWords> result = state;
    for (unsigned client = 0; client < clients; ++client)
      for (unsigned piece = pieces_; piece-- > 0;) {
        const Field& field = m_.pieces[client][piece].field;
        result.set(field, blocks[client]);
        blocks[client] >>= field.width;
      }
    return result;
  }

  template <unsigned kWords>
  [[nodiscard]] State<kWords> least(const State<kWords>& state) const noexcept {
    State<kWords> best = state;
    for (const Renaming& renaming : renamings_) best = std::min(best, renamed(state, renaming));
    return best;
  }

  template <unsigned kWords>
  [[nodiscard]] State<kWords> renamed(const State<kWords>& state,
                                      const Renaming& renaming) const noexcept {
    State<kWords> result = state;
    for (unsigned client = 0; client < renaming.to.size(); ++client)
      put(result, renaming.to[client], block(state, client));
    for (const Field& field : word_fields_)
      result.set(field, renaming.words[static_cast<std::size_t>(result.get(field))]);
    return result;
  }

  template <unsigned kWords>
  [[nodiscard]] Block block(const State<kWords>& state, unsigned client) const noexcept {
    Block block{};
    for (unsigned piece = 0; piece < pieces_; ++piece)
      block[piece] = state.get(m_.pieces[client][piece].field);
    return block;
  }
  template <unsigned kWords>
  void put(State<kWords>& state, unsigned client, const Block& block) const noexcept {
    for (unsigned piece = 0; piece < pieces_; ++piece)
      state.set(m_.pieces[client][piece].field, block[piece]);
  }

  const Machine& m_;
  unsigned pieces_;
  bool fits_word_;                   // the pieces of a client together
  std::vector<Renaming> renamings_;  // empty: words name nobody, sorting is enough
  std::vector<Field> word_fields_;
};

}  // namespace portcullis::failover
