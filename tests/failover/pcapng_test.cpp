// SPDX-License-Identifier: BSD-3-Clause
//
// pcapng files, written here block by block as draft-ietf-opsawg-pcapng has them: what is read of
// them, what is passed over, and the line that names each lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/failover/capture_bytes.hpp"
#include "tools/failover_check/capture.hpp"

namespace portcullis::tools::failover_check {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace capture_bytes;

std::string dump_of_file(const std::string& file) {
  return dump_of(read_capture(file, "c.pcapng", true).value(), {"reuse", "notified", false});
}
std::string refusal(const std::string& file) {
  const auto read = read_capture(file, "c.pcapng", true);
  return read.has_value() ? "" : read.error().text;
}
std::vector<std::uint64_t> addresses(const std::string& file) {
  const Capture capture = read_capture(file, "c.pcapng", true).value();
  std::vector<std::uint64_t> found;
  for (const CapturedRequest& one : capture.requests) found.push_back(one.remote_addr);
  return found;
}

const Section little_endian{true}, big_endian{false};

std::string atomic(std::uint32_t psn) {
  return frame(kSender, 0x13, 0x11, psn,
               big(16, 8) + big(0x1000, 4) + big(4, 8) + big(9, 8));  // CAS
}
/// A WRITE and its answer, a CAS and a READ without one.
const std::vector<std::string> four_frames = {write_only(5, 0), ack(5), atomic(6),
                                              frame(kSender, 0x0c, 0x11, 7, reth(64, 0x1000, 600))};

/// The same frames in one section, each as `block` writes it.
template <class Block>
std::string one_section(const Section& in, const Block& block) {
  std::string file = in.header() + in.interface(1);
  for (const std::string& one : four_frames) file += block(one);
  return file;
}

TEST(Pcapng, SameFrames_AreTheSameDumpAsInPcap) {
  std::vector<std::string> dumps;
  for (const Section& in : {little_endian, big_endian}) {
    dumps.push_back(dump_of_file(one_section(in, [&](auto& f) { return in.enhanced(0, 1, f); })));
    dumps.push_back(dump_of_file(one_section(in, [&](auto& f) { return in.simple(f); })));
    dumps.push_back(dump_of_file(one_section(in, [&](auto& f) { return in.obsolete(0, 0, f); })));
  }
  const std::string as_pcap = dump_of_file(pcap(four_frames));
  EXPECT_THAT(as_pcap, HasSubstr("IBV_WR_ATOMIC_CMP_AND_SWP"));
  EXPECT_THAT(dumps, Each(as_pcap));
}

TEST(Pcapng, SectionsOfBothByteOrders_AreReadOneAfterTheOther) {
  const std::string file = little_endian.header() + little_endian.interface(1) +
                           little_endian.enhanced(0, 1, write_only(5, 0)) + big_endian.header() +
                           big_endian.interface(1) + big_endian.enhanced(0, 2, write_only(6, 8)) +
                           little_endian.header() + little_endian.interface(1) +
                           little_endian.enhanced(0, 3, write_only(7, 16));
  EXPECT_THAT(addresses(file), ElementsAre(0, 8, 16));
}

TEST(Pcapng, InterfacesOfASection_AreForgottenByTheNext) {
  EXPECT_EQ(refusal(little_endian.header() + little_endian.interface(1) + little_endian.header() +
                    little_endian.enhanced(0, 1, write_only(5, 0))),
            "c.pcapng: frame 1: interface 0; its section describes 0");
}

TEST(Pcapng, InterfacesOfSeveralLinkTypes_AreReadEachAsItIs) {
  const std::string ip = write_only(6, 8).substr(14);
  const std::string file = little_endian.header() + little_endian.interface(1) +
                           little_endian.interface(101) + little_endian.interface(249) +
                           little_endian.enhanced(0, 1, write_only(5, 0)) +
                           little_endian.enhanced(1, 2, ip);
  EXPECT_THAT(addresses(file), ElementsAre(0, 8));
  EXPECT_THAT(refusal(file + little_endian.enhanced(2, 3, ip)),
              HasSubstr("c.pcapng: frame 3: link type 249 of interface 2; accepted are Ethernet"));
}

TEST(Pcapng, BlocksWithoutPackets_ArePassedOver) {
  constexpr std::uint32_t kNames = 4, kSecrets = 10, kCustom = 0xbad, kLocal = 0x80000001;
  std::string file = little_endian.header() + little_endian.interface(1);
  for (const std::uint32_t type : {kNames, kSecrets, kCustom, kLocal})
    file += little_endian.block(type, std::string(20, '\3'));
  EXPECT_THAT(addresses(file + little_endian.enhanced(0, 1, write_only(5, 8))), ElementsAre(8));
}

TEST(Pcapng, OptionsBehindAPacket_AreNoPartOfIt) {
  std::string odd = write_only(5, 8) + "x";  // padded
  const std::string file = little_endian.header() +
                           little_endian.interface(1, 0, little_endian.option(2, "eth0")) +
                           little_endian.enhanced(0, 1, odd, little_endian.option(1, "a comment"));
  EXPECT_THAT(addresses(file), ElementsAre(8));
}

TEST(Pcapng, EveryPrefixOfAFile_IsRefusedUnlessABlockEndsThere) {
  const std::vector<std::string> blocks = {little_endian.header(), little_endian.interface(1),
                                           little_endian.enhanced(0, 1, write_only(5, 8)),
                                           little_endian.simple(write_only(6, 8))};
  std::string file;
  std::vector<std::size_t> ends, accepted;
  for (const std::string& block : blocks) ends.push_back((file += block).size());
  for (std::size_t bytes = 4; bytes <= file.size(); ++bytes)
    if (refusal(file.substr(0, bytes)).empty()) accepted.push_back(bytes);
  EXPECT_EQ(accepted, ends);
  EXPECT_EQ(refusal(file.substr(0, file.size() - 1)),
            "c.pcapng: frame 2: the file ends in it; a whole file is accepted");
}

struct Lie {
  const char* name;
  std::string file;
  const char* line;
};
class PcapngRefuses : public ::testing::TestWithParam<Lie> {};

TEST_P(PcapngRefuses, OneLineWithItsPlace) {
  EXPECT_THAT(refusal(GetParam().file), HasSubstr(GetParam().line));
}

const std::string one_interface = little_endian.header() + little_endian.interface(1);  // 48 bytes

/// `value` in place of the four bytes at `at`, from the end where it is negative.
std::string with(std::string block, int at, std::uint32_t value) {
  const auto place = static_cast<std::size_t>(at < 0 ? static_cast<int>(block.size()) + at : at);
  return block.replace(place, 4, little(value, 4));
}
std::string of_packet(int at, std::uint32_t value) {
  return one_interface + with(little_endian.enhanced(0, 1, write_only(5, 8)), at, value);
}
std::string of_interface(const std::string& options) {
  return little_endian.header() + little_endian.interface(1, 0, options);
}

INSTANTIATE_TEST_SUITE_P(
    All, PcapngRefuses,
    ::testing::Values(
        Lie{"ByteOrder", with(little_endian.header(), 8, 7),
            "byte 0: byte-order magic 07000000; 1a2b"},
        Lie{"Version", with(little_endian.header(), 12, 2),
            "byte 0: pcapng 2.0; 1.0 and 1.2 are acc"},
        Lie{"NoPlaceForAHeader",
            with(little_endian.block(0x0a0d0d0a, little(0x1a2b3c4d, 4)), 0, 0x0a0d0d0a),
            "byte 0: 4 bytes of its block's fields; 16 are accepted"},
        Lie{"LengthOfNothing", one_interface + with(little_endian.block(9, ""), 4, 8),
            "byte 48: a block of 8 bytes; multiples of 4 from 12 on are accepted"},
        Lie{"LengthThatIsNoMultiple", one_interface + with(little_endian.block(9, "abcd"), 4, 13),
            "byte 48: a block of 13 bytes"},
        Lie{"LengthBeyondTheFile",
            one_interface + with(little_endian.block(9, "abcd"), 4, 0xfffffffc),
            "byte 48: the file ends in it"},
        Lie{"OtherLengthBehind", one_interface + with(little_endian.block(9, "abcd"), -4, 20),
            "byte 48: a block of 16 bytes at its begin and 20 at its end"},
        Lie{"NoInterface", of_packet(8, 1), "frame 1: interface 1; its section describes 1"},
        Lie{"MoreCapturedThanThere", of_packet(20, 100), "frame 1: 100 bytes are said to be capt"},
        Lie{"AllOfItCaptured", of_packet(20, 0xffffffff), "frame 1: 4294967295 bytes are said"},
        Lie{"PacketWithoutFields", one_interface + little_endian.block(6, "abcd"),
            "frame 1: 4 bytes of its block's fields; 20 are accepted"},
        Lie{"SimpleLongerThanItsBlock",
            one_interface + little_endian.block(3, little(200, 4) + std::string(8, 'x')),
            "frame 1: 200 bytes are said to be captured, its block has room for 8"},
        Lie{"OptionBeyondItsBlock", of_interface(little(2, 2) + little(50, 2)),
            "byte 28: option 2 has 50 bytes, its block 0 more"},
        Lie{"OptionOfAnotherLength", of_interface(little_endian.option(9, "ab")),
            "byte 28: option 9 has 2 bytes; 1 are accepted"},
        Lie{"UnitsThatAreTooFine", of_interface(little_endian.option(9, "\x14")),
            "byte 28: if_tsresol is 10^-20"},
        Lie{"BinaryUnitsThatAreTooFine", of_interface(little_endian.option(9, "\xc0")),
            "byte 28: if_tsresol is 2^-64"}),
    [](const auto& info) { return info.param.name; });

TEST(Pcapng, SimplePacketLongerThanTheSnapshotLength_IsThatLong) {
  const std::string whole = write_only(5, 8);  // 82 bytes
  const std::string file = little_endian.header() + little_endian.interface(1, 72) +
                           little_endian.block(3, little(whole.size(), 4) + whole.substr(0, 72));
  EXPECT_THAT(addresses(file), ElementsAre(8));
  EXPECT_THAT(refusal(little_endian.header() + little_endian.interface(1, 48) +
                      little_endian.block(3, little(whole.size(), 4) + whole.substr(0, 48))),
              HasSubstr("c.pcapng: frame 1: 48 of its 82 bytes are captured, too few"));
}

// ---- The order of time

std::string at(const std::string& resolution, std::int64_t offset_s = 0) {
  return little_endian.interface(
      1, 0,
      little_endian.option(9, resolution) +
          little_endian.option(14, little(static_cast<std::uint64_t>(offset_s), 8)));
}
std::string two_at(const std::string& first, std::uint64_t first_time, const std::string& second,
                   std::uint64_t second_time) {
  return little_endian.header() + first + second +
         little_endian.enhanced(0, first_time, write_only(5, 0)) +
         little_endian.enhanced(1, second_time, write_only(6, 8));
}

TEST(Pcapng, FrameOfAnotherInterfaceThatIsEarlier_IsRefused) {
  EXPECT_EQ(refusal(two_at(at("\6"), 7'000'001, at("\6"), 7'000'000)),
            "c.pcapng: frame 2: was captured before frame 1, on another interface; frames in the "
            "order of time are accepted, as `reordercap` writes them");
}

TEST(Pcapng, TimesInUnitsOfTheirOwn_AreCompared) {
  constexpr std::uint64_t kNano = 7'000'000'000;
  EXPECT_EQ(refusal(two_at(at("\6"), 7'000'000, at("\x9"), kNano)), "");
  EXPECT_NE(refusal(two_at(at("\6"), 7'000'000, at("\x9"), kNano - 1)), "");
  EXPECT_EQ(refusal(two_at(at("\x9"), kNano + 999, at("\6"), 7'000'000)), "");  // in that 1 us
  EXPECT_NE(refusal(two_at(at("\x9"), kNano + 1000, at("\6"), 7'000'000)), "");
  EXPECT_EQ(refusal(two_at(at("\x8a"), 7 * 1024, at("\6"), 7'000'000)), "");  // 1/1024 s
  EXPECT_NE(refusal(two_at(at("\x8a"), 7 * 1024 + 1, at("\6"), 7'000'000)), "");
  EXPECT_EQ(refusal(two_at(at("\6", -3), 10'000'000, at("\6"), 7'000'000)), "");
  EXPECT_NE(refusal(two_at(at("\6", 3), 5'000'000, at("\6"), 7'000'000)), "");
}

TEST(Pcapng, ClockOfOneInterfaceThatIsSetBack_KeepsItsFramesInTheirOrder) {
  const std::string file = one_interface + little_endian.enhanced(0, 900, write_only(5, 0)) +
                           little_endian.enhanced(0, 100, write_only(6, 8));
  EXPECT_THAT(addresses(file), ElementsAre(0, 8));
}

TEST(Pcapng, OtherTraffic_NeedsNoOrder) {
  const std::string arp = ethernet(0x0806, std::string(46, '\0'));
  const std::string file = one_interface + little_endian.interface(1) +
                           little_endian.enhanced(1, 900, arp) +
                           little_endian.enhanced(0, 100, write_only(6, 8));
  EXPECT_THAT(addresses(file), ElementsAre(8));
}

// ---- What was dropped

std::uint64_t dropped(const std::string& file) {
  return read_capture(file, "c", true).value().dropped;
}
std::string statistics(std::uint64_t interface, std::uint64_t by_it, std::uint64_t by_system) {
  return little_endian.block(5, little(interface, 4) + little(0, 8) +
                                    little_endian.option(5, little(by_it, 8)) +
                                    little_endian.option(7, little(by_system, 8)));
}

TEST(Pcapng, DroppedFrames_AreThoseOfTheLastStatisticsOfEachInterface) {
  EXPECT_EQ(dropped(one_interface + statistics(0, 1, 2) + little_endian.interface(1) +
                    statistics(1, 40, 0) + statistics(0, 3, 4)),
            47U);
}

TEST(Pcapng, StatisticsThatTellOfNoDrops_TakeNothingBack) {
  const std::string silent = little_endian.block(5, little(0, 4) + little(0, 8));
  const std::string of_system =
      little_endian.block(5, little(0, 4) + little(0, 8) + little_endian.option(7, little(4, 8)));
  EXPECT_EQ(dropped(one_interface + statistics(0, 3, 1) + of_system + silent), 7U);
}

TEST(Pcapng, DroppedFrames_AreAddedUpFromPacketToPacket) {
  const std::string three = little_endian.option(4, little(3, 8));
  EXPECT_EQ(dropped(one_interface + little_endian.enhanced(0, 1, write_only(5, 0), three) +
                    little_endian.obsolete(0, 2, write_only(6, 0)) +
                    little_endian.obsolete(0, 0xffff, write_only(7, 0)) + statistics(0, 4, 0)),
            5U);
}

TEST(Pcapng, DropCountsThatLie_DoNotWrap) {
  EXPECT_EQ(dropped(one_interface + statistics(0, ~std::uint64_t{0}, 2)), ~std::uint64_t{0});
}

}  // namespace
}  // namespace portcullis::tools::failover_check
