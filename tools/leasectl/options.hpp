// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "client/link.hpp"
#include "fleet/etcd.hpp"
#include "fleet/placement.hpp"
#include "fleet/quotas.hpp"
#include "tools/leasectl/pki.hpp"
#include "wire/messages.hpp"

namespace portcullis::tools::leasectl {

enum class Command {
  Status,
  List,
  Alloc,
  Renew,
  Revoke,
  RevokeTenant,
  Watch,
  Top,
  History,
  Fenced,
  Report,
  Quota,
  Pki
};

struct Options {
  std::optional<std::string> text;  // of --help or --version
  Command command = Command::Status;
  client::ServerAddress server;
  bool json = false;
  std::optional<std::uint64_t> tenant;  // none: the asker's own
  bool every_tenant = false;
  wire::AllocRequest alloc;
  wire::RevokeRequest revoke;
  wire::RenewRequest renew;
  std::uint64_t hold_ms = 0;       // alloc: holds the lease so long, and renews it; 0: without end
  std::uint64_t watch_ms = 0;      // 0: without end
  std::uint64_t every_ms = 1'000;  // top
  std::uint64_t rounds = 0;        // top: 0: without end
  std::uint64_t since_ms = 86'400'000;  // history, fenced and report: so long ago at most
  std::uint64_t most_rows = 1'000;      // history and fenced
  bool everywhere = false;              // revoke-tenant: on every node that etcd knows of
  bool anywhere = false;                // alloc: of whichever node takes it
  fleet::PlaceWanted place;
  std::optional<client::QuicServer> credentials;  // alloc --anywhere: for nodes of other hosts
  fleet::QuotaChange quota;
  fleet::EtcdOptions etcd;
  bool waits = false;  // everywhere: until all nodes have answered
  // everywhere: for those that have a session (none: 10 s), or with `waits` for all (none: for
  // ever)
  std::optional<std::uint64_t> most_wait_ms;
  std::string report_file;
  PkiOptions pki;
};

[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

}  // namespace portcullis::tools::leasectl
