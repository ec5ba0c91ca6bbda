// SPDX-License-Identifier: BSD-3-Clause
#include "failover/protocols/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "failover/protocols/families.hpp"

namespace portcullis::failover {
namespace {

// Every order of the operations is tried on each history.
constexpr unsigned kMaxJudgedOperations = 4;

struct Entry {
  ModelInfo info;
  void (*build)(Scenario& scenario, const Parameters& parameters);
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"blind-read", "READ; after a timeout, again on another QP", ""}, blind_read},
      {{"blind-write", "WRITE; after a timeout, again; the consumer polls the data", ""},
       blind_write},
      {{"blind-write-notified", "WRITE then SEND; after a timeout, the WRITE again", ""},
       blind_write_notified},
      {{"blind-send", "SEND; after a timeout, again", ""}, blind_send},
      {{"blind-fadd", "FADD; after a timeout, again", ""}, blind_fadd},
      {{"blind-cas", "CAS 0 to 1; after a timeout, again; success is 'result = compare'", ""},
       blind_cas},
      {{"probe-record",
        "WRITE_WITH_IMM; after a timeout READ a record that the receiver CPU sets; repost if unset",
        ""},
       probe_record},
      {{"probe-record-prompt", "the same",
        "the receiver CPU has seen every arrival before the probe"},
       probe_record_prompt},
      {{"probe-record-fenced", "fence the old QP, then the same",
        "the receiver CPU has seen every arrival before the probe"},
       probe_record_fenced},
      {{"psn-token", "FADD; after a timeout ask the responder's QP for its ePSN; repost if behind",
        "the responder QP can still be asked"},
       psn_token},
      {{"psn-token-fenced", "fence the old QP, then the same",
        "a fenced responder QP can still be asked"},
       psn_token_fenced},
      {{"log", "FADD with a record set in the same step; after a timeout READ it; repost if unset",
        "update and record are one atomic step"},
       log_checked},
      {{"log-fenced", "fence the old QP, then the same", "update and record are one atomic step"},
       log_fenced},
      {{"log-dedup", "FADD that the responder executes only if its record is unset; repost",
        "check, update and record are one atomic step"},
       log_dedup},
      {{"receipt-before", "receipt WRITE, CAS 0 to 1 on one QP; fence; READ the receipt", ""},
       receipt_before},
      {{"receipt-after", "CAS 0 to 1, receipt WRITE on one QP; fence; READ the receipt", ""},
       receipt_after},
      {{"tagged-cas", "CAS to a unique tag; after a timeout READ the word, repost, READ again", "",
        2, 2},
       tagged_cas},
      {{"tagged-help-write",
        "the same; whoever overwrites a tag WRITEs it to its owner's slot first",
        "every writer of the word helps", 2, 2},
       tagged_help_write},
      {{"tagged-help-cas", "the same; the slot is advanced by CAS, never backwards",
        "every writer of the word helps", 2, 2},
       tagged_help_cas},
      {{"lease", "WRITE, SEND; after a timeout fence the old QP, wait, WRITE again, SEND", ""},
       lease},
      {{"lease-early", "the same, but the fence is taken for done when it was only ordered", ""},
       lease_early},
  };
  return all;
}

Result<void> in_range(std::string_view model, std::string_view what, unsigned value, unsigned least,
                      unsigned greatest) {
  if (value >= least && value <= greatest) return {};
  return fail(Errc::InvalidArgument, fmt::format("model {}: {} is {}, accepted are {} to {}", model,
                                                 what, value, least, greatest));
}

constexpr std::array kEnvironments = {Environment::Quiet, Environment::Reuse,
                                      Environment::OtherWriters, Environment::Aba};

}  // namespace

const std::vector<ModelInfo>& models() {
  static const std::vector<ModelInfo> all = [] {
    std::vector<ModelInfo> infos;
    for (const Entry& entry : entries()) infos.push_back(entry.info);
    return infos;
  }();
  return all;
}

const char* name_of(Environment environment) noexcept {
  switch (environment) {
    case Environment::Quiet:
      return "quiet";
    case Environment::Reuse:
      return "reuse";
    case Environment::OtherWriters:
      return "other-writers";
    case Environment::Aba:
      return "aba";
  }
  return "?";
}

Result<Environment> environment_named(std::string_view name) {
  for (const Environment environment : kEnvironments)
    if (name == name_of(environment)) return environment;
  return fail(Errc::InvalidArgument,
              fmt::format("environment '{}' is unknown, accepted are quiet, reuse, other-writers, "
                          "aba",
                          name));
}

Result<Scenario> make_model(std::string_view name, const Parameters& parameters) {
  const auto& all = entries();
  const auto entry =
      std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.info.name == name; });
  if (entry == all.end()) {
    std::string names;
    for (const Entry& known : all)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", known.info.name);
    return fail(Errc::InvalidArgument,
                fmt::format("model '{}' is unknown, accepted are {}", name, names));
  }
  PORTCULLIS_TRY(in_range(name, "clients", parameters.clients, 1, 8));
  const bool is_tagged = entry->info.least_operations > 1;
  PORTCULLIS_TRY(in_range(name, "operations", parameters.operations, 1, is_tagged ? 2 : 4));
  if (name == "blind-read" && parameters.is_monitored)
    PORTCULLIS_TRY(in_range(name, "clients x ops", parameters.clients * parameters.operations, 1,
                            kMaxJudgedOperations));
  Scenario scenario;
  scenario.name = std::string(name);
  scenario.clients = parameters.clients;
  scenario.limits = parameters.limits;
  scenario.operations = parameters.operations;
  scenario.is_monitored = parameters.is_monitored;
  scenario.judges_placement_order = parameters.is_monitored;
  entry->build(scenario, parameters);
  scenario.program.emplace_back();  // End
  return scenario;
}

}  // namespace portcullis::failover
