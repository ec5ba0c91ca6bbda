// SPDX-License-Identifier: BSD-3-Clause
//
// Steering and a UMR queue that note what they were asked for and refuse when told to, for tests of
// what a fence asks of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "lease/key_freer.hpp"
#include "steering/drop_rule.hpp"

namespace portcullis::testing {

class NotedDropRule final : public steering::DropRule {
 public:
  Result<bool> prepare(const steering::DropTarget&, std::uint64_t deadline_ns) override {
    prepare_deadlines_ns.push_back(deadline_ns);
    if (now_ns != nullptr) *now_ns += takes_ns;
    if (refuse_prepare) return fail(Errc::CommandFailed, "no table");
    return stands_from_the_grant;
  }
  Result<void> install(const steering::DropTarget& target, std::uint64_t deadline_ns) override {
    installed.push_back(target.slot);
    install_deadline_ns = deadline_ns;
    if (in_flight != nullptr) most_in_flight = std::max(most_in_flight, *in_flight);
    if (now_ns != nullptr) *now_ns += takes_ns;
    if (refuse) return fail(Errc::CommandFailed, "no room");
    return {};
  }
  Result<void> remove(const steering::DropTarget& target, std::uint64_t deadline_ns) override {
    removed.push_back(target.slot);
    remove_deadline_ns = deadline_ns;
    if (refuse_remove) return fail(Errc::CommandFailed, "stays");
    return {};
  }
  std::vector<std::uint32_t> installed;
  std::vector<std::uint32_t> removed;
  std::vector<std::uint64_t> prepare_deadlines_ns;
  std::uint64_t install_deadline_ns = 0;
  std::uint64_t remove_deadline_ns = 0;
  const std::uint32_t* in_flight = nullptr;  // commands; null: nobody counts
  std::uint32_t most_in_flight = 0;          // when it was asked to install
  std::uint64_t* now_ns = nullptr;           // null: takes no time
  std::uint64_t takes_ns = 0;
  bool stands_from_the_grant = false;
  bool refuse = false;
  bool refuse_remove = false;
  bool refuse_prepare = false;
};

class NotedKeyFreer final : public lease::KeyFreer {
 public:
  Result<void> free_key(prm::Rkey key, std::uint64_t deadline_ns) override {
    freed.push_back(key);
    free_deadline_ns = deadline_ns;
    if (refuse) return fail(Errc::CommandFailed, "the request completed in error");
    return {};
  }
  std::vector<prm::Rkey> freed;
  std::uint64_t free_deadline_ns = 0;
  bool refuse = false;
};

}  // namespace portcullis::testing
