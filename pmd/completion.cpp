// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/completion.hpp"

#include <array>
#include <cstdio>

#include "prm/enums.hpp"

namespace portcullis::pmd {

std::string describe(const Completion& completion) {
  std::array<char, 160> line{};
  const std::string_view status = prm::name(completion.status);
  int length =
      std::snprintf(line.data(), line.size(), "qpn 0x%x wqe %u: %.*s (%u)",
                    prm::number(completion.qpn), completion.wqe_counter,
                    static_cast<int>(status.size()), status.data(), prm::number(completion.status));
  std::string text(line.data(), static_cast<std::size_t>(length));
  if (completion.ok()) return text;
  length = std::snprintf(line.data(), line.size(), ", syndrome 0x%x, vendor syndrome 0x%x",
                         completion.syndrome, completion.vendor_syndrome);
  return text.append(line.data(), static_cast<std::size_t>(length));
}

}  // namespace portcullis::pmd
