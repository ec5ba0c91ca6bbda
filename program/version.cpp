// SPDX-License-Identifier: BSD-3-Clause
#include "program/version.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace portcullis::program {

std::string version_text(std::string_view program, std::string_view note) {
  return fmt::format("{} (portcullis {}, commit {}{}{})", program.substr(0, program.find(' ')),
                     PORTCULLIS_VERSION, commit(), note.empty() ? "" : ", ", note);
}

void answer_version(CLI::App& app) {
  if (app.get_version_ptr() == nullptr)
    app.set_version_flag("--version", version_text(app.get_name()), "Print which build it is");
}

}  // namespace portcullis::program
