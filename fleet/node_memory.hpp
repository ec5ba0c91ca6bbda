// SPDX-License-Identifier: BSD-3-Clause
//
// What a node remembers of its fleet beside its journal: who it is, and which etcd it belongs to.
// One short line in a file that stays open, so that it can be written by whoever the server goes on
// as. It is written as one block, and a file that is not as it was written is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace portcullis::fleet {

class NodeMemory {
 public:
  /// Makes the file, 0600, with a number drawn for the node, where there is none. System for a file
  /// that cannot be used, Malformed for one that is not ours; each names it.
  [[nodiscard]] static Result<NodeMemory> open(const std::filesystem::path& file);

  [[nodiscard]] std::uint64_t node() const noexcept { return node_; }
  /// 0 before the first time.
  [[nodiscard]] std::uint64_t cluster() const noexcept { return cluster_; }
  /// At which the node has written its name there.
  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_; }
  /// Durable when it answers.
  [[nodiscard]] Result<void> remember(std::uint64_t cluster, std::uint64_t revision);

 private:
  NodeMemory(std::filesystem::path file, UniqueFd fd)
      : file_(std::move(file)), fd_(std::move(fd)) {}
  [[nodiscard]] Result<void> read();
  [[nodiscard]] Result<void> write() const;

  std::filesystem::path file_;
  UniqueFd fd_;
  std::uint64_t node_ = 0;
  std::uint64_t cluster_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace portcullis::fleet
