// SPDX-License-Identifier: BSD-3-Clause
//
// Refused by the compiler: a write to a part of a register.
// reason: width == 32.* evaluated to
#include "prm/init_segment.hpp"
#include "prm/view.hpp"

namespace portcullis::prm {

#ifdef CONTROL
void ring(const Registers<initial_seg>& registers) {
  registers.write<"command_doorbell_vector">(1);
}
#else
void ring(const Registers<initial_seg>& registers) { registers.write<"nic_interface">(1); }
#endif

}  // namespace portcullis::prm
