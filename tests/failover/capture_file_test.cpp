// SPDX-License-Identifier: BSD-3-Clause
//
// Captures as the programs of Wireshark write them, and broken ones: libpcap, which nobody here
// wrote, finds the same frames in every file that it reads to the end.
#include "tools/failover_check/capture_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/failover/capture_bytes.hpp"
#include "tools/failover_check/capture.hpp"
#include "tools/failover_check/commands.hpp"
#include "tools/failover_check/spin_run.hpp"

namespace portcullis::tools::failover_check {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using namespace capture_bytes;

const std::vector<std::string> four_frames = {write_only(5, 0), ack(5), write_only(6, 8),
                                              write_only(7, 16) + "odd"};

/// A folder, and what programs make of the files in it.
class Workshop {
 public:
  [[nodiscard]] std::string path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  void put(const std::string& name, const std::string& bytes) const {
    ASSERT_TRUE(write_file(path(name), bytes));
  }
  void run(const std::vector<std::string>& arguments) const {
    const auto run = run_program(arguments, folder_.path());
    ASSERT_TRUE(run.has_value());
    ASSERT_EQ(run->status, 0) << run->err;
  }
  [[nodiscard]] std::string bytes(const std::string& name) const {
    return read_file(path(name)).value();
  }
  [[nodiscard]] std::string dump(const std::string& name) const {
    return dump_of(read_capture(bytes(name), name, true).value(), {"reuse", "polls", false});
  }

 private:
  ScratchFolder folder_ = ScratchFolder::create().value();
};

TEST(CaptureFile, WhateverEditcapMakesOfIt_IsTheSameDump) {
  const Workshop shop;
  shop.put("c.pcap", pcap(four_frames));
  std::vector<std::string> dumps;
  for (const std::string format : {"pcapng", "pcap", "nsecpcap"}) {
    shop.run({"editcap", "-F", format, "c.pcap", format});
    dumps.push_back(shop.dump(format));
  }
  EXPECT_EQ(shop.bytes("pcapng").substr(0, 4), "\x0a\x0d\x0d\x0a");
  EXPECT_THAT(dumps, Each(shop.dump("c.pcap")));
  EXPECT_THAT(shop.dump("c.pcap"), HasSubstr("\"psn\": 7"));
}

TEST(CaptureFile, FilesOfTwoLinkTypesThatMergecapJoins_AreReadAsOne) {
  const Workshop shop;
  std::string raw = pcap({write_only(6, 8).substr(14)});
  raw[20] = 101;
  shop.put("a.pcap", pcap({write_only(5, 0)}));
  shop.put("b.pcap", raw);
  shop.run({"mergecap", "-a", "-F", "pcapng", "-w", "both", "a.pcap", "b.pcap"});
  EXPECT_EQ(read_capture(shop.bytes("both"), "both", true).value().requests.size(), 2U);
}

TEST(CaptureFile, WhatReordercapPutsInOrder_IsAccepted) {
  const Workshop shop;
  const Section in{true};
  shop.put("c.pcapng", in.header() + in.interface(1) + in.interface(1) +
                           in.enhanced(0, 9'000'000, write_only(6, 8)) +
                           in.enhanced(1, 7'000'000, write_only(5, 0)));
  EXPECT_THAT(read_capture(shop.bytes("c.pcapng"), "c", true).error().text,
              HasSubstr("as `reordercap` writes them"));
  shop.run({"reordercap", "c.pcapng", "ordered"});
  const Capture capture = read_capture(shop.bytes("ordered"), "c", true).value();
  EXPECT_EQ(capture.requests.size(), 2U);
  EXPECT_EQ(capture.requests[0].psn, 5U);
}

TEST(CaptureFile, WhatWasDroppedWhileItWasTaken_IsSaid) {
  const Workshop shop;
  const Section in{true};
  shop.put("c.pcapng", in.header() + in.interface(1) + in.enhanced(0, 7, write_only(5, 0)) +
                           in.block(5, little(0, 4) + little(0, 8) + in.option(5, little(3, 8))));
  std::ostringstream out, err;
  const std::atomic<bool> stop{false};
  const ImportCommand command{.path = shop.path("c.pcapng"),
                              .captured_at = "sender",
                              .environment = "quiet",
                              .consumer = "polls",
                              .sender = {}};
  EXPECT_EQ(run_import(command, {out, err, stop}), kExitFine);
  EXPECT_THAT(err.str(),
              HasSubstr("failover-check: 3 frames were dropped while this was captured"));
}

// ---- Against libpcap

struct Found {
  std::uint64_t wire_bytes;
  std::string bytes;
  bool operator==(const Found&) const = default;
};
using Frames = std::optional<std::vector<Found>>;  // nothing: refused

Frames read_here(const std::string& file) {
  std::vector<Found> found;
  const auto read = read_frames(file, "c", [&](const FileFrame& one) {
    std::string bytes;
    for (const std::byte byte : one.frame.bytes) bytes.push_back(std::to_integer<char>(byte));
    found.push_back({one.frame.wire_bytes, bytes});
    return Result<void>{};
  });
  return read.has_value() ? Frames(std::move(found)) : std::nullopt;
}

Frames read_by_libpcap(std::string file) {
  char why[PCAP_ERRBUF_SIZE];
  FILE* const stream = fmemopen(file.data(), file.size(), "rb");
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> handle(pcap_fopen_offline(stream, why),
                                                              &pcap_close);
  if (handle == nullptr) {
    std::fclose(stream);
    return std::nullopt;
  }
  std::vector<Found> found;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int status = 0;
  while ((status = pcap_next_ex(handle.get(), &header, &data)) == 1)
    found.push_back({std::max(header->len, header->caplen), {data, data + header->caplen}});
  return status == PCAP_ERROR_BREAK ? Frames(std::move(found)) : std::nullopt;
}

/// Small frames of all kinds of blocks, so that a changed byte matters.
std::string many_blocks(const Section& in) {
  return in.header() + in.interface(1, 40, in.option(2, "eth0") + in.option(9, "\x9")) +
         in.enhanced(0, 1, "first frame",
                     in.option(1, "text") + in.option(4, std::string(8, '\0'))) +
         in.block(4, "names") + in.simple("the second one") + in.obsolete(0, 1, "third") +
         in.interface(1, 40) + in.enhanced(1, 2, "fourth") +
         in.block(5, in.number(0, 4) + std::string(8, '\0') + in.option(5, std::string(8, '\1'))) +
         in.header() + in.interface(1, 40) + in.enhanced(0, 3, "of another section");
}

struct Agreement {
  unsigned both = 0, here_only = 0, refused = 0;
  std::vector<std::string> differences;
};

/// One to four bytes from `begin` on changed, some 64 ways each, or the file cut, or a part
/// doubled.
std::string spoiled(std::string file, std::size_t begin, std::mt19937& random) {
  const auto place = [&] { return begin + random() % (file.size() - begin); };
  const unsigned way = random() % 8;
  for (unsigned i = 0; i < 1 + way % 4; ++i) {
    const std::size_t at = place();
    file[at] = static_cast<char>(
        way < 4 ? random() : static_cast<unsigned char>(file[at]) ^ 1U << random() % 8);
  }
  if (way == 6) file.resize(place());
  if (way == 7) file.insert(place(), file.substr(place(), 1 + random() % 40));
  return file;
}

Agreement compare(const std::string& file, std::size_t begin, unsigned runs) {
  std::mt19937 random(18);
  Agreement all;
  for (unsigned i = 0; i < runs; ++i) {
    const std::string one = spoiled(file, begin, random);
    const Frames here = read_here(one), there = read_by_libpcap(one);
    all.both += here && there ? 1 : 0;
    all.here_only += here && !there ? 1 : 0;
    all.refused += here ? 0 : 1;
    if (here && there && *here != *there) all.differences.push_back(std::to_string(i));
  }
  return all;
}

TEST(CaptureFile, SpoiledPcapng_IsRefusedOrReadAsLibpcapDoes) {
  for (const bool is_little : {true, false}) {
    const std::string file = many_blocks({is_little});
    ASSERT_EQ(read_here(file).value(), read_by_libpcap(file).value());
    ASSERT_EQ(read_here(file)->size(), 5U);
    const Agreement found = compare(file, 0, 20'000);
    EXPECT_THAT(found.differences, ::testing::IsEmpty());
    EXPECT_GT(found.both, 4'000U);
    EXPECT_GT(found.refused, 2'000U);
  }
}

TEST(CaptureFile, SpoiledPcap_IsRefusedOrReadAsLibpcapDoes) {
  constexpr std::size_t kHeader = 24;  // libpcap cuts frames at the snapshot length in it
  const std::string file = pcap({"first frame", "the second one", "third", std::string(80, 'x')});
  ASSERT_EQ(read_here(file).value(), read_by_libpcap(file).value());
  const Agreement found = compare(file, kHeader, 20'000);
  EXPECT_THAT(found.differences, ::testing::IsEmpty());
  EXPECT_GT(found.both, 4'000U);
  EXPECT_GT(found.refused, 2'000U);
}

/// Whole captures, down to the dump: whatever the bytes, a dump or one line.
TEST(CaptureFile, SpoiledCaptures_AreDumpsOrOneLine) {
  std::mt19937 random(7);
  const Section in{true};
  std::string file = in.header() + in.interface(1) + in.interface(113);
  for (const std::string& one : four_frames) file += in.enhanced(0, 7, one);
  file += in.enhanced(1, 7, std::string(14, '\0') + big(0x86dd, 2) + four_frames[0]);
  unsigned dumps = 0, lines = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    const auto read = read_capture(spoiled(file, 0, random), "c", true);
    dumps += read.has_value() ? 1 : 0;
    lines += !read && read.error().text.starts_with("c: ") &&
                     std::ranges::count(read.error().text, '\n') == 0
                 ? 1
                 : 0;
  }
  EXPECT_EQ(dumps + lines, 20'000U);
  EXPECT_GT(dumps, 2'000U);
  EXPECT_GT(lines, 2'000U);
}

}  // namespace
}  // namespace portcullis::tools::failover_check
