// SPDX-License-Identifier: BSD-3-Clause
//
// A protocol as a JSON text that its users write: memory, work requests, the steps of a client, and
// what surrounds it, once for each environment. docs/failover-protocol.schema.json is its schema,
// docs/failover.md explains it, docs/failover/protocols/ holds the built-in ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "failover/semantics/scenario.hpp"

namespace portcullis::failover {

/// On which line of the text that was read each item of a scenario's lists stands.
struct ScenarioLines {
  std::vector<std::uint32_t> steps, receiver, others;
};

struct NamedScenario {
  std::string environment;
  Scenario scenario;
  ScenarioLines lines = {};  // empty of what was not read
};

struct ProtocolText {
  std::string name;
  std::string idea;        // one sentence; may be empty
  std::string assumption;  // what it takes for granted beyond the semantics; may be empty
  std::vector<NamedScenario> environments;  // the first is the default; at least one

  /// InvalidArgument with the names that there are.
  [[nodiscard]] Result<NamedScenario> named(std::string_view environment) const;
  [[nodiscard]] Result<Scenario> in(std::string_view environment) const;
};

/// Malformed, as "FILE:LINE: FIELD: what", with what is accepted; `file` is what messages call the
/// text. Refused are names that nothing has, steps that have no way to the end, requests that are
/// posted twice, never, or before one that stands before them on their QP.
[[nodiscard]] Result<ProtocolText> read_protocol(std::string_view text, std::string_view file);

/// The text that read_protocol() reads back as the same machine. The scenarios must differ in
/// receiver and environment alone.
[[nodiscard]] std::string write_protocol(const ProtocolText& protocol);

}  // namespace portcullis::failover
