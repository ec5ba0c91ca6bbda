// SPDX-License-Identifier: BSD-3-Clause
//
// Programs that judge captures and that nobody here wrote: tshark dissects frames, scapy recomputes
// ICRCs. infiniband_oracle.py is ours and computes the CRCs of an InfiniBand link by definition.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace portcullis::model::testing {

/// One field of every frame that `filter` accepts, a line each.
[[nodiscard]] std::string tshark(const std::string& path, const std::string& filter,
                                 const std::string& field);
/// The distinct values of a field, sorted.
[[nodiscard]] std::vector<std::string> tshark_values(const std::string& path,
                                                     const std::string& filter,
                                                     const std::string& field);
/// "frames N wrong M\n".
[[nodiscard]] std::string oracle(const std::string& path);
[[nodiscard]] std::string infiniband_oracle(const std::string& path);

[[nodiscard]] std::size_t lines(const std::string& text);

}  // namespace portcullis::model::testing
