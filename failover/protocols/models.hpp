// SPDX-License-Identifier: BSD-3-Clause
//
// The recovery protocols that the table judges, as scenarios: models of published ideas with their
// assumptions named. No claim is made about any product's code.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "failover/semantics/scenario.hpp"

namespace portcullis::failover {

enum class Environment : std::uint8_t {
  Quiet,         // nobody else touches the target
  Reuse,         // the receiver consumes the data and reuses the memory
  OtherWriters,  // others write the target
  Aba,           // others bring the old value back
};

struct Parameters {
  unsigned clients = 1;     // 1 .. 8
  unsigned operations = 1;  // of each client, 1 .. 4
  Environment environment = Environment::Quiet;
  Limits limits = {};
  bool is_monitored = true;
};

struct ModelInfo {
  std::string_view name;
  std::string_view idea;        // one sentence
  std::string_view assumption;  // what it takes for granted beyond the semantics; may be empty
  unsigned least_clients = 1;   // fewer show nothing
  unsigned least_operations = 1;
};

[[nodiscard]] const std::vector<ModelInfo>& models();
[[nodiscard]] const char* name_of(Environment environment) noexcept;

/// InvalidArgument with the accepted names, or the accepted bounds.
[[nodiscard]] Result<Environment> environment_named(std::string_view name);
[[nodiscard]] Result<Scenario> make_model(std::string_view name, const Parameters& parameters);

}  // namespace portcullis::failover
