// SPDX-License-Identifier: BSD-3-Clause
#include "tests/device/device_world.hpp"

#include <cstdlib>
#include <sstream>

#include "base/dma_bytes.hpp"
#include "pmd/eal.hpp"

namespace portcullis::testing {
namespace {

constexpr std::uint32_t kSlots = 1024;

std::string variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

attach::DeviceSpec device_spec() {
  return attach::parse_device(variable("PORTCULLIS_DEVICE", "model")).value();
}

/// One for the whole program, started by the first test.
Result<void> start_eal(bool emulated) {
  static const Result<pmd::Eal> eal = [emulated] {
    std::vector<std::string> arguments{"device_test"};
    std::istringstream words(variable("PORTCULLIS_EAL", ""));
    for (std::string word; words >> word;) arguments.push_back(word);
    return pmd::Eal::start(std::move(arguments), emulated);
  }();
  if (!eal) return tl::unexpected<Error>(eal.error());
  return {};
}

}  // namespace

void DeviceWorld::SetUp() {
  const attach::DeviceSpec spec = device_spec();
  const auto started = start_eal(spec.is_emulated());
  ASSERT_TRUE(started) << started.error().text;
  auto open = attach::OpenDevice::open(spec);
  ASSERT_TRUE(open) << open.error().text;
  opened = *std::move(open);
  bring_up();
}

void DeviceWorld::TearDown() {
  if (!opened) return;
  const auto down = tear_down();
  EXPECT_TRUE(down) << down.error().text;
}

void DeviceWorld::bring_up() {
  auto up = pmd::Hca::bring_up(opened->device(), {});
  ASSERT_TRUE(up) << up.error().text;
  hca = *std::move(up);
  addresses.emplace(hca->context());
  ASSERT_TRUE(addresses->set(0, kPort));
  lease::LeaseManager::Options options;
  options.table.slots = kSlots;
  auto made = lease::LeaseManager::create(lease::Host::of(*hca), options);
  ASSERT_TRUE(made) << made.error().text;
  manager = *std::move(made);
}

Result<void> DeviceWorld::tear_down() {
  manager.reset();
  clients.clear();
  addresses.reset();
  return hca ? hca->tear_down() : Result<void>();
}

Client& DeviceWorld::client() {
  clients.push_back(std::make_unique<Client>(Client::create(hca->context())));
  Client& made = *clients.back();
  auto grant = manager->grant(
      {.bytes = kPageBytes, .peer = made.peer(), .ack_timeout = 8, .retry_count = 3});
  EXPECT_TRUE(grant) << grant.error().text;
  made.connect(grant.value());
  return made;
}

lease::RevokeAnswer DeviceWorld::revoke(const Client& of, const lease::Plan& plan) {
  return manager->revoke(of.grant.lease.id, of.grant.lease.epoch, plan);
}

std::uint64_t DeviceWorld::word(const Client& of, std::size_t index) const {
  return dma_peek_u64(manager->memory(of.grant.lease).data() + index * sizeof(std::uint64_t));
}

std::vector<std::uint64_t> DeviceWorld::words(const Client& of) const {
  std::vector<std::uint64_t> list;
  for (std::size_t i = 0; i < kPageBytes / sizeof(std::uint64_t); ++i) list.push_back(word(of, i));
  return list;
}

}  // namespace portcullis::testing
