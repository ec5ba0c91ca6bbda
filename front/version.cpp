// SPDX-License-Identifier: BSD-3-Clause
#include <portcullis/version.hpp>

namespace portcullis {

std::string_view version() noexcept { return PORTCULLIS_VERSION; }

}  // namespace portcullis
