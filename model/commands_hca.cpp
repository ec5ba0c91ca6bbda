// SPDX-License-Identifier: BSD-3-Clause
//
// Bring-up and teardown of the function (mlx5_function_setup, mlx5_function_teardown of
// mlx5/core/main.c).
#include <algorithm>
#include <array>
#include <string_view>

#include "model/commands.hpp"
#include "model/core.hpp"
#include "prm/enums.hpp"

namespace portcullis::model::commands {
namespace {

using prm::CommandStatus;

enum Refusal : std::uint32_t {
  kOtherFunction = 0x1001,
  kAlreadyEnabled,
  kStillInitialised,
  kNoSuchIssi,
  kAlreadyInitialised,
  kPagesMissing,
  kNoSuchVhca,
  kNoSuchProfile,
  kBadOpMod,
  kBadCapMode,
};

/// A function speaks for itself alone: it manages no other.
template <class View>
bool is_own_function(const View& in) {
  return in.template get<"embedded_cpu_function">() == 0 && in.template get<"function_id">() == 0;
}

}  // namespace

Verdict enable_hca(Core& core, const Request<prm::enable_hca_in, prm::enable_hca_out>& request) {
  if (!is_own_function(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherFunction);
  if (core.stage != Stage::PoweredOn)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kAlreadyEnabled);
  core.stage = Stage::Enabled;
  core.start_pages();
  return {};
}

Verdict disable_hca(Core& core, const Request<prm::disable_hca_in, prm::disable_hca_out>& request) {
  if (!is_own_function(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherFunction);
  if (core.stage == Stage::Initialised)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kStillInitialised);
  core.counters.pages_at_disable += core.pages.held();
  core.pages.clear();
  core.capabilities.power_on();
  core.stage = Stage::PoweredOn;
  return {};
}

Verdict query_issi(Core& core, const Request<prm::query_issi_in, prm::query_issi_out>& request) {
  constexpr std::uint32_t kSupported = 1u << 0 | 1u << prm::kIssi;
  request.out.put<"current_issi">(core.issi);
  request.out.put<"supported_issi_dw0">(kSupported);
  return {};
}

Verdict set_issi(Core& core, const Request<prm::set_issi_in, prm::set_issi_out>& request) {
  if (core.stage == Stage::Initialised)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kAlreadyInitialised);
  const auto issi = request.in.get<"current_issi">();
  if (issi > prm::kIssi) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchIssi);
  core.issi = static_cast<std::uint16_t>(issi);
  return {};
}

Verdict query_pages(Core& core, const Request<prm::query_pages_in, prm::query_pages_out>& request) {
  if (!is_own_function(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherFunction);
  std::int32_t pages = 0;
  const auto what = static_cast<prm::QueryPagesOpMod>(request.in.get<"op_mod">() & 0xff);
  if (request.in.get<"op_mod">() > 0xff) return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
  if (const Verdict verdict = core.pages.query(what, pages); !verdict.ok()) return verdict;
  request.out.put<"num_pages">(static_cast<std::uint32_t>(pages));
  return {};
}

Verdict manage_pages(Core& core,
                     const Request<prm::manage_pages_in, prm::manage_pages_out>& request) {
  if (!is_own_function(request.in)) return refuse(CommandStatus::BAD_PARAM_ERR, kOtherFunction);
  const std::uint32_t count = request.in.get<"input_num_entries">();
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  if (op_mod == prm::number(prm::ManagePagesOpMod::ALLOCATION_SUCCESS)) {
    const Verdict verdict = core.pages.give(count, request.in_tail);
    if (verdict.ok() && core.pages.outstanding() == 0) core.resume_waiting(true);
    return verdict;
  }
  if (op_mod == prm::number(prm::ManagePagesOpMod::ALLOCATION_FAIL)) {
    core.pages.refuse_pages();
    core.resume_waiting(false);
    return {};
  }
  if (op_mod != prm::number(prm::ManagePagesOpMod::HCA_RETURN_PAGES))
    return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
  std::uint32_t taken = 0;
  const Verdict verdict =
      core.pages.take(count, core.stage == Stage::Initialised, request.out_tail, taken);
  request.out.put<"output_num_entries">(taken);
  return verdict;
}

Verdict query_hca_cap(Core& core,
                      const Request<prm::query_hca_cap_in, prm::query_hca_cap_out>& request) {
  if (request.in.get<"other_function">() != 0 || request.in.get<"function_id">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOtherFunction);
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  if (op_mod > 0x1ff) return refuse(CommandStatus::BAD_PARAM_ERR, kBadOpMod);
  return core.capabilities.query(static_cast<prm::CapType>(op_mod >> 1),
                                 static_cast<prm::CapMode>(op_mod & 1),
                                 request.out.bytes<"capability">());
}

Verdict set_hca_cap(Core& core, const Request<prm::set_hca_cap_in, prm::set_hca_cap_out>& request) {
  if (request.in.get<"other_function">() != 0 || request.in.get<"function_id">() != 0)
    return refuse(CommandStatus::BAD_PARAM_ERR, kOtherFunction);
  if (core.stage == Stage::Initialised)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kAlreadyInitialised);
  const std::uint32_t op_mod = request.in.get<"op_mod">();
  if (op_mod > 0x1ff || (op_mod & 1) != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kBadCapMode);
  return core.capabilities.set(static_cast<prm::CapType>(op_mod >> 1),
                               request.in.bytes<"capability">());
}

Verdict init_hca(Core& core, const Request<prm::init_hca_in, prm::init_hca_out>& request) {
  if (core.stage == Stage::Initialised)
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kAlreadyInitialised);
  if (!core.pages.has_startup_pages())
    return refuse(CommandStatus::BAD_SYS_STATE_ERR, kPagesMissing);
  if (request.in.get<"sw_vhca_id">() != 0) return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchVhca);
  core.stage = Stage::Initialised;
  core.link.start(!core.capabilities.link_stays_down());
  return {};
}

Verdict teardown_hca(Core& core,
                     const Request<prm::teardown_hca_in, prm::teardown_hca_out>& request) {
  const std::uint32_t profile = request.in.get<"profile">();
  const bool is_fast = profile == prm::number(prm::TeardownProfile::PREPARE_FAST_TEARDOWN);
  if (profile > prm::number(prm::TeardownProfile::PREPARE_FAST_TEARDOWN) ||
      (is_fast && !core.capabilities.offers_fast_teardown()))
    return refuse(CommandStatus::BAD_PARAM_ERR, kNoSuchProfile);
  core.closes_with_interface = is_fast;
  if (is_fast) return {};
  core.counters.objects_at_teardown += core.census().objects();
  core.drop_objects();
  core.link.reset();
  core.stage = Stage::Enabled;
  return {};  // out.state 0: success (MLX5_TEARDOWN_HCA_OUT_FORCE_STATE_SUCCESS)
}

Verdict query_adapter(Core& /*core*/,
                      const Request<prm::query_adapter_in, prm::query_adapter_out>& request) {
  constexpr std::uint16_t kVendorId = 0x15b3;  // PCI_VENDOR_ID_MELLANOX, pci_ids.h
  constexpr std::uint32_t kOui = 0x0002c9;     // Mellanox, as every adapter says
  static_cast<void>(request.out.try_set<"query_adapter_struct.ieee_vendor_id">(kOui));
  request.out.put<"query_adapter_struct.vsd_vendor_id">(kVendorId);
  const auto board = request.out.bytes<"query_adapter_struct.vsd_contd_psid">();
  // A copy: of an inline variable the linker keeps one, and of its literal each object its own, so
  // that code which is partly folded would go from the one's beginning to the other's end.
  constexpr std::string_view kBoard = prm::kModelBoardId;
  static_assert(kBoard.size() == decltype(board)::extent);
  std::ranges::transform(kBoard, board.begin(), [](char c) { return std::byte(c); });
  return {};
}

/// No command reads it back; what was said stands in the trace.
Verdict set_driver_version(
    Core& /*core*/,
    const Request<prm::set_driver_version_in, prm::set_driver_version_out>& /*request*/) {
  return {};
}

}  // namespace portcullis::model::commands
