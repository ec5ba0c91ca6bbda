// SPDX-License-Identifier: BSD-3-Clause
#include "base/shared_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/device.hpp"

namespace portcullis {
namespace {

constexpr std::size_t kBytes = 4 * kPageBytes;

std::span<std::byte> mapped(int file, std::uint64_t offset = 0) {
  void* const at =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
           file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, static_cast<off_t>(offset));
  EXPECT_NE(at, MAP_FAILED);
  return {static_cast<std::byte*>(at), kBytes};
}

/// Pages of this process, and a file of twice as many that somebody else maps the second half of.
struct Pages {
  std::span<std::byte> own = mapped(-1);
  UniqueFd file = make_shared_file("test", 2 * kBytes, true).value();
  std::span<std::byte> others = mapped(file.get(), kBytes);
  Pages() = default;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() {
    munmap(own.data(), own.size());
    munmap(others.data(), others.size());
  }
  [[nodiscard]] blkcnt_t blocks() const {
    struct stat status {};
    EXPECT_EQ(fstat(file.get(), &status), 0);
    return status.st_blocks;
  }
};

TEST(SharedPages, Shared_KeepTheirBytesAndEachSeesTheOthersStores) {
  Pages pages;
  pages.own[kPageBytes + 1] = std::byte{7};
  ASSERT_TRUE(share_pages(pages.own, pages.file.get(), kBytes));
  EXPECT_EQ(pages.own[kPageBytes + 1], std::byte{7});
  EXPECT_EQ(pages.others[kPageBytes + 1], std::byte{7});
  pages.own[0] = std::byte{8};
  EXPECT_EQ(pages.others[0], std::byte{8});
  pages.others[kBytes - 1] = std::byte{9};
  EXPECT_EQ(pages.own[kBytes - 1], std::byte{9});
}

TEST(SharedPages, Unshared_KeepTheirBytesAndNobodySeesTheirStores) {
  Pages pages;
  ASSERT_TRUE(share_pages(pages.own, pages.file.get(), kBytes));
  pages.others[5] = std::byte{1};
  ASSERT_TRUE(unshare_pages(pages.own));
  EXPECT_EQ(pages.own[5], std::byte{1});
  pages.own[5] = std::byte{2};
  EXPECT_EQ(pages.others[5], std::byte{1});
  pages.others[5] = std::byte{3};
  EXPECT_EQ(pages.own[5], std::byte{2});
}

TEST(SharedPages, PagesOfZeros_TakeNoRoomAndForgottenOnesGiveItBack) {
  Pages pages;
  ASSERT_TRUE(share_pages(pages.own, pages.file.get(), kBytes));
  EXPECT_EQ(pages.blocks(), 0);
  pages.own[0] = std::byte{1};
  EXPECT_GT(pages.blocks(), 0);
  ASSERT_TRUE(unshare_pages(pages.own));
  ASSERT_TRUE(forget_pages(pages.file.get(), kBytes, kBytes));
  EXPECT_EQ(pages.blocks(), 0);
  EXPECT_EQ(pages.others[0], std::byte{0});
}

TEST(SharedPages, LengthOfAFixedFile_IsNobodysToChange) {
  const Pages pages;
  EXPECT_NE(ftruncate(pages.file.get(), 0), 0);
  EXPECT_NE(ftruncate(pages.file.get(), 4 * kBytes), 0);
}

TEST(SharedPages, PagesThatCannotBeForgotten_AreSaidToBe) {
  const Pages pages;
  pages.others[0] = std::byte{1};
  const auto name = "/proc/self/fd/" + std::to_string(pages.file.get());
  const UniqueFd reader(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  const auto refused = forget_pages(reader.get(), kBytes, kBytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::System);
  EXPECT_EQ(pages.others[0], std::byte{1});
}

TEST(SharedPages, FileThatIsNone_LeavesAllAsItWas) {
  Pages pages;
  pages.own[1] = std::byte{4};
  const auto refused = share_pages(pages.own, 1'000'000, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::OutOfResources);
  EXPECT_EQ(pages.own[1], std::byte{4});
}

}  // namespace
}  // namespace portcullis
