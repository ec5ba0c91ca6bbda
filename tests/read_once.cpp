// SPDX-License-Identifier: BSD-3-Clause
//
// The object that the precompiled header comes with (tests/CMakeLists.txt).
#include "tests/read_once.hpp"
