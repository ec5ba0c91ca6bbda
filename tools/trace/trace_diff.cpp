// SPDX-License-Identifier: BSD-3-Clause
//
// trace-diff: two recordings of commands, compared by command and field.
#include "tools/trace/programs.hpp"

int main(int argc, char** argv) {
  return portcullis::tools::trace::run_program("trace-diff", portcullis::tools::trace::trace_diff,
                                               argc, argv);
}
