// SPDX-License-Identifier: BSD-3-Clause
#include "service/daemon/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "attach/port.hpp"
#include "fleet/directory.hpp"
#include "lease/grant.hpp"
#include "lease/lease_table.hpp"
#include "program/leased_socket.hpp"

namespace portcullis::service::daemon {
namespace {

constexpr std::uint64_t kHourMs = 3'600'000;
constexpr std::uint64_t kDayMs = 24 * kHourMs;
constexpr std::uint64_t kMostTtlMs = lease::kMostTtlMs;

/// One table of the file, and what is wrong with it: the first complaint stays.
class Reader {
 public:
  Reader(std::filesystem::path file, const toml::table& table, std::string name,
         Result<void>& fault)
      : file_(std::move(file)), table_(&table), name_(std::move(name)), fault_(&fault) {}

  /// Words that `known` does not have are refused.
  void only(std::span<const std::string_view> known) {
    for (const auto& [key, node] : *table_)
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        complain(node, fmt::format("\"{}\" is not known in {}; {} are accepted", key.str(), name_,
                                   fmt::join(known, ", ")));
  }

  template <class T>
  void number(const char* key, T& value, std::uint64_t least, std::uint64_t most) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    const auto got = node->value_exact<std::int64_t>();
    const bool fits = got && *got >= 0 && static_cast<std::uint64_t>(*got) >= least &&
                      static_cast<std::uint64_t>(*got) <= most;
    if (!fits)
      return complain(*node, fmt::format("{} = {}; a number from {} to {} is accepted", key,
                                         text_of(*node), least, most));
    value = static_cast<T>(*got);
  }

  void flag(const char* key, bool& value) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    const auto got = node->value_exact<bool>();
    if (!got)
      return complain(*node,
                      fmt::format("{} = {}; true or false is accepted", key, text_of(*node)));
    value = *got;
  }

  /// `take` gives the reason why it does not take the text.
  void text(const char* key, const std::function<std::string(const std::string&)>& take) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    const auto got = node->value_exact<std::string>();
    if (!got)
      return complain(*node,
                      fmt::format("{} = {}; a text in quotes is accepted", key, text_of(*node)));
    if (const std::string why = take(*got); !why.empty())
      complain(*node, fmt::format("{} = \"{}\": {}", key, *got, why));
  }

  void texts(const char* key, std::vector<std::string>& values) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    std::vector<std::string> read;
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i)
      if (const auto each = array->get(i)->value_exact<std::string>()) read.push_back(*each);
    if (array == nullptr || read.size() != array->size())
      return complain(*node,
                      fmt::format("{} = {}; a list of texts is accepted", key, text_of(*node)));
    values = std::move(read);
  }

  void numbers(const char* key, std::vector<std::uint64_t>& values, std::uint64_t most) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    std::vector<std::uint64_t> read;
    for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
      const auto each = array->get(i)->value_exact<std::int64_t>();
      if (each && *each >= 0 && static_cast<std::uint64_t>(*each) <= most)
        read.push_back(static_cast<std::uint64_t>(*each));
    }
    if (array == nullptr || read.empty() || read.size() != array->size())
      return complain(*node, fmt::format("{} = {}; a list of numbers from 0 to {} is accepted", key,
                                         text_of(*node), most));
    values = std::move(read);
  }

  [[nodiscard]] bool has(const char* key) const { return table_->contains(key); }
  void complain_of_table(const std::string& what) { complain(*table_, what); }

  /// The table of that name inside this one, if there is one.
  void table(const char* key, const std::function<void(Reader)>& read) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    if (const toml::table* inner = node->as_table())
      return read(Reader(file_, *inner, fmt::format("[{}]", key), *fault_));
    complain(*node, fmt::format("{} = {}; a table [{}] is accepted", key, text_of(*node), key));
  }
  /// Every table [[key]].
  void tables(const char* key, const std::function<void(Reader)>& read) {
    const toml::node* node = table_->get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr || !array->is_homogeneous<toml::table>())
      return complain(*node,
                      fmt::format("{} = {}; tables [[{}]] are accepted", key, text_of(*node), key));
    for (const toml::node& each : *array)
      read(Reader(file_, *each.as_table(), fmt::format("[[{}]]", key), *fault_));
  }

 private:
  static std::string text_of(const toml::node& node) {
    std::ostringstream text;
    node.visit([&text](const auto& each) { text << each; });
    constexpr std::size_t kMost = 60;
    std::string shown = text.str().substr(0, kMost);
    for (char& each : shown)
      if (each < ' ' || each > '~') each = '?';
    return shown;
  }
  void complain(const toml::node& node, const std::string& what) {
    if (!*fault_) return;
    *fault_ = fail(Errc::InvalidArgument,
                   fmt::format("{}:{}: {}", file_.string(), node.source().begin.line, what));
  }

  std::filesystem::path file_;
  const toml::table* table_;
  std::string name_;
  Result<void>* fault_;
};

constexpr std::array<std::string_view, 10> kTables{"device",  "process", "socket", "journal",
                                                   "limits",  "user",    "quic",   "certificate",
                                                   "metrics", "etcd"};
constexpr std::array<std::string_view, 15> kEtcd{
    "endpoints", "node",         "session_s",    "isolation_s",
    "stall_s",   "labels",       "memory_bytes", "isolation_tenants",
    "authority", "quic_address", "certificate",  "key",
    "user",      "renew_alone",  "password_file"};
constexpr std::array<std::string_view, 4> kProcess{"user", "group", "seccomp", "debuggable"};
constexpr std::array<std::string_view, 1> kMetrics{"listen"};
constexpr std::array<std::string_view, 9> kDevice{
    "name", "address", "eal", "plan", "slots", "grace_ms", "residence_ms", "mtu", "polls"};
constexpr std::array<std::string_view, 2> kSocket{"path", "mode"};
constexpr std::array<std::string_view, 2> kJournal{"path", "keep_days"};
constexpr std::array<std::string_view, 4> kUser{"uid", "name", "tenant", "role"};
constexpr std::array<std::string_view, 3> kCertificate{"name", "tenant", "role"};
constexpr std::array<std::string_view, 6> kQuic{"listen", "authority", "certificate",
                                                "key",    "revoked",   "idle_ms"};
constexpr std::array<std::string_view, 14> kLimits{
    "tenant_leases",    "tenant_bytes", "lease_bytes",  "default_ttl_ms",  "most_ttl_ms",
    "orphan_ms",        "most_rest_ms", "connections",  "uid_connections", "tenant_connections",
    "host_connections", "requests",     "challenge_ms", "unread_bytes"};
// TOML's whole numbers have a sign.
constexpr std::uint64_t kMostTenant = (std::uint64_t{1} << 63) - 1;

/// Of leases that are granted one by one, without an entry from the grant on, and answered TornDown
/// where all goes well.
bool is_servable(const lease::Plan& plan) {
  return !plan.is_for_groups() && plan.entry == steering::EntryPlan::AtRevoke &&
         plan.best_outcome() == lease::Outcome::TornDown;
}

std::string take_plan(const std::string& text, lease::Plan& plan) {
  const auto parsed = lease::parse_plan(text);
  if (parsed && is_servable(*parsed)) {
    plan = *parsed;
    return {};
  }
  std::vector<std::string_view> names;
  for (const lease::Plan& each : lease::plans())
    if (is_servable(each)) names.push_back(each.name);
  return fmt::format("{}; accepted are {}, each also with +overlap",
                     parsed ? "no plan for a service" : "no such plan", fmt::join(names, ", "));
}

std::string take_owner(const std::string& text, Result<Owner> (*find)(const std::string&),
                       std::optional<Owner>& owner) {
  auto found = find(text);
  if (!found) return found.error().text;
  owner = *std::move(found);
  return {};
}

void read_device(Reader table, DeviceConfig& device) {
  table.only(kDevice);
  table.text("name", [&](const std::string& text) {
    device.name = text;
    return std::string();
  });
  table.text("address", [&](const std::string& text) {
    const auto gid = attach::parse_port_address(text);
    if (gid) device.address = *gid;
    return gid ? std::string() : gid.error().text;
  });
  table.texts("eal", device.eal);
  table.text("plan", [&](const std::string& text) { return take_plan(text, device.plan); });
  table.number("slots", device.slots, 1, lease::LeaseTable::kMaxSlots);
  table.number("grace_ms", device.grace_ms, 0, kHourMs);
  table.number("residence_ms", device.residence_ms, 0, kHourMs);
  std::uint32_t mtu = device.mtu;
  table.number("mtu", mtu, 256, 4096);
  if (!std::has_single_bit(mtu))
    return table.complain_of_table(
        fmt::format("mtu = {}; 256, 512, 1024, 2048 or 4096 is accepted", mtu));
  device.mtu = mtu;
  table.flag("polls", device.polls);
}

void read_process(Reader table, ProcessConfig& process) {
  table.only(kProcess);
  table.text("user",
             [&](const std::string& text) { return take_owner(text, find_user, process.user); });
  table.text("group",
             [&](const std::string& text) { return take_owner(text, find_group, process.group); });
  table.flag("seccomp", process.seccomp);
  table.flag("debuggable", process.is_debuggable);
  if (const auto checked = check_process(process); !checked)
    table.complain_of_table(checked.error().text);
}

void read_limits(Reader table, Limits& limits) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;
  constexpr std::uint64_t kMostConnections = 65'536;
  table.only(kLimits);
  table.number("tenant_leases", limits.tenant_leases, 1, lease::LeaseTable::kMaxSlots);
  table.number("tenant_bytes", limits.tenant_bytes, 1, kMostBytes);
  table.number("lease_bytes", limits.lease_bytes, 1, std::uint64_t{1} << 40);
  table.number("default_ttl_ms", limits.default_ttl_ms, 1, kMostTtlMs);
  table.number("most_ttl_ms", limits.most_ttl_ms, 1, kMostTtlMs);
  table.number("orphan_ms", limits.orphan_ms, 0, kMostTtlMs);
  table.number("most_rest_ms", limits.most_rest_ms, 1, kMostTtlMs);
  table.number("challenge_ms", limits.challenge_ms, 0, kHourMs);
  table.number("connections", limits.connections, 1, kMostConnections);
  table.number("uid_connections", limits.uid_connections, 1, kMostConnections);
  table.number("tenant_connections", limits.tenant_connections, 1, kMostConnections);
  table.number("host_connections", limits.host_connections, 1, kMostConnections);
  table.number("requests", limits.requests, 1, kMostConnections);
  table.number("unread_bytes", limits.unread_bytes, std::uint64_t{1} << 20, kMostBytes);
  if (limits.default_ttl_ms > limits.most_ttl_ms)
    table.complain_of_table(fmt::format("default_ttl_ms {} is above most_ttl_ms {}",
                                        limits.default_ttl_ms, limits.most_ttl_ms));
}

std::string take_role(const std::string& text, wire::Role& role) {
  const auto parsed = wire::parse_role(text);
  if (!parsed) return "client, operator or observer is accepted";
  role = *parsed;
  return {};
}

void read_user(Reader table, Users& users) {
  table.only(kUser);
  std::optional<std::uint32_t> uid;
  if (table.has("uid")) {
    uid = 0;
    table.number("uid", *uid, 0, std::numeric_limits<std::uint32_t>::max() - 1);
  }
  table.text("name", [&](const std::string& text) {
    const passwd* found = ::getpwnam(text.c_str());
    if (found != nullptr) uid = found->pw_uid;
    return found != nullptr ? std::string() : std::string("there is no user of that name");
  });
  if (!uid) return table.complain_of_table("[[user]] has neither uid nor name");
  if (table.has("uid") && table.has("name"))
    return table.complain_of_table("[[user]] has a uid and a name; one of them is accepted");
  if (users.by_uid.contains(*uid))
    return table.complain_of_table(fmt::format("[[user]] {} is there twice", *uid));
  Account account{.tenant = *uid};
  table.number("tenant", account.tenant, 0, kMostTenant);
  table.text("role", [&](const std::string& text) { return take_role(text, account.role); });
  users.by_uid[*uid] = account;
}

/// As a certificate's name is printed: an address in its shortest form, a host in small letters.
/// Empty for what is no name.
std::string certificate_name(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon + 1 == text.size()) return {};
  const std::string kind = text.substr(0, colon);
  const std::string value = text.substr(colon + 1);
  if (kind == "URI") return text;
  if (kind == "IP") {
    const auto address = address_text(value);
    return address ? "IP:" + *address : std::string();
  }
  if (kind != "DNS") return {};
  std::string host = value;
  std::transform(host.begin(), host.end(), host.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return "DNS:" + host;
}

void read_certificate(Reader table, Certificates& certificates) {
  table.only(kCertificate);
  std::string name;
  table.text("name", [&](const std::string& text) {
    name = certificate_name(text);
    return std::string(name.empty() ? "a subject alternative name is accepted: \"DNS:..\", "
                                      "\"URI:..\" or \"IP:..\""
                                    : "");
  });
  if (!table.has("name") || !table.has("tenant"))
    return table.complain_of_table("[[certificate]] has no name, or no tenant");
  if (certificates.by_name.contains(name))
    return table.complain_of_table(fmt::format("[[certificate]] {} is there twice", name));
  Account account;
  table.number("tenant", account.tenant, 0, kMostTenant);
  table.text("role", [&](const std::string& text) { return take_role(text, account.role); });
  certificates.by_name[name] = account;
}

std::string take_mode(const std::string& text, unsigned& mode) {
  char* end = nullptr;
  const unsigned long got = std::strtoul(text.c_str(), &end, 8);
  if (text.empty() || *end != '\0' || got > 0777 || text[0] == '-')
    return "a mode such as \"0660\" is accepted";
  mode = static_cast<unsigned>(got);
  return {};
}

std::string take_path(const std::string& text, std::filesystem::path& path) {
  if (text.empty() || text[0] != '/') return "a path from the root on is accepted";
  path = text;
  return {};
}

void read_quic(Reader table, std::optional<QuicConfig>& config) {
  table.only(kQuic);
  QuicConfig quic;
  for (const char* each : {"listen", "authority", "certificate", "key"})
    if (!table.has(each))
      return table.complain_of_table(fmt::format(
          "[quic] has no {}; listen, authority, certificate and key belong together", each));
  table.text("listen", [&](const std::string& text) {
    const auto address = UdpAddress::parse(text, "listen");
    if (address) quic.address = *address;
    return address ? std::string()
                   : std::string(
                         "an address and a port are accepted, such as "
                         "\"192.0.2.1:7810\" or \"[::]:7810\"");
  });
  const auto take = [&table](const char* key, std::filesystem::path& path) {
    table.text(key, [&path](const std::string& text) { return take_path(text, path); });
  };
  take("authority", quic.files.authority);
  take("certificate", quic.files.certificate);
  take("key", quic.files.key);
  if (table.has("revoked")) take("revoked", quic.files.revoked.emplace());
  table.number("idle_ms", quic.timeouts.idle_ms, 100, kHourMs);
  config = std::move(quic);
}

/// Its first line.
std::string take_password(const std::string& text, std::string& password) {
  std::filesystem::path path;
  if (std::string why = take_path(text, path); !why.empty()) return why;
  std::ifstream stream(path);
  if (!std::getline(stream, password) || password.empty())
    return "a file whose first line is the password is accepted";
  return {};
}

std::string take_endpoints(const std::vector<std::string>& texts,
                           std::vector<std::string>& endpoints) {
  auto parsed = fleet::parse_endpoints(fmt::format("{}", fmt::join(texts, ",")));
  if (!parsed) return parsed.error().text;
  endpoints = *std::move(parsed);
  return {};
}

/// What it does without etcd, once that has lasted. Where it renews nothing, what it has is over
/// once a lease that was renewed as late as may be has had the longest TTL there is; the part of a
/// session that a node does not rely on is room for the device to hear of that.
void read_isolation(Reader& table, std::uint64_t most_ttl_ms, FleetConfig& config) {
  constexpr std::uint64_t kMostSeconds = 86'400;
  bool renews = true;
  table.flag("renew_alone", renews);
  const bool has_time = table.has("isolation_s");
  if (table.has("isolation_tenants") && !has_time)
    return table.complain_of_table(
        "isolation_tenants without isolation_s; both together are accepted");
  if (table.has("stall_s") && !has_time && renews)
    return table.complain_of_table(
        "stall_s without isolation_s; beside that, or beside renew_alone = false, it is accepted");
  if (!has_time && renews) return;
  fleet::Isolation read{.after_s = config.session_s + (most_ttl_ms + 999) / 1'000,
                        .ends_by_ttl = !renews};
  // Whoever keeps a session alive must not be taken for one that is alone.
  if (has_time) table.number("isolation_s", read.after_s, config.session_s, kMostSeconds);
  table.number("stall_s", read.stall_s, 1, 3'600);
  table.numbers("isolation_tenants", read.tenants, kMostTenant);
  config.isolation = std::move(read);
}

/// A name that others look up, or an address; it has to say which port.
std::string take_host_and_port(const std::string& text, std::string& address) {
  const std::size_t colon = text.rfind(':');
  std::uint64_t port = 0;
  const char* end = text.data() + text.size();
  const bool has_host = colon != std::string::npos && colon != 0;
  const auto [last, error] =
      has_host ? std::from_chars(text.data() + colon + 1, end, port)
               : std::from_chars_result{.ptr = text.data(), .ec = std::errc::invalid_argument};
  constexpr std::uint64_t kMostPort = 65'535;
  if (error != std::errc{} || last != end || port == 0 || port > kMostPort)
    return "a host and a port are accepted, such as \"db1.example:7810\"";
  address = text;
  return {};
}

/// What it says of itself to those who look for a node.
void read_placement(Reader& table, FleetConfig& config) {
  table.texts("labels", config.labels);
  if (const auto checked = fleet::check_labels(config.labels); !checked)
    return table.complain_of_table("[etcd] labels: " + checked.error().text);
  table.number("memory_bytes", config.memory_bytes, 1, std::uint64_t{1} << 50);
  table.text("quic_address", [&](const std::string& text) {
    return take_host_and_port(text, config.quic_address);
  });
}

void read_etcd(Reader table, std::uint64_t most_ttl_ms, std::optional<FleetConfig>& config) {
  // etcd lets no session be shorter than its election takes.
  constexpr std::uint64_t kLeastSession = 2;
  table.only(kEtcd);
  FleetConfig read;
  std::vector<std::string> endpoints;
  table.texts("endpoints", endpoints);
  if (std::string why = take_endpoints(endpoints, read.etcd.endpoints); !why.empty())
    return table.complain_of_table("[etcd] endpoints: " + why);
  table.text("node", [&](const std::string& text) {
    const auto checked = fleet::check_node_name(text);
    if (checked) read.node = text;
    return checked ? std::string() : checked.error().text;
  });
  table.number("session_s", read.session_s, kLeastSession, 3'600);
  read_isolation(table, most_ttl_ms, read);
  read_placement(table, read);
  const auto take = [&table](const char* key, std::filesystem::path& path) {
    table.text(key, [&path](const std::string& text) { return take_path(text, path); });
  };
  take("authority", read.etcd.tls.authority);
  take("certificate", read.etcd.tls.certificate);
  take("key", read.etcd.tls.key);
  table.text("user", [&](const std::string& text) {
    read.etcd.user = text;
    return std::string();
  });
  table.text("password_file",
             [&](const std::string& text) { return take_password(text, read.etcd.password); });
  if (const auto checked = fleet::check(read.etcd); !checked)
    return table.complain_of_table(checked.error().text);
  config = std::move(read);
}

void read_all(Reader file, Config& config) {
  file.only(kTables);
  file.table("device", [&](Reader table) { read_device(std::move(table), config.device); });
  file.table("process", [&](Reader table) { read_process(std::move(table), config.process); });
  file.table("socket", [&](Reader table) {
    table.only(kSocket);
    table.text("path", [&](const std::string& text) { return take_path(text, config.socket); });
    table.text("mode",
               [&](const std::string& text) { return take_mode(text, config.socket_mode); });
  });
  file.table("journal", [&](Reader table) {
    table.only(kJournal);
    table.text("path", [&](const std::string& text) {
      config.journal.reset();
      return text == "none" ? std::string() : take_path(text, config.journal.emplace());
    });
    std::uint64_t keep_days = config.journal_keep_ms / kDayMs;
    table.number("keep_days", keep_days, 0, 36'500);
    config.journal_keep_ms = keep_days * kDayMs;
  });
  file.table("limits", [&](Reader table) { read_limits(std::move(table), config.limits); });
  file.table("quic", [&](Reader table) { read_quic(std::move(table), config.quic); });
  file.table("etcd", [&](Reader table) {
    read_etcd(std::move(table), config.limits.most_ttl_ms, config.fleet);
  });
  file.table("metrics", [&](Reader table) {
    table.only(kMetrics);
    table.text("listen", [&](const std::string& text) {
      if (!UdpAddress::parse(text, "listen"))
        return "an address and a port are accepted, such as \"127.0.0.1:9754\"";
      config.metrics = text;
      return "";
    });
  });
  file.tables("certificate",
              [&](Reader table) { read_certificate(std::move(table), config.certificates); });
  if (file.has("user")) config.users = {};  // who is named, and nobody else
  file.tables("user", [&](Reader table) { read_user(std::move(table), config.users); });
}

/// A directory of the environment, or what the user's entry says.
Result<std::filesystem::path> home_of(uid_t uid) {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  if (const passwd* user = ::getpwuid(uid); user != nullptr && user->pw_dir[0] == '/')
    return user->pw_dir;
  return fail(Errc::NotFound,
              "neither HOME nor the user's entry says where to keep the journal; --journal=FILE or "
              "--journal=none is accepted");
}

}  // namespace

std::vector<std::string> counts_from_a_restart(const Config& running, const Config& next) {
  const DeviceConfig& was = running.device;
  const DeviceConfig& is = next.device;
  const std::array changes{
      std::pair{"[device] name", was.name != is.name},
      std::pair{"[device] address", was.address != is.address},
      std::pair{"[device] eal", was.eal != is.eal},
      std::pair{"[device] plan", was.plan.full_name() != is.plan.full_name()},
      std::pair{"[device] slots", was.slots != is.slots},
      std::pair{"[device] grace_ms", was.grace_ms != is.grace_ms},
      std::pair{"[device] residence_ms", was.residence_ms != is.residence_ms},
      std::pair{"[device] mtu", was.mtu != is.mtu},
      std::pair{"[device] polls", was.polls != is.polls},
      std::pair{"[socket] path", running.socket != next.socket},
      std::pair{"[socket] mode", running.socket_mode != next.socket_mode},
      std::pair{"[journal] path", running.journal != next.journal},
      std::pair{"[journal] keep_days", running.journal_keep_ms != next.journal_keep_ms},
      std::pair{"[metrics] listen", running.metrics != next.metrics},
      std::pair{"[process]", running.process != next.process},
      std::pair{"[etcd]", running.fleet != next.fleet},
      std::pair{"[quic] listen", running.quic && next.quic &&
                                     running.quic->address.text() != next.quic->address.text()},
      std::pair{"[quic] idle_ms",
                running.quic && next.quic &&
                    running.quic->timeouts.idle_ms != next.quic->timeouts.idle_ms}};
  std::vector<std::string> names;
  for (const auto& [name, has_changed] : changes)
    if (has_changed) names.emplace_back(name);
  return names;
}

Result<Config> default_config() {
  Config config;
  const uid_t uid = ::geteuid();
  config.users.by_uid[0] = {.tenant = 0, .role = wire::Role::Operator};
  config.users.by_uid[uid] = {.tenant = uid, .role = wire::Role::Operator};
  config.socket = program::leased_socket();
  if (uid == 0) {
    config.journal = "/var/lib/portcullis/leased.journal";
    return config;
  }
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') {
    config.journal = std::filesystem::path(state) / "portcullis" / "leased.journal";
    return config;
  }
  PORTCULLIS_TRY_ASSIGN(const auto home, home_of(uid));
  config.journal = home / ".local" / "state" / "portcullis" / "leased.journal";
  return config;
}

Result<Config> read_config(const std::filesystem::path& file, Config base) {
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    return fail(Errc::System, fmt::format("--config {}: no plain file", file.string()));
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open())
    return fail(Errc::System, fmt::format("--config {}: {}", file.string(), std::strerror(errno)));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  try {
    const toml::table parsed = toml::parse(text, file.string());
    Result<void> fault;
    read_all(Reader(file, parsed, "the file", fault), base);
    if (!fault) return forward_error(std::move(fault));
    return base;
  } catch (const toml::parse_error& error) {
    return fail(Errc::InvalidArgument, fmt::format("{}:{}: {}", file.string(),
                                                   error.source().begin.line, error.description()));
  }
}

}  // namespace portcullis::service::daemon
