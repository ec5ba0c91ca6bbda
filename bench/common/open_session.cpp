// SPDX-License-Identifier: BSD-3-Clause
#include "bench/common/open_session.hpp"

#include "bench/common/interrupt.hpp"
#include "program/log_line.hpp"
#include "program/standard_streams.hpp"

namespace portcullis::bench {

Result<std::unique_ptr<proof::Session>> open_session(const attach::DeviceSpec& spec) {
  return proof::Session::open(spec, {.log = program::log_to_stderr(),
                                     .on_recording_lost = program::note_lost_file,
                                     .check_not_stopped = check_not_interrupted});
}

}  // namespace portcullis::bench
