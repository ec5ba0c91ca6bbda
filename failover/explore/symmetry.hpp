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
    return is_sorting() ? sorted(state) : least(state);
  }
  /// Whether a canonical state is simply one whose blocks are sorted.
  [[nodiscard]] bool is_sorting() const noexcept { return renamings_.empty(); }

  /// Whether client `a`'s block is less than client `b`'s.
  template <unsigned kWords>
  [[nodiscard]] bool is_before(const State<kWords>& state, unsigned a, unsigned b) const noexcept {
    for (unsigned piece = 0; piece < pieces_; ++piece) {
      const std::uint64_t of_a = state.get(m_.pieces[a][piece].field);
      const std::uint64_t of_b = state.get(m_.pieces[b][piece].field);
      if (of_a != of_b) return of_a < of_b;
    }
    return false;
  }
  /// Sorts a state in which only the block of `client` is out of place; returns where it lies then.
  template <unsigned kWords>
  unsigned settle(State<kWords>& state, unsigned client) const noexcept {
    for (; client + 1 < m_.pieces.size() && is_before(state, client + 1, client); ++client)
      exchange(state, client, client + 1);
    return sink(state, client);
  }

 private:
  struct Renaming {
    std::vector<unsigned> to;      // client -> client
    std::vector<WordIndex> words;  // word number -> word number
  };

  template <unsigned kWords>
  [[nodiscard]] State<kWords> sorted(const State<kWords>& state) const noexcept {
    State<kWords> result = state;
    for (unsigned client = 1; client < m_.pieces.size(); ++client) (void)sink(result, client);
    return result;
  }
  /// Exchanges a client's block with lesser ones to its left; returns where it came to lie.
  template <unsigned kWords>
  unsigned sink(State<kWords>& state, unsigned client) const noexcept {
    for (; client > 0 && is_before(state, client, client - 1); --client)
      exchange(state, client, client - 1);
    return client;
  }
  template <unsigned kWords>
  void exchange(State<kWords>& state, unsigned a, unsigned b) const noexcept {
    for (unsigned piece = 0; piece < pieces_; ++piece) {
      const Field& of_a = m_.pieces[a][piece].field;
      const Field& of_b = m_.pieces[b][piece].field;
      const std::uint64_t bits = state.get(of_a);
      state.set(of_a, state.get(of_b));
      state.set(of_b, bits);
    }
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
      for (unsigned piece = 0; piece < pieces_; ++piece)
        result.set(m_.pieces[renaming.to[client]][piece].field,
                   state.get(m_.pieces[client][piece].field));
    for (const Field& field : word_fields_)
      result.set(field, renaming.words[static_cast<std::size_t>(result.get(field))]);
    return result;
  }

  const Machine& m_;
  unsigned pieces_;
  std::vector<Renaming> renamings_;  // empty: words name nobody, sorting is enough
  std::vector<Field> word_fields_;
};

}  // namespace portcullis::failover
