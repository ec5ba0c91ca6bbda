// SPDX-License-Identifier: BSD-3-Clause
//
// The precompiled header of the model (model/CMakeLists.txt). Of the 2 s that a source of it took,
// three quarters went to these headers, which half of them read. A source names what it uses all
// the same: the presets with sanitizers compile without this.
#pragma once

#include "base/read_once.hpp"
#include "model/command_queue.hpp"
#include "model/model.hpp"
#include "model/request.hpp"
#include "model/transport/lane.hpp"
#include "model/transport/qp.hpp"
#include "model/transport_port.hpp"
