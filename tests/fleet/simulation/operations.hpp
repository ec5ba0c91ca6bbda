// SPDX-License-Identifier: BSD-3-Clause
//
// A history as operations on words, for failover's judge of whole histories: each tenant's epoch as
// a register, and of each lease whether its region is held, and its bytes.
//
// An epoch is raised from the one below it to its own, between when the fence was asked for and
// answered. A region is held from when its client may write, and over by the answer of a fence
// that was asked for later than the lease, or of which its node did not know. Clients write all the
// time, so a WRITE lands when the region begins and when it ends: each finds it held, and changes
// its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "failover/explore/whole_history.hpp"

namespace portcullis::fleet::simulation {

class Operations {
 public:
  /// Of a lease by its name.
  void begins(const std::string& lease, std::uint64_t now_ns);
  void told(const std::string& lease, std::uint64_t now_ns);
  void lands(const std::string& lease, std::uint64_t now_ns);
  void over(const std::string& lease, std::uint64_t asked_ns, std::uint64_t now_ns);
  void raised(std::uint64_t tenant, std::uint64_t epoch, std::uint64_t asked_ns,
              std::uint64_t now_ns);

  /// What no order explains, a line each.
  [[nodiscard]] std::vector<std::string> wrong() const;

 private:
  struct Raised {
    std::uint64_t tenant = 0, epoch = 0, asked_ns = 0, answered_ns = 0;
  };
  void add(std::string name, std::uint64_t from_ns, std::uint64_t to_ns,
           std::vector<failover::Operated::OnWord> words);
  failover::Operated::OnWord held(const std::string& lease, failover::Operation operation,
                                  std::optional<failover::Word> answer);

  failover::WholeHistory history_;
  std::vector<Raised> raised_;
};

}  // namespace portcullis::fleet::simulation
