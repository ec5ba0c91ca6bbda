// SPDX-License-Identifier: BSD-3-Clause
//
// The device that PORTCULLIS_DEVICE names (as after --device=; a model in this process when it
// names none), brought up anew for each test, with a lease manager and clients on its own port. The
// EAL's arguments, which hardware needs, stand in PORTCULLIS_EAL.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/open_device.hpp"
#include "lease/lease_manager.hpp"
#include "pmd/hca.hpp"
#include "pmd/roce_address.hpp"
#include "tests/lease/lease_client.hpp"

namespace portcullis::testing {

class DeviceWorld : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void bring_up();
  /// All objects back; what tear_down said.
  [[nodiscard]] Result<void> tear_down();

  /// A client with a lease of a page, connected.
  Client& client();
  [[nodiscard]] lease::RevokeAnswer revoke(const Client& of, const lease::Plan& plan);
  /// Word `index` of the client's lease, as this side sees it.
  [[nodiscard]] std::uint64_t word(const Client& of, std::size_t index = 0) const;
  /// All of the client's lease.
  [[nodiscard]] std::vector<std::uint64_t> words(const Client& of) const;

  [[nodiscard]] const Device& device() const { return hca->context().device; }

  std::optional<attach::OpenDevice> opened;
  std::unique_ptr<pmd::Hca> hca;
  std::optional<pmd::RoceAddressTable> addresses;
  std::vector<std::unique_ptr<Client>> clients;
  std::unique_ptr<lease::LeaseManager> manager;
};

}  // namespace portcullis::testing
