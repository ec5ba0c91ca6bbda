// SPDX-License-Identifier: BSD-3-Clause
//
// trace-import: a recording from the text of mlx5_core's dynamic debug.
#include "tools/trace/programs.hpp"

int main(int argc, char** argv) {
  return portcullis::tools::trace::run_program("trace-import",
                                               portcullis::tools::trace::trace_import, argc, argv);
}
