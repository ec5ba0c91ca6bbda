// SPDX-License-Identifier: BSD-3-Clause
//
// The samples of docs/pfc/import as files in memory.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "pfc/import/import.hpp"

namespace portcullis::pfc::import::testing {

inline File sample(const std::string& name) {
  std::ifstream file(std::string(PORTCULLIS_SAMPLES) + "/" + name);
  return {name, {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
}

inline std::vector<File> frr_samples() {
  return {sample("leaf1.json"), sample("leaf2.json"), sample("spine1.json"), sample("spine2.json")};
}

/// `file` with its first `from` replaced.
inline File damaged(File file, const std::string& from, const std::string& to) {
  file.text.replace(file.text.find(from), from.size(), to);
  return file;
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "none" : result.error().text;
}

/// A mistake in one of the two files that an importer takes, and the line that it ends in.
struct MistakeInOne {
  const char* name;
  bool is_in_first;
  const char* from;
  const char* to;
  const char* answer;
};

class MistakeInOneOfTwo : public ::testing::TestWithParam<MistakeInOne> {
 protected:
  static File first(const char* name) { return changed(name, GetParam().is_in_first); }
  static File second(const char* name) { return changed(name, !GetParam().is_in_first); }

 private:
  static File changed(const char* name, bool is_this) {
    return is_this ? damaged(sample(name), GetParam().from, GetParam().to) : sample(name);
  }
};

}  // namespace portcullis::pfc::import::testing
