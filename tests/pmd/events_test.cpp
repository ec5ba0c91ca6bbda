// SPDX-License-Identifier: BSD-3-Clause
//
// EQEs as the kernel's structures lay them out (include/linux/mlx5/device.h, struct mlx5_eqe): type
// in byte 1, sub type in byte 3, data from byte 32.
#include "pmd/events.hpp"

#include <gmock/gmock.h>

#include <array>

namespace portcullis::pmd {
namespace {

struct Eqe {
  explicit Eqe(std::uint8_t type, std::uint8_t sub_type = 0) {
    set(1, type);
    set(3, sub_type);
  }
  /// `value` big-endian at byte `at` of the event's data.
  template <class T>
  Eqe& data(std::size_t at, T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      set(32 + at + i, static_cast<std::uint8_t>(value >> (8 * (sizeof value - 1 - i))));
    return *this;
  }
  void set(std::size_t at, std::uint8_t value) { bytes[at] = static_cast<std::byte>(value); }
  std::array<std::byte, 64> bytes{};
};

template <class T>
T decoded(const Eqe& eqe) {
  return std::get<T>(decode_event(eqe.bytes));
}

TEST(DecodeEvent, WqAccessError_NamesItsQp) {
  // mlx5_eqe_qp_srq: type in byte 20, number in the dword at 24.
  const auto event = decoded<QpEvent>(Eqe(0x11).data(24, 0xff00'1234u));
  EXPECT_EQ(event.type, 0x11);
  EXPECT_EQ(event.qpn, prm::QpNumber{0x1234});
}

TEST(DecodeEvent, NumberOfAnRqOrSq_IsNoQp) {
  const auto event = decoded<UnknownEvent>(Eqe(0x05).data(20, std::uint8_t{2}).data(24, 0x1234u));
  EXPECT_EQ(event.type, 0x05);
}

struct DecodeQpEvent : ::testing::TestWithParam<std::uint8_t> {};
TEST_P(DecodeQpEvent, IsAQpEvent) {
  EXPECT_EQ(decoded<QpEvent>(Eqe(GetParam()).data(24, 7u)).type, GetParam());
}
// PATH_MIG, COMM_EST, SQ_DRAINED, WQ_CATAS_ERROR, PATH_MIG_FAILED, WQ_INVAL_REQ_ERROR,
// WQ_ACCESS_ERROR of enum mlx5_event.
INSTANTIATE_TEST_SUITE_P(Types, DecodeQpEvent,
                         ::testing::Values(0x01, 0x02, 0x03, 0x05, 0x07, 0x10, 0x11));

TEST(DecodeEvent, CqError_HasItsNumberAndSyndrome) {
  const auto event =
      decoded<CqErrorEvent>(Eqe(0x04).data(0, 0x0000'0456u).data(11, std::uint8_t{1}));
  EXPECT_EQ(event.cqn, 0x456u);
  EXPECT_EQ(event.syndrome, 1);
}

TEST(DecodeEvent, PortChange_HasThePortOfTheUpperHalfByte) {
  const auto event = decoded<PortChangeEvent>(Eqe(0x09, 4).data(8, std::uint8_t{0x10}));
  EXPECT_EQ(event.port, 1);
  EXPECT_EQ(event.sub_type, 4);
}

TEST(DecodeEvent, PageRequest_MayBeNegative) {
  const auto event = decoded<PageRequestEvent>(
      Eqe(0x0b).data(2, std::uint16_t{3}).data(4, static_cast<std::uint32_t>(-17)));
  EXPECT_EQ(event.function_id, 3);
  EXPECT_EQ(event.pages, -17);
  EXPECT_FALSE(event.embedded_cpu_function);
  EXPECT_FALSE(event.release_all);
}

TEST(DecodeEvent, PageRequest_HasItsTwoFlags) {
  const auto event = decoded<PageRequestEvent>(Eqe(0x0b).data(0, std::uint16_t{0xc000}));
  EXPECT_TRUE(event.embedded_cpu_function);
  EXPECT_TRUE(event.release_all);
}

TEST(DecodeEvent, InternalError_IsOne) { decoded<InternalErrorEvent>(Eqe(0x08)); }

TEST(DecodeEvent, EveryOtherType_IsUnknownAndKeepsItsNumber) {
  EXPECT_EQ(decoded<UnknownEvent>(Eqe(0xff, 9)).type, 0xff);
  EXPECT_EQ(decoded<UnknownEvent>(Eqe(0xff, 9)).sub_type, 9);
}

TEST(DecodeEvent, AnyBytes_DecodeToSomethingThatCanBeDescribed) {
  for (unsigned type = 0; type < 256; ++type) {
    Eqe eqe(static_cast<std::uint8_t>(type));
    for (std::size_t i = 32; i < 60; ++i) eqe.set(i, 0xff);
    EXPECT_FALSE(describe(decode_event(eqe.bytes)).empty()) << type;
  }
}

TEST(DescribeEvent, AccessError_IsNamedAsTheKernelNamesIt) {
  EXPECT_EQ(describe(QpEvent{0x11, prm::QpNumber{18}}), "WQ_ACCESS_ERROR qpn 18");
}

}  // namespace
}  // namespace portcullis::pmd
