// SPDX-License-Identifier: BSD-3-Clause
//
// prm/registry.hpp lists every layout that prm/ defines, once; prm-dump prints what it lists.
#include "prm/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace portcullis::prm {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Names of the layouts that the headers of prm/ define. The idiom in the comment of layout.hpp is
/// one that object_commands.hpp has too.
std::set<std::string> defined_layouts() {
  const std::regex definition(R"(struct \w+ : \w+<"(\w+)\")");
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(PORTCULLIS_PRM_FOLDER)) {
    const std::string text = text_of(file.path());
    for (std::sregex_iterator at(text.begin(), text.end(), definition), end; at != end; ++at)
      names.insert((*at)[1]);
  }
  return names;
}

std::vector<std::string> listed_layouts() {
  std::vector<std::string> names;
  std::ranges::transform(kLayouts, std::back_inserter(names),
                         [](const LayoutInfo& layout) { return std::string(layout.name); });
  return names;
}

TEST(Registry, ListsEveryLayoutOfPrm_Once) {
  std::vector<std::string> listed = listed_layouts();
  std::ranges::sort(listed);
  const auto defined = defined_layouts();
  EXPECT_EQ(listed, std::vector<std::string>(defined.begin(), defined.end()));
}

TEST(Registry, FindsLayoutsInTheFolder) { EXPECT_GT(defined_layouts().size(), 100u); }

TEST(Registry, KnowsNamesBitsAndMembersOfALayout) {
  const LayoutInfo& layout = layout_info<cmd_in>;
  EXPECT_EQ(layout.name, "cmd_in");
  EXPECT_EQ(layout.bits, 0x40u);
  EXPECT_EQ(layout.members.size(), 3u);
}

}  // namespace
}  // namespace portcullis::prm
