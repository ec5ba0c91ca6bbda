// SPDX-License-Identifier: BSD-3-Clause
//
// What a node remembers over restarts: its number, and which etcd it belongs to.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fleet/node_memory.hpp"

namespace portcullis::fleet {
namespace {

class NodeMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "node-memory-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    file = folder / "journal.etcd";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string& text) const { std::ofstream(file) << text; }

  std::filesystem::path folder;
  std::filesystem::path file;
};

TEST_F(NodeMemoryTest, NewFile_DrawsANumberAndKnowsNoCluster) {
  const auto memory = NodeMemory::open(file);

  ASSERT_TRUE(memory) << memory.error().text;
  EXPECT_NE(memory->node(), 0U);
  EXPECT_EQ(memory->cluster(), 0U);
}

TEST_F(NodeMemoryTest, NewFile_IsItsOwnersAlone) {
  const auto memory = NodeMemory::open(file);
  struct stat status {};

  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(NodeMemoryTest, OpenedAgain_IsTheSameNode) {
  const std::uint64_t node = NodeMemory::open(file)->node();

  EXPECT_EQ(NodeMemory::open(file)->node(), node);
}

TEST_F(NodeMemoryTest, TwoFiles_AreTwoNodes) {
  EXPECT_NE(NodeMemory::open(file)->node(), NodeMemory::open(folder / "other")->node());
}

TEST_F(NodeMemoryTest, ClusterAndRevision_AreRemembered) {
  ASSERT_TRUE(NodeMemory::open(file)->remember(~0ULL, 17));
  const auto memory = NodeMemory::open(file);

  ASSERT_TRUE(memory) << memory.error().text;
  EXPECT_EQ(memory->cluster(), ~0ULL);
  EXPECT_EQ(memory->revision(), 17U);
}

TEST_F(NodeMemoryTest, FileOfSomebodyElse_IsRefusedByName) {
  write("hello\n");
  const auto memory = NodeMemory::open(file);

  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Errc::Malformed);
  EXPECT_NE(memory.error().text.find(file.string()), std::string::npos);
}

TEST_F(NodeMemoryTest, LineThatWasCut_IsRefused) {
  write("portcullis node 00000000000000ab cluster 00000000000000cd revision 000000000000");

  EXPECT_FALSE(NodeMemory::open(file));
}

TEST_F(NodeMemoryTest, FolderThatIsNotThere_IsASystemError) {
  const auto memory = NodeMemory::open(folder / "none" / "file");

  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Errc::System);
}

}  // namespace
}  // namespace portcullis::fleet
