// SPDX-License-Identifier: BSD-3-Clause
//
// The two addresses of a RoCE port, which are the front door's own types.
#pragma once

#include <portcullis/address.hpp>  // IWYU pragma: export

#include "base/result.hpp"

namespace portcullis::pmd {

using portcullis::Gid;
using portcullis::Mac;

}  // namespace portcullis::pmd
