// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lease_serve/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/dma_bytes.hpp"
#include "pmd/eal.hpp"
#include "pmd/vfio_function.hpp"
#include "steering/set_up.hpp"

namespace portcullis::tools::lease_serve {
namespace {

using lease_exchange::LineChannel;
using lease_exchange::Request;

constexpr std::uint64_t kLookAgainNs = kNsPerMs;

double ms(std::uint64_t ns) { return static_cast<double>(ns) / static_cast<double>(kNsPerMs); }

/// The code of the largest MTU that both have; ours is what RoCE leaves of a 1500-byte frame.
prm::QpcMtu mtu_of(std::uint32_t client_bytes) {
  auto best = prm::QpcMtu::MTU_256;
  for (const auto mtu : {prm::QpcMtu::MTU_256, prm::QpcMtu::MTU_512, prm::QpcMtu::MTU_1024})
    if (prm::bytes_of(mtu) <= client_bytes) best = mtu;
  return best;
}

/// The life of one lease.
class Serving {
 public:
  Serving(const Options& options, const World& world, ServedPort& port, LineChannel& channel)
      : options_(&options), world_(&world), port_(&port), channel_(&channel) {}

  Result<Served> run() {
    PORTCULLIS_TRY(set_up_steering());
    PORTCULLIS_TRY_ASSIGN(const auto request, await_request());
    if (!request) return Served{};
    PORTCULLIS_TRY(grant(*request));
    watch_.emplace(manager_->memory(grant_.lease), port_->clock());
    port_->watch(&*watch_);
    auto good = revoke_and_watch();
    port_->watch(nullptr);
    PORTCULLIS_TRY(std::move(good));
    PORTCULLIS_TRY(manager_->tear_down());
    channel_->drop();
    return Served{is_good(), json()};
  }

 private:
  [[nodiscard]] std::uint64_t now() const { return port_->clock().now_ns(); }
  void say(std::string_view what, const std::string& text) const {
    world_->print(fmt::format("{:10} {}", what, text));
  }

  /// None when told to stop. A bad line costs its sender the connection, nobody else anything.
  Result<std::optional<Request>> await_request() {
    while (!world_->stop()) {
      auto line = channel_->poll_line();
      if (line && !*line) {
        PORTCULLIS_TRY(port_->idle(kLookAgainNs));
        continue;
      }
      auto request = line ? lease_exchange::parse_request(**line)
                          : Result<Request>(tl::unexpected<Error>(line.error()));
      if (request) request = check(*std::move(request));
      if (request) return *request;
      refuse(request.error().text);
    }
    return std::nullopt;
  }

  Result<Request> check(Request request) const {
    const pmd::Gid& own = port_->address().gid;
    if (request.client.gid == own)
      return fail(Errc::InvalidArgument,
                  fmt::format("lease-request: gid={} is this port's own", own.text()));
    if (request.client.gid.is_ipv4() == own.is_ipv4()) return request;
    return fail(Errc::InvalidArgument,
                fmt::format("lease-request: gid={}; this port has {}: an address of that family "
                            "is accepted",
                            request.client.gid.text(), own.text()));
  }

  void refuse(const std::string& why) {
    say("refused", fmt::format("{}: {}", channel_->peer(), why));
    (void)channel_->send_line(lease_exchange::refusal(why));  // it may be gone
    channel_->drop();
  }

  Result<void> grant(const Request& request) {
    lease::LeaseManager::Options wanted;
    wanted.table.slots = 1;
    wanted.plan = options_->plan;
    wanted.grant.mtu = mtu_of(request.mtu);
    wanted.grant.traffic_class = static_cast<std::uint8_t>(options_->dscp << 2);
    wanted.grant.priority = static_cast<std::uint8_t>(options_->priority);
    auto host = lease::Host::of(port_->hca());
    host.log = [this](std::string_view line) { say("log", std::string(line)); };
    host.steering = drop_.get();
    PORTCULLIS_TRY_ASSIGN(manager_, lease::LeaseManager::create(std::move(host), wanted));
    const auto& client = request.client;
    auto granted = grant_for_plan(
        {.bytes = options_->bytes,
         .peer = {.qpn = client.qpn, .psn = client.psn, .gid = client.gid, .mac = client.mac},
         .access = options_->access,
         .ack_timeout = static_cast<std::uint8_t>(options_->timeout),
         .retry_count = static_cast<std::uint8_t>(options_->retry)});
    if (!granted) {
      refuse(granted.error().text);
      return forward_error(std::move(granted));
    }
    grant_ = *granted;
    const auto contents = std::as_bytes(std::span(options_->contents));
    dma_copy(manager_->memory(grant_.lease).data(), contents.data(), contents.size());
    say("granted",
        fmt::format("lease {:#x} epoch {}: {} bytes, {}, QP {:#x} to QP {:#x} at {} ({}), MTU {}, "
                    "timeout {}, retry {}",
                    grant_.lease.id, grant_.lease.epoch, grant_.bytes,
                    lease_exchange::access_text(options_->access), grant_.qpn, client.qpn,
                    client.gid.text(), client.mac.text(), prm::bytes_of(grant_.mtu),
                    grant_.ack_timeout, grant_.retry_count));
    auto sent = channel_->send_line(to_line(answer()));
    if (sent || !channel_->is_peer_gone()) return sent;
    say("log", sent.error().text);  // its lease ends like any other whose client hung up
    return {};
  }

  /// With a key of its tenant where the plan takes that back: a group of one, since an exchange is
  /// about one lease.
  Result<lease::Grant> grant_for_plan(const lease::GrantRequest& request) {
    if (!options_->plan.is_for_groups()) return manager_->grant(request);
    PORTCULLIS_TRY_ASSIGN(const auto grants, manager_->grant_together(std::span(&request, 1)));
    return grants.front();
  }

  Result<void> set_up_steering() {
    steering::FlowDrop::Options wanted;
    wanted.choice = options_->steering.value_or(steering::choice_for(options_->plan.entry));
    wanted.allow_function_drop = options_->allow_function_drop;
    wanted.loopback.remote_gid = port_->address().gid;
    wanted.loopback.remote_mac = port_->address().mac;
    auto rule =
        steering::set_up_rule(port_->hca().context(), options_->plan.entry, wanted,
                              [this](std::string_view line) { say("log", std::string(line)); });
    if (!rule && rule.error().code == Errc::Unsupported)
      rule.error().text += "; --steering=try asks the device all the same";
    PORTCULLIS_TRY_ASSIGN(drop_, std::move(rule));
    return {};
  }

  [[nodiscard]] lease_exchange::Grant answer() const {
    return {.server = {.qpn = grant_.qpn,
                       .psn = grant_.psn,
                       .gid = port_->address().gid,
                       .mac = port_->address().mac},
            .mtu = prm::bytes_of(grant_.mtu),
            .rkey = grant_.rkey,
            .address = grant_.address,
            .length = grant_.bytes,
            .timeout = grant_.ack_timeout,
            .retry = grant_.retry_count,
            .access = options_->access};
  }

  /// Why the lease is taken back.
  Result<std::string> hold() {
    const std::uint64_t start_ns = now();
    while (true) {
      if (world_->stop()) return std::string("told to stop");
      if (world_->revoke_asked()) return std::string("on command");
      if (channel_->is_peer_gone()) return std::string("the client has hung up");
      const std::uint64_t after_ns = options_->revoke_after_ms * kNsPerMs;
      if (after_ns != 0 && now() - start_ns >= after_ns)
        return fmt::format("after {} ms", options_->revoke_after_ms);
      PORTCULLIS_TRY(port_->idle(kLookAgainNs));
    }
  }

  Result<void> revoke_and_watch() {
    PORTCULLIS_TRY_ASSIGN(const std::string why, hold());
    revoke_ns_ = now();
    answer_ = manager_->revoke(grant_.lease.id, grant_.lease.epoch);
    outcome_ns_ = now();
    watch_->freeze();
    say("revoke", fmt::format("{}, plan {}: {}", why, options_->plan.full_name(),
                              lease::describe(answer_.verdict)));
    say("outcome",
        fmt::format("{:.3f} ms after the revoke was asked for", ms(outcome_ns_ - revoke_ns_)));
    const std::uint64_t until_ns = outcome_ns_ + options_->watch_ms * kNsPerMs;
    while (now() < until_ns && !world_->stop()) {
      manager_->poll();
      PORTCULLIS_TRY(port_->idle(kLookAgainNs));
    }
    difference_ = watch_->first_difference();
    report();
    return dump();
  }

  void report() const {
    const std::uint64_t last_ns = watch_->last_change_ns();
    if (watch_->changes() == 0) {
      say("before", "the first word never changed");
    } else {
      const bool late = last_ns > revoke_ns_;
      say("before", fmt::format("the first word was seen to change {} times, to {}, last {:.3f} ms "
                                "{} the revoke was asked for",
                                watch_->changes(), watch_->last_word(),
                                ms(late ? last_ns - revoke_ns_ : revoke_ns_ - last_ns),
                                late ? "after" : "before"));
    }
    say("after",
        difference_
            ? fmt::format("CHANGED: byte {:#x} was {:#04x} when the outcome stood and is "
                          "{:#04x}",
                          difference_->offset, std::to_integer<unsigned>(difference_->was),
                          std::to_integer<unsigned>(difference_->is))
            : fmt::format("no byte of {} changed in {} ms", grant_.bytes, options_->watch_ms));
  }

  [[nodiscard]] Result<void> dump() const {
    if (options_->dump_file.empty()) return {};
    std::ofstream file(options_->dump_file, std::ios::trunc | std::ios::binary);
    for (const std::byte byte : watch_->frozen()) file.put(std::to_integer<char>(byte));
    file.close();
    if (file) return {};
    return fail(Errc::System, fmt::format("--dump {}: it cannot be written", options_->dump_file));
  }

  [[nodiscard]] bool is_good() const {
    return answer_.outcome == lease::Outcome::TornDown && !difference_;
  }

  [[nodiscard]] std::string json() const {
    return nlohmann::ordered_json{{"program", "lease-serve"},
                                  {"device", port_->description()},
                                  {"plan", options_->plan.full_name()},
                                  {"outcome", lease::name(answer_.outcome)},
                                  {"verdict", lease::describe(answer_.verdict)},
                                  {"revoke_ns", revoke_ns_},
                                  {"outcome_ns", outcome_ns_},
                                  {"last_change_ns", watch_->last_change_ns()},
                                  {"changes", watch_->changes()},
                                  {"last_word", watch_->last_word()},
                                  {"changed_after_outcome", difference_.has_value()}}
        .dump();
  }

  const Options* options_;
  const World* world_;
  ServedPort* port_;
  LineChannel* channel_;
  std::unique_ptr<steering::DropRule> drop_;  // outlives the manager, which asks it
  std::unique_ptr<lease::LeaseManager> manager_;
  lease::Grant grant_;
  std::optional<RegionWatch> watch_;
  lease::RevokeAnswer answer_;
  std::uint64_t revoke_ns_ = 0;
  std::uint64_t outcome_ns_ = 0;
  std::optional<RegionWatch::Difference> difference_;
};

Result<std::unique_ptr<LineChannel>> open_channel(const Options& options) {
  if (!options.listen.empty()) return lease_exchange::listen_tcp(options.listen);
  return lease_exchange::open_files(options.request_file, options.grant_file);
}

/// An array of what became of each lease, as a whole after each.
Result<void> write_json(const std::string& path, const std::vector<std::string>& served) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::trunc);
  file << fmt::format("[{}]\n", fmt::join(served, ",\n"));
  file.close();
  if (file) return {};
  return fail(Errc::System, fmt::format("--json {}: it cannot be written", path));
}

}  // namespace

Result<Served> serve(const Options& options, const World& world, ServedPort& port,
                     LineChannel& channel) {
  return Serving(options, world, port, channel).run();
}

std::string path_text(const Options& options) {
  return fmt::format(
      "DSCP {}, priority {}, {}; PFC: not supported, the port keeps what was set "
      "before it was bound to VFIO (mlnx_qos, dcb)",
      options.dscp, options.priority,
      options.vlan ? fmt::format("VLAN {}", *options.vlan) : "no VLAN");
}

Result<bool> run(const Options& options, const World& world) {
  PORTCULLIS_TRY_ASSIGN(const auto spec, parse_device(options.device));
  if (!spec.is_emulated()) PORTCULLIS_TRY(pmd::check_vfio_ready(spec.bdf()));
  PORTCULLIS_TRY_ASSIGN(const auto channel, open_channel(options));
  PORTCULLIS_TRY_ASSIGN(const auto eal, pmd::Eal::start(options.eal, spec.is_emulated()));
  PORTCULLIS_TRY_ASSIGN(const auto port, ServedPort::open(spec, options.address, options.vlan));
  const pmd::RoceAddress& address = port->address();
  world.print(fmt::format("{:10} {}", "device", port->description()));
  world.print(fmt::format("{:10} {} at {}", "address", address.gid.text(), address.mac.text()));
  world.print(
      fmt::format("{:10} ip neigh replace {} lladdr {} dev NETDEV  (on the client: nobody "
                  "answers for the port)",
                  "neighbour", address.gid.text(), address.mac.text()));
  world.print(fmt::format("{:10} {}", "path", path_text(options)));
  std::vector<std::string> served;
  bool good = true;
  for (std::uint32_t i = 0; i < options.leases && !world.stop(); ++i) {
    world.print(fmt::format("{:10} {}", "awaiting", channel->peer()));
    PORTCULLIS_TRY_ASSIGN(Served one, serve(options, world, *port, *channel));
    good = good && one.good;
    if (!one.json.empty()) served.push_back(std::move(one.json));
    PORTCULLIS_TRY(write_json(options.json_file, served));
  }
  return good;
}

}  // namespace portcullis::tools::lease_serve
