// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a write to a read-only register.
// reason: access == .* evaluated to
#include "prm/init_segment.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void ring(const Registers<mlx5_init_seg>& registers) { registers.write<"cmd_dbell">(1); }
#else
void ring(const Registers<mlx5_init_seg>& registers) { registers.write<"health_counter">(1); }
#endif

}  // namespace portcullis::prm
