// SPDX-License-Identifier: BSD-3-Clause
//
// vfio-peer: rdma-core's VFIO provider drives a ConnectX-5, moves data and fences it.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>

#include "pmd/vfio_function.hpp"
#include "program/checking_main.hpp"
#include "tools/vfio_peer/fence.hpp"
#include "tools/vfio_peer/latency.hpp"
#include "tools/vfio_peer/options.hpp"
#include "tools/vfio_peer/report.hpp"

namespace {

using portcullis::Result;
using namespace portcullis::tools::vfio_peer;

Result<bool> run(const Options& options) {
  PORTCULLIS_TRY(portcullis::pmd::check_vfio_ready(options.bdf));
  PORTCULLIS_TRY(portcullis::pmd::check_group_opens(options.bdf));
  PORTCULLIS_TRY_ASSIGN(const auto device, Device::open(options.bdf));
  PORTCULLIS_TRY_ASSIGN(const Port port, set_up_port(*device));
  PORTCULLIS_TRY_ASSIGN(EventQueue events, EventQueue::create(*device));
  if (options.latency) {
    PORTCULLIS_TRY_ASSIGN(const Latencies latencies,
                          measure(*device, port, events.number(), options.samples));
    std::cout << to_json({options.bdf, device->firmware(), Device::provider(), port.text()},
                         latencies);
    return true;
  }
  std::cout << fmt::format("{}: firmware {}, {}, by {}\n", options.bdf, device->firmware(),
                           port.text(), Device::provider())
            << std::flush;
  bool good = true;
  for (const FenceOrder order : {FenceOrder::QpFirst, FenceOrder::KeyFirst}) {
    PORTCULLIS_TRY_ASSIGN(const FenceReport report,
                          run_fence(*device, port, events, options, order));
    std::cout << (report.as_expected() ? "ok    " : "WRONG ") << report.text() << std::endl;
    good = good && report.as_expected();
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  return portcullis::program::run_main("vfio-peer", [&] {
    return portcullis::program::checking_main("vfio-peer", parse_options(argc, argv), run);
  });
}
