// SPDX-License-Identifier: BSD-3-Clause
//
// What a protocol says and no run does: a step that no client comes to, a step that the receiver or
// others never take. Nothing of such a step was verified, whatever the verdict is, so a verdict
// comes with a list of them. All of it holds within the bounds of the exploration alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "failover/semantics/label.hpp"
#include "failover/semantics/machine.hpp"

namespace portcullis::failover {

struct Unreached {
  enum class Part : std::uint8_t {
    Client,    // no run comes to this step of the program
    Receiver,  // no run takes this step of the receiver
    Others,    // nor this one of another actor
  };
  Part part = Part::Client;
  unsigned step = 0;               // of the scenario's list
  std::optional<unsigned> client;  // whose; empty: nobody's
  friend bool operator==(const Unreached&, const Unreached&) = default;
};

/// Filled while steps are worked out, once for each that differs. One for each worker.
class Reach {
 public:
  explicit Reach(const Machine& machine);

  /// A step, and where its client's program stands behind it; of another actor that says nothing.
  void note(const Label& label, std::uint64_t stands_at) noexcept {
    if (label.action == Action::Write) {
      seen_[others_at_ + label.number] = 1;
      return;
    }
    std::uint8_t* const own = seen_.data() + label.client * of_client_;
    own[stands_at] = 1;
    if (label.action == Action::Receive) own[steps_ + label.number] = 1;
  }
  void add(const Reach& other);
  /// In the order of the lists. `are_alike`: who is who says nothing, and what one client does each
  /// does in another run.
  [[nodiscard]] std::vector<Unreached> missing(bool are_alike) const;

 private:
  std::size_t clients_, steps_, receiver_, others_;
  std::size_t of_client_, others_at_;
  std::vector<std::uint8_t> seen_;  // by client: steps, then the receiver's; then others'
};

/// "steps[5], report operation 0 unknown", "receiver[1] of client 1, consumes the data"
[[nodiscard]] std::string describe(const Scenario& scenario, const Unreached& unreached);

}  // namespace portcullis::failover
