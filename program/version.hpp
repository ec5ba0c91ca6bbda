// SPDX-License-Identifier: BSD-3-Clause
//
// What every program answers --version with: which Portcullis it is of, and which commit of it.
#pragma once

#include <string>
#include <string_view>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11 is called so
class App;
}

namespace portcullis::program {

/// The commit that the programs were built of: "bc599b93e1", "bc599b93e1-changed" with changes on
/// top, "unknown" outside of a clone. Tests, which are not linked again for each, have "untold".
[[nodiscard]] std::string_view commit() noexcept;

/// "NAME (portcullis 0.1.0, commit bc599b93e1)"; of `program` the first word counts. `note`, if
/// there is one, stands behind the commit.
[[nodiscard]] std::string version_text(std::string_view program, std::string_view note = {});

/// Lets `app` answer --version with version_text() of its name, unless it has an answer.
void answer_version(CLI::App& app);

}  // namespace portcullis::program
