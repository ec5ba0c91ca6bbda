// SPDX-License-Identifier: BSD-3-Clause
//
// leased on a NIC that its kernel driver keeps, where there is none: in the place of rdma-core
// stands a kernel that is part of the process (tests/devx/kernel_fake.hpp), for every name. It goes
// with the process, and the next one is told of no reset, as on a card that is not reset.
#include "devx/libmlx5.hpp"
#include "pmd/roce_address.hpp"
#include "tests/devx/kernel_fake.hpp"

namespace portcullis::devx {

Result<std::unique_ptr<Provider>> open_libmlx5(const std::string& /*name*/) {
  constexpr pmd::Mac kMac{.octets = {2, 0, 0, 0, 0, 1}};
  static testing::KernelFake kernel;
  static pmd::RoceAddressTable addresses(kernel.hca().context());
  PORTCULLIS_TRY(addresses.set(0, {.gid = pmd::Gid::link_local(kMac), .mac = kMac}));
  return kernel.open();
}

}  // namespace portcullis::devx
