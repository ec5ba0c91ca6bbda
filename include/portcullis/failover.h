// SPDX-License-Identifier: BSD-3-Clause
//
// Failover for C, and for whatever calls C: advice for a failed send queue, a protocol explored.
// What goes in is JSON (docs/failover.md, docs/failover-protocol.schema.json), what comes out is
// the JSON that `failover-check classify --json` prints, and `check --json` but for what is about
// the program's own ways to search: set, symmetry, estimated_states, estimate_basis and
// estimated_bytes. A whole program: docs/examples/failover_c.c. Calls share nothing: any number of
// threads may make them at once.
#ifndef PORTCULLIS_FAILOVER_H
#define PORTCULLIS_FAILOVER_H

#include <stdint.h>
#include <portcullis/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

// How much a call may take; 0 is the default of each.
struct portcullis_limits {
  uint32_t milliseconds;  // then it stops, some milliseconds late; 0: as long as it takes
  uint32_t threads;       // 1 to 16; 0: 1. portcullis_check alone
  uint64_t memory_bytes;  // for states; 0: 1 GiB. portcullis_check alone
};

// How a call ended.
enum portcullis_status {
  PORTCULLIS_DONE = 0,     // *text is the JSON
  PORTCULLIS_REFUSED = 1,  // bad input, or no memory: *text is one line that says what and where;
                           // null: there is not even memory for that
  PORTCULLIS_STOPPED = 2,  // a limit was met: *text is JSON, and says what was not looked at
};

// One object for each request of the dump, in its order. What the time did not suffice for has the
// advice "no-advice", and a reason that says so. `limits` may be null.
PORTCULLIS_API enum portcullis_status portcullis_classify(const char* dump_json,
                                                          const struct portcullis_limits* limits,
                                                          char** text);

// The same by rule alone: nothing is explored, and what no rule covers has the advice "no-advice".
PORTCULLIS_API enum portcullis_status portcullis_classify_by_rules(const char* dump_json,
                                                                   char** text);

// The verdict on a protocol in one of its environments; null or empty: in its first, which
// "environment" names. Within its own bounds.
PORTCULLIS_API enum portcullis_status portcullis_check(const char* protocol_json,
                                                       const char* environment,
                                                       const struct portcullis_limits* limits,
                                                       char** text);

// What a call gave in *text; null is accepted.
PORTCULLIS_API void portcullis_text_free(char* text);

#ifdef __cplusplus
}
#endif

#endif
