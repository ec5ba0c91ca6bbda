// SPDX-License-Identifier: BSD-3-Clause
//
// The builders behind the model names, one file a family: plain (blind reposts), evidence (records,
// tokens, logs, receipts), tagged (tagged CAS), lease (fences). Each fills a scenario whose bounds
// are set already.
#pragma once

#include "failover/protocols/models.hpp"

namespace portcullis::failover {

using Build = void(Scenario& scenario, const Parameters& parameters);

Build blind_read, blind_write, blind_write_notified, blind_send, blind_fadd, blind_cas;
Build probe_record, probe_record_prompt, probe_record_fenced;
Build psn_token, psn_token_fenced;
Build log_checked, log_fenced, log_dedup;
Build receipt_before, receipt_after;
Build tagged_cas, tagged_help_write, tagged_help_cas;
Build lease, lease_early;

/// What other actors do to the shared word, which protocols take from 0 to `effect`; without one
/// they do it at any time.
void surround_word(Scenario& scenario, Environment environment, std::optional<Word> effect);
/// What they do to own cells `cell` .. of data that a WRITE sets to 1; reuse is the
/// receiver's own last step.
void surround_buffer(Scenario& scenario, Environment environment, unsigned cell);

inline constexpr Word kData = 1;     // what a WRITE carries
inline constexpr Word kReused = 2;   // what the owner puts there later
inline constexpr Word kForeign = 7;  // what another writer puts there

}  // namespace portcullis::failover
