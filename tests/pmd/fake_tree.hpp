// SPDX-License-Identifier: BSD-3-Clause
//
// A directory tree of a test's own, in place of /sys or /dev; removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace portcullis::testing {

class FakeTree {
 public:
  FakeTree() {
    std::string name = (std::filesystem::temp_directory_path() / "portcullis-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;
  ~FakeTree() { std::filesystem::remove_all(root_); }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  void file(const std::filesystem::path& at, const std::string& text) const {
    std::filesystem::create_directories((root_ / at).parent_path());
    std::ofstream(root_ / at) << text;
  }
  void link(const std::filesystem::path& at, const std::string& target) const {
    std::filesystem::create_directories((root_ / at).parent_path());
    std::filesystem::create_symlink(target, root_ / at);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace portcullis::testing
