// SPDX-License-Identifier: BSD-3-Clause
//
// Which library this is. Before 1.0 a minor version may change what programs link against, and
// SOVERSION is MAJOR.MINOR; within one of them programs go on working without being built anew.
//
// Example, leases.cpp:
//   std::cout << "Portcullis " << version() << '\n';
#pragma once

#include <portcullis/export.hpp>

#include <string_view>

namespace portcullis {

/// "0.1.0", of the library that was loaded.
[[nodiscard]] PORTCULLIS_API std::string_view version() noexcept;

}  // namespace portcullis
