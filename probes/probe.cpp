// SPDX-License-Identifier: BSD-3-Clause
#include "probes/probe.hpp"

#include <memory>
#include <utility>

#include "steering/drop_group.hpp"
#include "steering/flow_table.hpp"
#include "steering/loopback_pair.hpp"
#include "steering/self_test.hpp"

namespace portcullis::probes {
namespace {

using steering::DropGroup;
using steering::LoopbackPair;
using steering::Shape;

constexpr std::uint64_t kPattern = 0x70726f6265000001;
constexpr std::uint32_t kSeveralPackets = 8192;  // of any MTU

/// A DROP entry for the whole function while this lives, and a connection to ask it by.
class Trial {
 public:
  [[nodiscard]] static Result<Trial> start(const pmd::Context& context, const Options& options,
                                           prm::FlowTableType domain, Shape shape) {
    PORTCULLIS_TRY_ASSIGN(DropGroup group,
                          DropGroup::create(context, {.domain = domain, .shape = shape}));
    PORTCULLIS_TRY_ASSIGN(auto pair, LoopbackPair::create(context, options.loopback));
    return Trial(context, options, std::move(group), std::move(pair));
  }
  /// A WRITE of one packet, bth.opcode 0x0A, succeeds behind the entry. One that met silence must
  /// succeed once the entry is gone: otherwise loopback carries nothing here, entry or not.
  [[nodiscard]] Result<bool> write_only_succeeds() {
    steering::SelfTestOptions test;
    test.quiet_ms = options_->quiet_ms;
    const steering::Stop entry{[this] { return put(); }, [this] { return take(); }};
    PORTCULLIS_TRY_ASSIGN(const steering::Trial met,
                          steering::try_write(*pair_, entry, kPattern, test));
    if (met.silenced && !met.recovered)
      return fail(Errc::DeviceFailed,
                  "a WRITE over loopback met silence without the entry too, so it says nothing");
    return !met.silenced;
  }
  /// A WRITE of several packets, none of them 0x0A, succeeds behind the entry.
  [[nodiscard]] Result<bool> long_write_succeeds() {
    PORTCULLIS_TRY(put());
    PORTCULLIS_TRY(pair_->post_bytes(kSeveralPackets));
    PORTCULLIS_TRY_ASSIGN(const auto outcome, pair_->outcome(options_->quiet_ms * kNsPerMs));
    PORTCULLIS_TRY(take());
    return outcome == prm::WcStatus::SUCCESS;
  }
  [[nodiscard]] Result<void> end() { return group_.destroy(); }

 private:
  Trial(const pmd::Context& context, const Options& options, DropGroup group,
        std::unique_ptr<LoopbackPair> pair)
      : context_(&context), options_(&options), group_(std::move(group)), pair_(std::move(pair)) {}
  [[nodiscard]] Result<void> put() {
    return group_.set(pair_->target(0), prm::FlowAction::DROP,
                      context_->commands->default_deadline_ns());
  }
  [[nodiscard]] Result<void> take() {
    return group_.remove(0, context_->commands->default_deadline_ns());
  }

  const pmd::Context* context_;
  const Options* options_;
  DropGroup group_;
  std::unique_ptr<LoopbackPair> pair_;
};

/// Silence behind an entry says something only where nothing is silent without one: a loopback that
/// loses packets now and then would make a finding of each.
Result<void> check_carries(const pmd::Context& context, const Options& options) {
  constexpr unsigned kWrites = 8;
  PORTCULLIS_TRY_ASSIGN(const auto pair, LoopbackPair::create(context, options.loopback));
  for (unsigned i = 0; i < kWrites; ++i)
    for (const std::uint32_t bytes : {0U, kSeveralPackets}) {
      PORTCULLIS_TRY(bytes == 0 ? pair->post(kPattern) : pair->post_bytes(bytes));
      PORTCULLIS_TRY_ASSIGN(const auto outcome, pair->outcome(options.quiet_ms * kNsPerMs));
      if (outcome != prm::WcStatus::SUCCESS)
        return fail(Errc::DeviceFailed,
                    "a WRITE over loopback met silence without the entry too, so it says nothing");
    }
  return {};
}

std::string write_text(bool succeeded) {
  return succeeded ? "a WRITE succeeded" : "a WRITE met silence";
}

Result<Report> nic_rx_drop(const pmd::Context& context, const Options& options) {
  PORTCULLIS_TRY_ASSIGN(
      Trial trial, Trial::start(context, options, prm::FlowTableType::NIC_RX, Shape::RocePort));
  PORTCULLIS_TRY_ASSIGN(const bool passed, trial.write_only_succeeds());
  PORTCULLIS_TRY(trial.end());
  return Report{Probe::NicRxDrop, "NIC_RX root table, DROP on UDP port 4791", write_text(passed),
                passed ? "NIC_RX is BYPASSED for RoCEv2: that domain is eliminated"
                       : "NIC_RX is in the path of RoCEv2: it may drop",
                passed};
}

Result<Report> rdma_rx_ft(const pmd::Context& context) {
  Report report{Probe::RdmaRxFt, "RDMA_RX, CREATE_FLOW_TABLE with table_type 0x07", "", "", false};
  auto table = steering::FlowTable::create(context, prm::FlowTableType::RDMA_RX, {});
  if (table) {
    report.observed = "table_id " + std::to_string(table->id());
    report.verdict = "creation SUCCEEDS with table_type 0x07; it is no silent null";
    report.as_seen = true;
    PORTCULLIS_TRY(table->destroy());
    return report;
  }
  const Error& error = table.error();
  if (error.code != Errc::CommandFailed && error.code != Errc::Malformed)
    return tl::unexpected(error);
  report.observed = error.text;
  report.verdict = error.code == Errc::Malformed
                       ? "a SILENT NULL: success was answered and nothing was made"
                       : "creation is REFUSED: this function has no RDMA_RX tables";
  return report;
}

Result<Report> rdma_rx_catchall_drop(const pmd::Context& context, const Options& options) {
  PORTCULLIS_TRY_ASSIGN(
      Trial trial, Trial::start(context, options, prm::FlowTableType::RDMA_RX, Shape::MatchAll));
  PORTCULLIS_TRY_ASSIGN(const bool passed, trial.write_only_succeeds());
  PORTCULLIS_TRY(trial.end());
  return Report{Probe::RdmaRxCatchallDrop, "RDMA_RX root table, DROP on everything",
                write_text(passed),
                passed ? "the table is NOT in the active dispatch path"
                       : "the table IS in the active dispatch path",
                !passed};
}

Result<Report> rdma_rx_bth_mismatch(const pmd::Context& context, const Options& options) {
  PORTCULLIS_TRY_ASSIGN(Trial trial,
                        Trial::start(context, options, prm::FlowTableType::RDMA_RX, Shape::Opcode));
  // The control first: once the WRITE Only is lost, what follows it waits behind its retries.
  PORTCULLIS_TRY_ASSIGN(const bool control, trial.long_write_succeeds());
  PORTCULLIS_TRY(trial.end());
  PORTCULLIS_TRY_ASSIGN(Trial again,
                        Trial::start(context, options, prm::FlowTableType::RDMA_RX, Shape::Opcode));
  PORTCULLIS_TRY_ASSIGN(const bool passed, again.write_only_succeeds());
  PORTCULLIS_TRY(again.end());
  Report report{Probe::RdmaRxBthMismatch, "RDMA_RX root table, DROP on misc.bth_opcode 0x0A",
                write_text(passed) + ", one of several packets " +
                    (control ? "succeeded" : "met silence too"),
                "", control && !passed};
  if (!control)
    report.verdict = "the entry drops more than it names: bth_opcode is NOT compared";
  else if (passed)
    report.verdict = "the entry drops nothing: bth_opcode is NOT parsed, or RDMA_RX not in path";
  else
    report.verdict = "MISC parsing, bth_opcode extraction and DROP all work before traffic";
  return report;
}

Result<Report> run_one(Probe probe, const pmd::Context& context, const Options& options) {
  if (probe != Probe::RdmaRxFt) PORTCULLIS_TRY(check_carries(context, options));
  switch (probe) {
    case Probe::NicRxDrop:
      return nic_rx_drop(context, options);
    case Probe::RdmaRxFt:
      return rdma_rx_ft(context);
    case Probe::RdmaRxCatchallDrop:
      return rdma_rx_catchall_drop(context, options);
    case Probe::RdmaRxBthMismatch:
      return rdma_rx_bth_mismatch(context, options);
  }
  return fail(Errc::InvalidArgument, "no such probe");
}

}  // namespace

std::string_view name(Probe probe) noexcept {
  switch (probe) {
    case Probe::NicRxDrop:
      return "nic-rx-drop";
    case Probe::RdmaRxFt:
      return "rdma-rx-ft";
    case Probe::RdmaRxCatchallDrop:
      return "rdma-rx-catchall-drop";
    case Probe::RdmaRxBthMismatch:
      return "rdma-rx-bth-mismatch";
  }
  return "unknown probe";
}

std::vector<Probe> built_in() {
  std::vector<Probe> probes;
#ifdef PORTCULLIS_PROBE_NIC_RX_DROP
  probes.push_back(Probe::NicRxDrop);
#endif
#ifdef PORTCULLIS_PROBE_RDMA_RX_FT
  probes.push_back(Probe::RdmaRxFt);
#endif
#ifdef PORTCULLIS_PROBE_RDMA_RX_CATCHALL_DROP
  probes.push_back(Probe::RdmaRxCatchallDrop);
#endif
#ifdef PORTCULLIS_PROBE_RDMA_RX_BTH_MISMATCH
  probes.push_back(Probe::RdmaRxBthMismatch);
#endif
  return probes;
}

std::string build_note() {
  std::string note;
  for (const Probe probe : built_in())
    note += (note.empty() ? "probes " : ", ") + std::string(name(probe));
  return note;
}

std::string describe(const Report& report) {
  return std::string(name(report.probe)) + "\n  installed: " + report.installed +
         "\n  observed:  " + report.observed + "\n  verdict:   " + report.verdict +
         (report.as_seen ? " (as on firmware 16.35.4506)" : " (NOT as on firmware 16.35.4506)");
}

Result<Report> run(Probe probe, const pmd::Context& context, const Options& options) {
  auto report = run_one(probe, context, options);
  if (report) return report;
  Error error = report.error();
  error.text = "probe " + std::string(name(probe)) + " cannot run: " + error.text;
  return tl::unexpected(std::move(error));
}

}  // namespace portcullis::probes
