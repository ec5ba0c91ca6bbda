// SPDX-License-Identifier: BSD-3-Clause
//
// What a bundle must not tell: MACs, addresses and keys, searched for in all of its bytes in each
// way that they could be written. The same search finds them where they were asked for.
#include "tools/first_light/keeping.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "prm/opcodes.hpp"
#include "prm/view.hpp"
#include "tests/light/quick_run.hpp"
#include "trace/recording.hpp"

namespace portcullis::tools::first_light {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::uint32_t word(const std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8U | std::to_integer<std::uint32_t>(bytes.at(at + i));
  return value;
}

/// A run, its bundle as one text, and the keys that it made.
struct Kept {
  explicit Kept(bool keeps_identities) {
    Keeping keeping(keeps_identities);
    auto options = light::testing::little_of("model,behaviour=data-path-ns=1000",
                                             "bring-up,loopback,key,entries,plans,audit");
    options.on_command = [&](const trace::TraceCommand& command) {
      keeping.add(command);
      if (command.opcode() != prm::Opcode::CREATE_MKEY) return;
      // create_mkey_out.mkey_index is the low 24 bits of the dword at 8 (mlx5_ifc.h).
      keys.insert(word(command.out.bytes, 8) & 0xff'ffffU);
    };
    options.on_fence = [&](const auto& plan, const auto& fence) { keeping.add(plan, fence); };
    options.log = [&](std::string_view line) { keeping.add_line(line); };
    keeping.add_line("MAC 02:50:43:00:00:01 at fe80::50:43ff:fe00:1 and 192.0.2.1, slot 3");
    bundle = keeping.bundle(light::run(options));
    for (const trace::BundleFile& file : bundle.files) text += file.text;
  }
  /// Keys whose index stands in a field.
  [[nodiscard]] std::vector<std::uint32_t> keys_told() const {
    std::vector<std::uint32_t> told;
    for (const std::uint32_t key : keys)
      if (text.find(fmt::format("mkey_index {:#x}\n", key)) != std::string::npos)
        told.push_back(key);
    return told;
  }

  std::set<std::uint32_t> keys;
  trace::Bundle bundle;
  std::string text;
};

/// The model's MAC is 02:50:43:00:00:01, its RoCE address in the proof's sessions 192.0.2.1.
const auto tells_no_address = AllOf(Not(HasSubstr("02:50:43:00:00:01")), Not(HasSubstr("02504300")),
                                    Not(HasSubstr("192.0.2.1")), Not(HasSubstr("ffff c0000201")),
                                    Not(HasSubstr("0000ffff c0000201")), Not(HasSubstr("fe80")));

TEST(Keeping, Bundle_TellsNoAddressAndNoKey) {
  const Kept kept(false);
  EXPECT_THAT(kept.keys, SizeIs(::testing::Gt(20u)));
  EXPECT_THAT(kept.text, tells_no_address);
  EXPECT_THAT(kept.keys_told(), IsEmpty());
  EXPECT_THAT(kept.text, HasSubstr("MAC (address) at (address) and (address), slot 3"));
}

TEST(Keeping, BundleWithIdentities_HasThem) {
  const Kept kept(true);
  EXPECT_THAT(kept.text, AllOf(HasSubstr("02:50:43:00:00:01"), HasSubstr("0000ffff c0000201"),
                               HasSubstr("192.0.2.1")));
  EXPECT_THAT(kept.keys_told(), Not(IsEmpty()));
}

TEST(Keeping, RecordingWithoutIdentities_IsReadAndSaysWhatWasAnswered) {
  const Kept kept(false);
  const auto recording =
      trace::parse_recording(kept.bundle.find("commands.trace")->text, "commands.trace");
  ASSERT_TRUE(recording) << recording.error().text;
  const auto tells_its_key = [](const trace::TraceCommand& command) {
    return command.opcode() == prm::Opcode::CREATE_MKEY &&
           !(command.status() == 0 && command.out.is_unknown(8, 4) && command.in.is_unknown(8, 4));
  };
  EXPECT_TRUE(std::ranges::none_of(recording->commands, tells_its_key));
  const auto asked = std::ranges::find(recording->commands, prm::Opcode::QUERY_HCA_CAP,
                                       &trace::TraceCommand::opcode);
  ASSERT_NE(asked, recording->commands.end());
  EXPECT_THAT(asked->out.gaps, IsEmpty());
}

TEST(Keeping, Manifest_NamesEveryFile) {
  const Kept kept(false);
  const std::string manifest = kept.bundle.find("manifest.json")->text;
  for (const trace::BundleFile& file : kept.bundle.files)
    EXPECT_THAT(manifest + "\"manifest.json\"", HasSubstr("\"" + file.name + "\""));
  EXPECT_THAT(manifest, HasSubstr("\"identities\": \"left out\""));
}

TEST(WithoutIdentities, NumbersOfObjectsAndPathsOfFiles_AreBlottedOut) {
  EXPECT_EQ(without_identities("before any revoke: qpn 0x41 wqe 0: IBV_WC_RETRY_EXC_ERR"),
            "before any revoke: qpn (number) wqe (number): IBV_WC_RETRY_EXC_ERR");
  EXPECT_EQ(without_identities("table_id 1, read /home/alice/corp-db2/card: refused"),
            "table_id (number), read (path): refused");
  EXPECT_EQ(without_identities("/sys/bus/pci and RDMA/RoCE at 1 / 2"),
            "/sys/bus/pci and RDMA/RoCE at 1 / 2");
}

TEST(WithoutIdentities, WhatIsNone_Stays) {
  const std::string text =
      "firmware 16.35.4506 at 12:34 of 0000:03:00.0: 2ERR_QP::x took 3 ms, {\"a\": 1}";
  EXPECT_EQ(without_identities(text), text);
}

}  // namespace
}  // namespace portcullis::tools::first_light
