// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram of subnet management that a driver hands to its function by MAD_IFC, and the answer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "prm/mad.hpp"
#include "tests/model/mini_driver.hpp"

namespace portcullis::model::testing {

/// An attribute of subnet management has as many bytes as PortInfo has here.
using Info = prm::Buffer<prm::ib_port_info>;

struct SubnetAnswer {
  std::uint32_t status = 0;
  Info info;
};

/// Get (1) or Set (2) of PortInfo, or of another attribute.
inline SubnetAnswer smp(MiniDriver& driver, std::uint8_t method, const Info& info,
                        std::uint32_t modifier = 1, std::uint16_t attribute = 0x15) {
  auto in = command<prm::mad_ifc_in>(prm::Opcode::MAD_IFC);
  in.set<"port", 1>();
  const auto mad = prm::View<prm::ib_smp>::at(in.bytes<"mad">());
  mad.set<"base_version", 1>();
  mad.set<"mgmt_class", 0x81>();
  mad.set<"class_version", 1>();
  mad.put<"method">(method);
  mad.put<"attr_id">(attribute);
  mad.put<"attr_mod">(modifier);
  std::ranges::copy(info.all(), mad.bytes<"data">().begin());
  const Answer answer = driver.run<prm::mad_ifc_out>(in);
  EXPECT_TRUE(answer.ok());
  const auto out =
      prm::ConstView<prm::ib_smp>::at(answer.as<prm::mad_ifc_out>().bytes<"response_mad_packet">());
  SubnetAnswer said{.status = out.get<"status">(), .info = {}};
  std::ranges::copy(out.bytes<"data">(), said.info.all().begin());
  return said;
}

}  // namespace portcullis::model::testing
