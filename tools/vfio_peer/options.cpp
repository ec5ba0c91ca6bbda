// SPDX-License-Identifier: BSD-3-Clause
#include "tools/vfio_peer/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "pmd/vfio_function.hpp"
#include "program/command_line.hpp"

namespace portcullis::tools::vfio_peer {
namespace {

constexpr std::uint32_t kMaxBytes = 1 << 20;
constexpr std::uint32_t kMaxWrites = 32;
constexpr std::uint32_t kMaxSamples = 10000;

void add_options(CLI::App& app, Options& options) {
  app.add_option("--device", options.bdf, "PCI address of the function, bound to vfio-pci")
      ->required();
  auto* const bytes =
      app.add_option("--bytes", options.bytes, "bytes of the region that is written and fenced")
          ->check(CLI::Range(64U, kMaxBytes))
          ->capture_default_str();
  auto* const writes =
      app.add_option("--writes", options.writes, "RDMA WRITEs outstanding when the fence comes")
          ->check(CLI::Range(1U, kMaxWrites))
          ->capture_default_str();
  auto* const latency =
      app.add_flag("--latency", options.latency,
                   "measure round trips of commands instead, and print them as JSON;\n"
                   "not with --bytes or --writes")
          ->excludes(bytes)
          ->excludes(writes);
  app.add_option("--samples", options.samples, "with --latency: samples of each, after one unseen")
      ->check(CLI::Range(1U, kMaxSamples))
      ->capture_default_str()
      ->needs(latency);
  app.footer(
      "Without --latency: connects a pair of RC queue pairs over loopback (by RoCE address on an\n"
      "Ethernet port, by LID on an InfiniBand port), checks what RDMA WRITEs leave, and fences in\n"
      "both orders. Prints a line for each and exits 0 when each went as the interface says:\n"
      "  2ERR_QP, then DESTROY_MKEY   the requester meets silence: status 12, no byte changes\n"
      "  DESTROY_MKEY, then 2ERR_QP   the requester is refused:    status 10, no byte changes\n"
      "Commands and doorbells go through rdma-core's mlx5 VFIO provider (libmlx5); "
      "MLX5_DEBUG_FILE\n"
      "and MLX5_DEBUG_MASK make it talk. See also revoke_bench, which does the same through our\n"
      "driver.\n\n"
      "exit status: 0 each went as the interface says, or was measured, 1 one did not, 2 bad "
      "arguments, or the device could not be had");
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Drives a ConnectX-5 through rdma-core's VFIO provider, and fences it.",
               "vfio-peer"};
  add_options(app, options);
  PORTCULLIS_TRY_ASSIGN(options.text, program::parse_arguments(app, {argv + 1, argv + argc}));
  if (options.text) return options;
  PORTCULLIS_TRY_ASSIGN(options.bdf, pmd::canonical_bdf(options.bdf));
  return options;
}

}  // namespace portcullis::tools::vfio_peer
