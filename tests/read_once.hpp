// SPDX-License-Identifier: BSD-3-Clause
//
// What nearly every test reads: the precompiled header of them all (tests/CMakeLists.txt). A test
// names what it uses all the same; nothing of the project belongs here, it changes by the hour.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
