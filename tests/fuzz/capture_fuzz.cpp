// SPDX-License-Identifier: BSD-3-Clause
//
// Captures that anybody wrote. Whatever a file holds: it is refused in one line that names it, or
// it becomes a dump that the classifier's own reader takes, with a request for each that was found,
// of which the first is outstanding. libFuzzer drives it in the asan build; elsewhere
// corpus_test.cpp runs the corpus once.
//
// An input is a byte that says where it was captured and whose requests are asked for, then the
// file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "failover/classify/classify.hpp"
#include "failover/classify/dump.hpp"
#include "tools/failover_check/capture.hpp"
#include "tools/failover_check/verify_log.hpp"

namespace {

using namespace portcullis;
using tools::failover_check::Capture;

void require(bool held) {
  if (!held) std::abort();
}

bool is_one_line_about(std::string_view text, std::string_view file) {
  return text.starts_with(file) && text.find('\n') == std::string_view::npos;
}

void check(const Capture& capture) {
  const std::string text = dump_of(capture, {"reuse", "polls", false});
  const auto dump = failover::read_dump(text, "dump");
  require(dump && dump->size() == capture.requests.size());
  require(dump->empty() || dump->front().outcome != failover::Outcome::Completed);
  const auto advice = failover::classify(*dump, nullptr, failover::Effort::Rules);
  require(advice && advice->size() == dump->size());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_at_sender = (data[0] & 1U) != 0;
  const bool is_asked = (data[0] & 2U) != 0;
  const std::string bytes(data + 1, data + size);
  const auto capture =
      tools::failover_check::read_capture(bytes, "file", is_at_sender, is_asked ? "192.0.2.1" : "");
  require(capture || is_one_line_about(capture.error().text, "file"));
  if (capture) check(*capture);
  if (!tools::failover_check::is_log(bytes)) return 0;
  const auto log = tools::failover_check::read_verify_log(bytes, "file");
  require(log || is_one_line_about(log.error().text, "file"));
  if (log) check(*log);
  return 0;
}
