// SPDX-License-Identifier: BSD-3-Clause
//
// What was found for requests that meet, for whoever classifies many dumps one after the other: the
// same story is not explored twice. The runs that refute a repost are not kept.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "failover/classify/classify.hpp"
#include "failover/classify/story.hpp"

namespace portcullis::failover {

class Findings {
 public:
  /// All that advice for the requests of `story` is made of.
  [[nodiscard]] static std::string key_of(const Story& story);

  /// Of each request of the story that is no message, in their order; null: not told yet.
  [[nodiscard]] const std::vector<Classification>* of(const std::string& key) const;
  void keep(std::string key, std::vector<Classification> advice);
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }

 private:
  std::unordered_map<std::string, std::vector<Classification>> kept_;
};

}  // namespace portcullis::failover
