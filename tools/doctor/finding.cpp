// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/finding.hpp"

#include <fmt/format.h>

namespace portcullis::tools::doctor {

std::string_view name(Status status) noexcept {
  switch (status) {
    case Status::Ok:
      return "ok";
    case Status::Advice:
      return "advice";
    case Status::Missing:
      return "missing";
    case Status::Waits:
      return "waits";
  }
  return "unknown";
}

std::vector<std::string> boot_with(std::string_view parameters) {
  // The file is read by sh, so a line at its end adds to whatever stood there before.
  return {fmt::format("echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {}\"' >> /etc/default/grub",
                      parameters),
          "update-grub && reboot"};
}

}  // namespace portcullis::tools::doctor
