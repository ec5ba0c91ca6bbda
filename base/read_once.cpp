// SPDX-License-Identifier: BSD-3-Clause
//
// The object that the precompiled header comes with (base/CMakeLists.txt).
#include "base/read_once.hpp"
