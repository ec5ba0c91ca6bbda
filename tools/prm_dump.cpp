// SPDX-License-Identifier: BSD-3-Clause
//
// prm-dump: the layouts of prm/ as text, one line a field, for judges that know them from
// elsewhere. Names are the kernel's; nested layouts are flattened with dots and their offsets are
// absolute.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "prm/registry.hpp"
#include "program/standard_streams.hpp"
#include "program/version.hpp"

namespace {

using portcullis::prm::kLayouts;
using portcullis::prm::LayoutInfo;
using portcullis::prm::Member;
using portcullis::prm::MemberKind;

constexpr std::string_view kHelp =
    "usage: prm-dump [LAYOUT..]\n\n"
    "Prints 'layout field bit_offset bit_width', tab-separated, for the layouts named, or for "
    "all.\n"
    "Names are those of linux/mlx5/mlx5_ifc.h; mlx5_* are structs of device.h and mlx5dv.h.\n\n"
    "  --version   prints which build it is\n"
    "  -h, --help  prints this\n\n"
    "exit status: 0 printed, 1 bad arguments\n";

constexpr int kExitUsage = 1;

void append_fields(std::string& out, std::string_view layout, std::span<const Member> members,
                   const std::string& prefix, unsigned base) {
  for (const Member& m : members) {
    if (m.kind == MemberKind::Reserved) continue;
    const std::string path = prefix + std::string(m.name);
    if (m.kind == MemberKind::Nested) {
      append_fields(out, layout, {m.nested, m.nested_count}, path + ".", base + m.offset);
    } else {
      out += fmt::format("{}\t{}\t{}\t{}\n", layout, path, base + m.offset, m.width);
    }
  }
}

const LayoutInfo* find_layout(std::string_view name) {
  const auto* found = std::ranges::find(kLayouts, name, &LayoutInfo::name);
  return found == std::end(kLayouts) ? nullptr : found;
}

int dump(const std::vector<std::string_view>& arguments) {
  std::string out;
  for (const std::string_view argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::cout << kHelp << portcullis::program::kExitHelp;
      return 0;
    }
    if (argument == "--version") {
      std::cout << portcullis::program::version_text("prm-dump") << '\n';
      return 0;
    }
    const LayoutInfo* layout = find_layout(argument);
    if (layout == nullptr) {
      const std::string_view what = argument.starts_with('-') ? "option" : "layout";
      fmt::print(
          stderr,
          "prm-dump: no {} '{}'; accepted are --help, --version and the first column of what "
          "prm-dump prints without arguments\n",
          what, argument);
      return kExitUsage;
    }
    append_fields(out, layout->name, layout->members, "", 0);
  }
  if (arguments.empty())
    for (const LayoutInfo& layout : kLayouts)
      append_fields(out, layout.name, layout.members, "", 0);
  std::cout << out;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return portcullis::program::run_main("prm-dump", [&] { return dump({argv + 1, argv + argc}); });
}
