// SPDX-License-Identifier: BSD-3-Clause
//
// What a header says, as references.py has it compiled, in C, since mlx5_ifc.h is C: one table per
// header, ended by a row without key.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct reference {
  const char* header;                // empty: no header names it
  const char* key;                   // "layout field", "sizeof layout", or a constant's name
  unsigned long long first, second;  // bit offset and width; or bits; or the value
};

/// Where a kernel's header after Linux 6.1 is known to say otherwise than ours; ended by no key.
struct later_linux {
  const char* key;
  unsigned long long ours[2], theirs[2];  // as first and second of a reference
};

extern const struct reference* const references[];
extern const struct later_linux later[];
// "layout member" for each member that a bit layout of the header has and ours must name.
extern const char* const required[];

#ifdef __cplusplus
}
#endif
