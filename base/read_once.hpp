// SPDX-License-Identifier: BSD-3-Clause
//
// What nearly every source reads: the precompiled header of all folders (cmake/Portcullis.cmake).
// A source names what it uses all the same: the presets with sanitizers compile without this.
// Nothing of the project belongs here, it changes by the hour.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>
